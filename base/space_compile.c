/* Expressions into slots; see space_impl.h.
 *
 * Sums and products of integers are regrouped by level, so that a partial product of fixed
 * parameters is one slot: then the state behind a level holds that product and not its factors, and
 * prefixes that agree in it share their subtree. What slots cannot express (texts in order,
 * indexing, mixed types) is NONE, and left to the evaluator. */
#include <string.h>

#include "base/expr_value.h"
#include "base/space_slots.h"

static int value_of(struct program *p, const struct expr *expr);

static int constant_value(struct program *p, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT: return slot_int(p, value->i);
    case VALUE_BOOL: return slot_constant(p, SLOT_BOOL, (union cell){.i = value->i});
    case VALUE_FLOAT: return slot_constant(p, SLOT_FLOAT, (union cell){.f = value->f});
    case VALUE_TEXT:
        return slot_constant(p, SLOT_TEXT, (union cell){.i = program_text(p, value->text)});
    case VALUE_LIST: break;
    }
    return NONE;
}

static int to_float(struct program *p, int slot)
{
    return slot_is_whole(p, slot) ? slot_make(p, SLOT_TO_FLOAT, SLOT_FLOAT, slot, NONE, NONE)
                                  : slot;
}

static int to_truth(struct program *p, int slot)
{
    if (slot == NONE || slot_type_of(p, slot) == SLOT_BOOL) {
        return slot;
    }
    if (!slot_is_number(p, slot)) {
        return NONE;
    }
    bool whole = slot_is_whole(p, slot);
    return slot_make(p, whole ? SLOT_TRUE_INT : SLOT_TRUE_FLOAT, SLOT_BOOL, slot, NONE, NONE);
}

static int name_of(struct program *p, const char *name)
{
    int param = space_find(p->space, name);
    if (param >= 0 && p->space->params[param].count > 1) {
        for (int level = 0; level < p->levels; level++) {
            if (p->order[level] == param) {
                return p->value_cells[level] ? level
                                             : NONE; /* the first slots are the parameters */
            }
        }
        STAX_CHECK(!"a conjunct stays inside its group");
    }
    struct value value;
    struct space_choice choice = {p->space, p->chosen};
    return space_lookup(&choice, name, &value) ? constant_value(p, &value) : NONE;
}

/* A chain of + and -, or of *, over integers, gathered and put together again in the order of
 * levels. */
struct chain {
    struct program *program;
    enum expr_op op; /* ADD or MUL */
    int count;
    int slots[64];
    bool minus[64];
};

static bool gather(struct chain *chain, const struct expr *expr, bool minus)
{
    bool sum = chain->op == EXPR_OP_ADD;
    if (expr->kind == EXPR_BINARY && (expr->op == chain->op || (sum && expr->op == EXPR_OP_SUB))) {
        return gather(chain, expr->kids[0], minus) &&
               gather(chain, expr->kids[1], minus != (expr->op == EXPR_OP_SUB));
    }
    int slot = value_of(chain->program, expr);
    if (slot == NONE || !slot_is_whole(chain->program, slot) ||
        chain->count == (int)STAX_COUNT(chain->slots)) {
        return false;
    }
    int at = chain->count++;
    for (; at > 0; at--) {
        const struct slot_more *more = chain->program->more;
        if (more[chain->slots[at - 1]].level <= more[slot].level) {
            break;
        }
        chain->slots[at] = chain->slots[at - 1];
        chain->minus[at] = chain->minus[at - 1];
    }
    chain->slots[at] = slot;
    chain->minus[at] = minus;
    return true;
}

static int chain_of(struct program *p, const struct expr *expr)
{
    struct chain chain = {.program = p, .op = expr->op == EXPR_OP_MUL ? EXPR_OP_MUL : EXPR_OP_ADD};
    if (!gather(&chain, expr, false)) {
        return NONE;
    }
    int out = chain.slots[0];
    if (chain.minus[0]) {
        out = slot_make(p, SLOT_NEG, SLOT_INT, out, NONE, NONE);
    }
    for (int i = 1; i < chain.count; i++) {
        enum slot_code code = chain.op == EXPR_OP_MUL ? SLOT_MUL
                              : chain.minus[i]        ? SLOT_SUB
                                                      : SLOT_ADD;
        out = slot_make(p, code, SLOT_INT, out, chain.slots[i], NONE);
    }
    return out;
}

/* Is an exponent never negative? Then an integer power stays an integer. */
static bool never_negative(const struct program *p, int slot)
{
    if (p->slot[slot].code == SLOT_CONST) {
        return p->cell[slot].i >= 0;
    }
    if (p->slot[slot].code != SLOT_PARAM) {
        return false;
    }
    int level = p->more[slot].level;
    for (int v = 0; v < p->space->params[p->order[level]].count; v++) {
        if (p->value_cells[level][v].i < 0) {
            return false;
        }
    }
    return true;
}

static const struct {
    enum expr_op op;
    enum slot_code whole, real; /* CONST: there is none */
} binaries[] = {
    {EXPR_OP_ADD, SLOT_ADD, SLOT_FADD},
    {EXPR_OP_SUB, SLOT_SUB, SLOT_FSUB},
    {EXPR_OP_MUL, SLOT_MUL, SLOT_FMUL},
    {EXPR_OP_DIV, SLOT_CONST, SLOT_FDIV},
    {EXPR_OP_FLOORDIV, SLOT_FLOORDIV, SLOT_FFLOORDIV},
    {EXPR_OP_MOD, SLOT_MOD, SLOT_FMOD},
    {EXPR_OP_POW, SLOT_POW, SLOT_FPOW},
    {EXPR_OP_SHL, SLOT_SHL, SLOT_CONST},
    {EXPR_OP_SHR, SLOT_SHR, SLOT_CONST},
    {EXPR_OP_BITAND, SLOT_BITAND, SLOT_CONST},
    {EXPR_OP_BITOR, SLOT_BITOR, SLOT_CONST},
    {EXPR_OP_BITXOR, SLOT_BITXOR, SLOT_CONST},
};

static int fresh_binary_of(struct program *p, const struct expr *expr)
{
    if (expr->op == EXPR_OP_ADD || expr->op == EXPR_OP_SUB || expr->op == EXPR_OP_MUL) {
        int chain = chain_of(p, expr);
        if (chain != NONE) {
            return chain;
        }
    }
    int a = value_of(p, expr->kids[0]), b = value_of(p, expr->kids[1]);
    if (a == NONE || b == NONE || !slot_is_number(p, a) || !slot_is_number(p, b)) {
        return NONE;
    }
    for (size_t i = 0; i < STAX_COUNT(binaries); i++) {
        if (binaries[i].op != expr->op) {
            continue;
        }
        if (slot_is_whole(p, a) && slot_is_whole(p, b) && binaries[i].whole != SLOT_CONST) {
            if (expr->op == EXPR_OP_POW && !never_negative(p, b)) {
                return NONE;
            }
            return slot_make(p, binaries[i].whole, SLOT_INT, a, b, NONE);
        }
        if (binaries[i].real == SLOT_CONST) {
            return NONE;
        }
        return slot_make(p, binaries[i].real, SLOT_FLOAT, to_float(p, a), to_float(p, b), NONE);
    }
    return NONE;
}

/* Remembered: a chain that fails is compiled again term by term, which nested chains would double
 * at each level. */
static int binary_of(struct program *p, const struct expr *expr)
{
    for (int i = p->known_count - 1; i >= 0; i--) {
        if (p->known[i].expr == expr) {
            return p->known[i].slot;
        }
    }
    int slot = fresh_binary_of(p, expr);
    if (p->known_count == p->known_capacity) {
        p->known_capacity = p->known_capacity ? 2 * p->known_capacity : 32;
        p->known = arena_grow(p->arena, p->known, (size_t)p->known_count, (size_t)p->known_capacity,
                              sizeof *p->known);
    }
    p->known[p->known_count].expr = expr;
    p->known[p->known_count++].slot = slot;
    return slot;
}

static bool integer_beyond_doubles(const struct program *p, int slot)
{
    const int64_t exact = (int64_t)1 << 53;
    return p->slot[slot].code == SLOT_CONST &&
           (p->cell[slot].i > exact || p->cell[slot].i < -exact);
}

static int ordered_of(struct program *p, enum expr_op op, int a, int b)
{
    if (slot_type_of(p, a) == SLOT_TEXT || slot_type_of(p, b) == SLOT_TEXT) {
        bool equality = op == EXPR_OP_EQ || op == EXPR_OP_NE;
        if (!equality || slot_type_of(p, a) != slot_type_of(p, b)) {
            return NONE;
        }
        return slot_make(p, op == EXPR_OP_EQ ? SLOT_EQ : SLOT_NE, SLOT_BOOL, a, b, NONE);
    }
    bool whole = slot_is_whole(p, a) && slot_is_whole(p, b);
    if (!whole) {
        if ((slot_is_whole(p, a) && integer_beyond_doubles(p, a)) ||
            (slot_is_whole(p, b) && integer_beyond_doubles(p, b))) {
            return NONE;
        }
        a = to_float(p, a);
        b = to_float(p, b);
    }
    switch (op) {
    case EXPR_OP_LT: return slot_make(p, whole ? SLOT_LT : SLOT_FLT, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_LE: return slot_make(p, whole ? SLOT_LE : SLOT_FLE, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_GT: return slot_make(p, whole ? SLOT_LT : SLOT_FLT, SLOT_BOOL, b, a, NONE);
    case EXPR_OP_GE: return slot_make(p, whole ? SLOT_LE : SLOT_FLE, SLOT_BOOL, b, a, NONE);
    case EXPR_OP_EQ: return slot_make(p, whole ? SLOT_EQ : SLOT_FEQ, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_NE: return slot_make(p, whole ? SLOT_NE : SLOT_FNE, SLOT_BOOL, a, b, NONE);
    default: return NONE;
    }
}

struct uses {
    struct program *program;
    int level, count;
    int slots[SPACE_PARAMS];
};

static void note_use(void *data, const char *name)
{
    struct uses *uses = data;
    struct program *p = uses->program;
    int param = space_find(p->space, name);
    for (int level = 0; param >= 0 && level < p->levels; level++) {
        if (p->order[level] == param) {
            uses->slots[uses->count++] = level;
            uses->level = level > uses->level ? level : uses->level;
        }
    }
}

int program_eval(struct program *p, const struct expr *expr, enum slot_code code,
                 enum slot_type type)
{
    struct uses uses = {.program = p, .level = -1};
    expr_names(expr, note_use, &uses);
    struct slot_more more = {
        .type = type, .level = uses.level, .expr = expr, .use_count = uses.count};
    if (uses.count == 1) {
        int param = p->order[uses.slots[0]];
        more.memo = ARENA_ARRAY(p->arena, int64_t, p->space->params[param].count);
    }
    more.uses = arena_copy(p->arena, uses.slots, (size_t)uses.count * sizeof *uses.slots);
    return slot_add(p, (struct slot){code, NONE, NONE, NONE}, more, (union cell){0});
}

/* `a in divisors(n)` of integers is a remainder, and bad where divisors() would fail. */
static int in_divisors(struct program *p, int item, int n)
{
    int one = slot_int(p, 1), zero = slot_int(p, 0);
    int most = slot_int(p, (int64_t)1 << 40); /* divisors() refuses more */
    int above = slot_make(p, SLOT_LE, SLOT_BOOL, one, n, NONE);
    int legal = slot_make(p, SLOT_AND, SLOT_BOOL, above,
                          slot_make(p, SLOT_LE, SLOT_BOOL, n, most, NONE), NONE);
    int rest = slot_make(p, SLOT_MOD, SLOT_INT, n, item, NONE);
    int positive = slot_make(p, SLOT_LE, SLOT_BOOL, one, item, NONE);
    int divides = slot_make(p, SLOT_EQ, SLOT_BOOL, rest, zero, NONE);
    int never = slot_make(p, SLOT_FLOORDIV, SLOT_INT, one, zero, NONE);
    return slot_make(p, SLOT_SELECT, SLOT_BOOL, legal,
                     slot_make(p, SLOT_AND, SLOT_BOOL, positive, divides, NONE), never);
}

static bool calls(const struct expr *expr, const char *name, int least, int most)
{
    if (expr->kind != EXPR_CALL || expr->kids[0]->kind != EXPR_NAME ||
        strcmp(expr->kids[0]->text, name) != 0 || expr->count - 1 < least ||
        expr->count - 1 > most) {
        return false;
    }
    for (int i = 1; i < expr->count; i++) {
        if (expr->names[i]) {
            return false;
        }
    }
    return true;
}

/* `a in range(start, stop, step)` of integers is two comparisons and a remainder, and bad where
 * range() would fail. NONE: the step is no positive constant, or something is no integer. */
static int in_range(struct program *p, int item, const struct expr *range)
{
    int arguments = range->count - 1, slots[3] = {NONE, NONE, NONE};
    for (int i = 0; i < arguments; i++) {
        slots[i] = value_of(p, range->kids[i + 1]);
        if (slots[i] == NONE || !slot_is_whole(p, slots[i])) {
            return NONE;
        }
    }
    int start = arguments > 1 ? slots[0] : slot_int(p, 0), stop = slots[arguments > 1];
    int step = arguments > 2 ? slots[2] : slot_int(p, 1);
    int64_t by = p->slot[step].code == SLOT_CONST ? p->cell[step].i : 0;
    if (by <= 0 || by > INT64_MAX / VALUE_LIST_MOST) {
        return NONE;
    }
    int length = slot_make(p, SLOT_SUB, SLOT_INT, stop, start, NONE);
    int most = slot_int(p, VALUE_LIST_MOST * by);
    int legal = slot_make(p, SLOT_LE, SLOT_BOOL, length, most, NONE);
    int inside = slot_make(p, SLOT_AND, SLOT_BOOL,
                           slot_make(p, SLOT_LE, SLOT_BOOL, start, item, NONE),
                           slot_make(p, SLOT_LT, SLOT_BOOL, item, stop, NONE), NONE);
    if (by > 1) {
        int away = slot_make(p, SLOT_SUB, SLOT_INT, item, start, NONE);
        int rest = slot_make(p, SLOT_MOD, SLOT_INT, away, step, NONE);
        int meets = slot_make(p, SLOT_EQ, SLOT_BOOL, rest, slot_int(p, 0), NONE);
        inside = slot_make(p, SLOT_AND, SLOT_BOOL, inside, meets, NONE);
    }
    int never = slot_make(p, SLOT_FLOORDIV, SLOT_INT, slot_int(p, 1), slot_int(p, 0), NONE);
    return slot_make(p, SLOT_SELECT, SLOT_BOOL, legal, inside, never);
}

/* Any other list is evaluated as soon as its parameters are fixed. */
static int in_of(struct program *p, const struct expr *list, int item)
{
    int in = NONE;
    if (slot_is_whole(p, item) && calls(list, "divisors", 1, 1)) {
        int n = value_of(p, list->kids[1]);
        in = n != NONE && slot_is_whole(p, n) ? in_divisors(p, item, n) : NONE;
    } else if (slot_is_whole(p, item) && calls(list, "range", 1, 3)) {
        in = in_range(p, item, list);
    }
    if (in != NONE) {
        return in;
    }
    int slot = program_eval(p, list, SLOT_EVAL_LIST, SLOT_LIST);
    return slot_make(p, SLOT_IN_LIST, SLOT_BOOL, item, slot, NONE);
}

static int compare_of(struct program *p, const struct expr *expr)
{
    int all = NONE, left = value_of(p, expr->kids[0]);
    for (int i = 1; i < expr->count; i++) {
        enum expr_op op = expr->ops[i - 1];
        int one, right = NONE;
        if (left == NONE) {
            return NONE;
        }
        if (op == EXPR_OP_IN || op == EXPR_OP_NOT_IN) {
            if (i + 1 < expr->count) {
                return NONE;
            }
            one = in_of(p, expr->kids[i], left);
            one = op == EXPR_OP_IN ? one : slot_make(p, SLOT_NOT, SLOT_BOOL, one, NONE, NONE);
        } else {
            right = value_of(p, expr->kids[i]);
            one = right == NONE ? NONE : ordered_of(p, op, left, right);
        }
        if (one == NONE) {
            return NONE;
        }
        all = all == NONE ? one : slot_make(p, SLOT_AND, SLOT_BOOL, all, one, NONE);
        left = right;
    }
    return all;
}

/* A choice between two values; they must be held alike. */
static int select_of(struct program *p, int condition, int yes, int no)
{
    if (condition == NONE || yes == NONE || no == NONE) {
        return NONE;
    }
    if (slot_type_of(p, yes) != slot_type_of(p, no)) {
        if (!slot_is_number(p, yes) || !slot_is_number(p, no)) {
            return NONE;
        }
        if (!slot_is_whole(p, yes) || !slot_is_whole(p, no)) {
            yes = to_float(p, yes);
            no = to_float(p, no);
        }
    }
    enum slot_type type = slot_type_of(p, yes) == slot_type_of(p, no) ? slot_type_of(p, yes)
                                                                      : SLOT_INT;
    return slot_make(p, SLOT_SELECT, type, condition, yes, no);
}

/* `and` and `or` give one of their operands. */
static int logic_value_of(struct program *p, const struct expr *expr)
{
    int all = value_of(p, expr->kids[0]);
    for (int i = 1; i < expr->count && all != NONE; i++) {
        int next = value_of(p, expr->kids[i]), truth = to_truth(p, all);
        all = expr->kind == EXPR_AND ? select_of(p, truth, next, all)
                                     : select_of(p, truth, all, next);
    }
    return all;
}

static int call_of(struct program *p, const struct expr *expr)
{
    static const struct {
        const char *name;
        enum slot_code whole, real;
        enum slot_type type; /* of the result for a float; LIST: as the operands */
        int least, most;
    } calls[] = {
        {"min", SLOT_MIN, SLOT_FMIN, SLOT_LIST, 2, 64},
        {"max", SLOT_MAX, SLOT_FMAX, SLOT_LIST, 2, 64},
        {"abs", SLOT_ABS, SLOT_FABS, SLOT_LIST, 1, 1},
        {"int", SLOT_CONST, SLOT_TRUNC, SLOT_INT, 1, 1},
        {"ceil", SLOT_CONST, SLOT_CEIL, SLOT_INT, 1, 1},
        {"floor", SLOT_CONST, SLOT_FLOOR, SLOT_INT, 1, 1},
        {"round", SLOT_CONST, SLOT_ROUND, SLOT_INT, 1, 1},
        {"trunc", SLOT_CONST, SLOT_TRUNC, SLOT_INT, 1, 1},
        {"sqrt", SLOT_CONST, SLOT_SQRT, SLOT_FLOAT, 1, 1},
        {"log2", SLOT_CONST, SLOT_LOG2, SLOT_FLOAT, 1, 1},
    };
    const char *name = expr->kids[0]->text;
    int arguments = expr->count - 1, slots[64];
    bool whole = true;
    for (size_t i = 0; name && i < STAX_COUNT(calls); i++) {
        if (strcmp(calls[i].name, name) != 0 || arguments < calls[i].least ||
            arguments > calls[i].most) {
            continue;
        }
        for (int k = 0; k < arguments; k++) {
            slots[k] = expr->names[k + 1] ? NONE : value_of(p, expr->kids[k + 1]);
            if (slots[k] == NONE || !slot_is_number(p, slots[k])) {
                return NONE;
            }
            whole = whole && slot_is_whole(p, slots[k]);
        }
        if (whole && calls[i].whole == SLOT_CONST && calls[i].type == SLOT_INT) {
            return slot_type_of(p, slots[0]) == SLOT_BOOL ? NONE : slots[0]; /* whole already */
        }
        bool reals = !whole || calls[i].whole == SLOT_CONST;
        enum slot_code code = reals ? calls[i].real : calls[i].whole;
        enum slot_type type = calls[i].type != SLOT_LIST ? calls[i].type
                              : reals                    ? SLOT_FLOAT
                                                         : SLOT_INT;
        int out = reals ? to_float(p, slots[0]) : slots[0];
        if (arguments == 1) {
            return slot_make(p, code, type, out, NONE, NONE);
        }
        for (int k = 1; k < arguments; k++) {
            out = slot_make(p, code, type, out, reals ? to_float(p, slots[k]) : slots[k], NONE);
        }
        return out;
    }
    return NONE;
}

static int unary_of(struct program *p, const struct expr *expr)
{
    if (expr->op == EXPR_OP_NOT) {
        int truth = program_truth(p, expr->kids[0]);
        return truth == NONE ? NONE : slot_make(p, SLOT_NOT, SLOT_BOOL, truth, NONE, NONE);
    }
    int slot = value_of(p, expr->kids[0]);
    if (slot == NONE || !slot_is_number(p, slot)) {
        return NONE;
    }
    if (expr->op == EXPR_OP_POS) {
        return slot_type_of(p, slot) == SLOT_BOOL ? NONE : slot;
    }
    bool whole = slot_is_whole(p, slot);
    return slot_make(p, whole ? SLOT_NEG : SLOT_FNEG, whole ? SLOT_INT : SLOT_FLOAT, slot, NONE,
                     NONE);
}

static int value_of(struct program *p, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INT: return slot_int(p, expr->i);
    case EXPR_FLOAT: return slot_constant(p, SLOT_FLOAT, (union cell){.f = expr->f});
    case EXPR_BOOL: return slot_constant(p, SLOT_BOOL, (union cell){.i = expr->i});
    case EXPR_TEXT:
        return slot_constant(p, SLOT_TEXT, (union cell){.i = program_text(p, expr->text)});
    case EXPR_NAME: return name_of(p, expr->text);
    case EXPR_UNARY: return unary_of(p, expr);
    case EXPR_BINARY: return binary_of(p, expr);
    case EXPR_COMPARE: return compare_of(p, expr);
    case EXPR_AND:
    case EXPR_OR: return logic_value_of(p, expr);
    case EXPR_IF:
        return select_of(p, program_truth(p, expr->kids[0]), value_of(p, expr->kids[1]),
                         value_of(p, expr->kids[2]));
    case EXPR_CALL: return call_of(p, expr);
    default: return NONE;
    }
}

int program_truth(struct program *p, const struct expr *expr)
{
    if (expr->kind != EXPR_AND && expr->kind != EXPR_OR) {
        return to_truth(p, value_of(p, expr));
    }
    int all = program_truth(p, expr->kids[0]);
    for (int i = 1; i < expr->count && all != NONE; i++) {
        int next = program_truth(p, expr->kids[i]);
        if (next == NONE) {
            return NONE;
        }
        all = slot_make(p, expr->kind == EXPR_AND ? SLOT_AND : SLOT_OR, SLOT_BOOL, all, next, NONE);
    }
    return all;
}
