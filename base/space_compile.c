/* Conjuncts into a program; see space_impl.h.
 *
 * The program is one graph of slots with equal ones shared. Sums and products of integers are
 * regrouped by level, so that a partial product of fixed parameters is one slot: then the state
 * behind a level holds that product and not its factors, and prefixes that agree in it share their
 * subtree. What the slots cannot express (texts in order, indexing, mixed types) is left to the
 * evaluator: one EVAL slot for the whole conjunct. */
#include <string.h>

#include "base/expr_value.h"
#include "base/space_impl.h"

enum { NONE = -1 }; /* not expressible in slots */

static int value_of(struct program *p, const struct expr *expr);
static int truth_of(struct program *p, const struct expr *expr);

static int add_slot(struct program *p, struct slot slot, struct slot_more more, union cell cell)
{
    if (p->slots == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 64;
        size_t used = (size_t)p->slots, next = (size_t)capacity;
        p->slot = arena_grow(p->arena, p->slot, used, next, sizeof *p->slot);
        p->more = arena_grow(p->arena, p->more, used, next, sizeof *p->more);
        p->cell = arena_grow(p->arena, p->cell, used, next, sizeof *p->cell);
        p->bad = arena_grow(p->arena, p->bad, used, next, 1);
        p->tested = arena_grow(p->arena, p->tested, used, next, sizeof *p->tested);
        p->capacity = capacity;
    }
    p->slot[p->slots] = slot;
    p->more[p->slots] = more;
    p->cell[p->slots] = cell;
    return p->slots++;
}

static int make(struct program *p, enum slot_code code, enum slot_type type, int a, int b, int c)
{
    int level = -1;
    const int operands[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        if (operands[i] >= 0 && p->more[operands[i]].level > level) {
            level = p->more[operands[i]].level;
        }
    }
    for (int i = 0; i < p->slots; i++) {
        const struct slot *slot = &p->slot[i];
        if (slot->code == code && slot->a == a && slot->b == b && slot->c == c) {
            return i;
        }
    }
    return add_slot(p, (struct slot){code, a, b, c},
                    (struct slot_more){.type = type, .level = level}, (union cell){0});
}

static int constant(struct program *p, enum slot_type type, union cell cell)
{
    for (int i = 0; i < p->slots; i++) {
        if (p->slot[i].code == SLOT_CONST && p->more[i].type == type && p->cell[i].i == cell.i) {
            return i;
        }
    }
    return add_slot(p, (struct slot){SLOT_CONST, NONE, NONE, NONE},
                    (struct slot_more){.type = type, .level = -1}, cell);
}

static int constant_int(struct program *p, int64_t i)
{
    return constant(p, SLOT_INT, (union cell){.i = i});
}

int program_text(struct program *p, const char *text)
{
    for (int i = 0; i < p->text_count; i++) {
        if (strcmp(p->texts[i], text) == 0) {
            return i;
        }
    }
    if (p->text_count == p->text_capacity) {
        p->text_capacity = p->text_capacity ? 2 * p->text_capacity : 16;
        p->texts = arena_grow(p->arena, p->texts, (size_t)p->text_count, (size_t)p->text_capacity,
                              sizeof *p->texts);
    }
    p->texts[p->text_count] = arena_text(p->arena, text);
    return p->text_count++;
}

static int constant_value(struct program *p, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT: return constant_int(p, value->i);
    case VALUE_BOOL: return constant(p, SLOT_BOOL, (union cell){.i = value->i});
    case VALUE_FLOAT: return constant(p, SLOT_FLOAT, (union cell){.f = value->f});
    case VALUE_TEXT: return constant(p, SLOT_TEXT, (union cell){.i = program_text(p, value->text)});
    case VALUE_LIST: break;
    }
    return NONE;
}

static enum slot_type type_of(const struct program *p, int slot)
{
    return p->more[slot].type;
}

static bool is_whole(const struct program *p, int slot)
{
    return type_of(p, slot) == SLOT_INT || type_of(p, slot) == SLOT_BOOL;
}

static bool is_number(const struct program *p, int slot)
{
    return is_whole(p, slot) || type_of(p, slot) == SLOT_FLOAT;
}

static int to_float(struct program *p, int slot)
{
    return is_whole(p, slot) ? make(p, SLOT_TO_FLOAT, SLOT_FLOAT, slot, NONE, NONE) : slot;
}

static int to_truth(struct program *p, int slot)
{
    if (slot == NONE || type_of(p, slot) == SLOT_BOOL) {
        return slot;
    }
    if (!is_number(p, slot)) {
        return NONE;
    }
    bool whole = is_whole(p, slot);
    return make(p, whole ? SLOT_TRUE_INT : SLOT_TRUE_FLOAT, SLOT_BOOL, slot, NONE, NONE);
}

/* The slot type that holds all values of a parameter, and those as cells. Integers beside floats
 * become floats where that is exact; other mixtures cannot be held. */
static bool parameter_cells(struct program *p, const struct param *param, enum slot_type *type,
                            union cell *cells)
{
    const int64_t exact = (int64_t)1 << 53;
    int floats = 0, bools = 0, texts = 0, large = 0;
    for (int v = 0; v < param->count; v++) {
        const struct value *value = &param->values[v];
        floats += value->kind == VALUE_FLOAT;
        bools += value->kind == VALUE_BOOL;
        texts += value->kind == VALUE_TEXT;
        large += value->kind == VALUE_INT && (value->i > exact || value->i < -exact);
        if (value->kind == VALUE_LIST) {
            return false;
        }
    }
    bool mixed = (texts && texts < param->count) || (bools && bools < param->count);
    if (mixed || (floats && large)) {
        return false;
    }
    *type = texts ? SLOT_TEXT : floats ? SLOT_FLOAT : bools == param->count ? SLOT_BOOL : SLOT_INT;
    for (int v = 0; v < param->count; v++) {
        const struct value *value = &param->values[v];
        if (texts) {
            cells[v].i = program_text(p, value->text);
        } else if (floats) {
            cells[v].f = value_number(value);
        } else {
            cells[v].i = value->i;
        }
    }
    return true;
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
    if (slot == NONE || !is_whole(chain->program, slot) ||
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
        out = make(p, SLOT_NEG, SLOT_INT, out, NONE, NONE);
    }
    for (int i = 1; i < chain.count; i++) {
        enum slot_code code = chain.op == EXPR_OP_MUL ? SLOT_MUL
                              : chain.minus[i]        ? SLOT_SUB
                                                      : SLOT_ADD;
        out = make(p, code, SLOT_INT, out, chain.slots[i], NONE);
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
    if (a == NONE || b == NONE || !is_number(p, a) || !is_number(p, b)) {
        return NONE;
    }
    for (size_t i = 0; i < STAX_COUNT(binaries); i++) {
        if (binaries[i].op != expr->op) {
            continue;
        }
        if (is_whole(p, a) && is_whole(p, b) && binaries[i].whole != SLOT_CONST) {
            if (expr->op == EXPR_OP_POW && !never_negative(p, b)) {
                return NONE;
            }
            return make(p, binaries[i].whole, SLOT_INT, a, b, NONE);
        }
        if (binaries[i].real == SLOT_CONST) {
            return NONE;
        }
        return make(p, binaries[i].real, SLOT_FLOAT, to_float(p, a), to_float(p, b), NONE);
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
    if (type_of(p, a) == SLOT_TEXT || type_of(p, b) == SLOT_TEXT) {
        bool equality = op == EXPR_OP_EQ || op == EXPR_OP_NE;
        if (!equality || type_of(p, a) != type_of(p, b)) {
            return NONE;
        }
        return make(p, op == EXPR_OP_EQ ? SLOT_EQ : SLOT_NE, SLOT_BOOL, a, b, NONE);
    }
    bool whole = is_whole(p, a) && is_whole(p, b);
    if (!whole) {
        if ((is_whole(p, a) && integer_beyond_doubles(p, a)) ||
            (is_whole(p, b) && integer_beyond_doubles(p, b))) {
            return NONE;
        }
        a = to_float(p, a);
        b = to_float(p, b);
    }
    switch (op) {
    case EXPR_OP_LT: return make(p, whole ? SLOT_LT : SLOT_FLT, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_LE: return make(p, whole ? SLOT_LE : SLOT_FLE, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_GT: return make(p, whole ? SLOT_LT : SLOT_FLT, SLOT_BOOL, b, a, NONE);
    case EXPR_OP_GE: return make(p, whole ? SLOT_LE : SLOT_FLE, SLOT_BOOL, b, a, NONE);
    case EXPR_OP_EQ: return make(p, whole ? SLOT_EQ : SLOT_FEQ, SLOT_BOOL, a, b, NONE);
    case EXPR_OP_NE: return make(p, whole ? SLOT_NE : SLOT_FNE, SLOT_BOOL, a, b, NONE);
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

static int eval_of(struct program *p, const struct expr *expr, enum slot_code code,
                   enum slot_type type)
{
    struct uses uses = {.program = p, .level = -1};
    expr_names(expr, note_use, &uses);
    struct slot_more more = {
        .type = type, .level = uses.level, .expr = expr, .use_count = uses.count};
    more.uses = arena_copy(p->arena, uses.slots, (size_t)uses.count * sizeof *uses.slots);
    return add_slot(p, (struct slot){code, NONE, NONE, NONE}, more, (union cell){0});
}

/* `a in divisors(n)` of integers is a remainder, and bad where divisors() would fail. */
static int in_divisors(struct program *p, int item, int n)
{
    int one = constant_int(p, 1), zero = constant_int(p, 0);
    int most = constant_int(p, (int64_t)1 << 40); /* divisors() refuses more */
    int above = make(p, SLOT_LE, SLOT_BOOL, one, n, NONE);
    int legal = make(p, SLOT_AND, SLOT_BOOL, above, make(p, SLOT_LE, SLOT_BOOL, n, most, NONE),
                     NONE);
    int rest = make(p, SLOT_MOD, SLOT_INT, n, item, NONE);
    int positive = make(p, SLOT_LE, SLOT_BOOL, one, item, NONE);
    int divides = make(p, SLOT_EQ, SLOT_BOOL, rest, zero, NONE);
    int never = make(p, SLOT_FLOORDIV, SLOT_INT, one, zero, NONE);
    return make(p, SLOT_SELECT, SLOT_BOOL, legal,
                make(p, SLOT_AND, SLOT_BOOL, positive, divides, NONE), never);
}

/* Any other list is evaluated as soon as its parameters are fixed. */
static int in_of(struct program *p, const struct expr *list, int item)
{
    bool divisors = list->kind == EXPR_CALL && list->count == 2 &&
                    list->kids[0]->kind == EXPR_NAME &&
                    strcmp(list->kids[0]->text, "divisors") == 0 && !list->names[1];
    int n = divisors && is_whole(p, item) ? value_of(p, list->kids[1]) : NONE;
    if (n != NONE && is_whole(p, n)) {
        return in_divisors(p, item, n);
    }
    int slot = eval_of(p, list, SLOT_EVAL_LIST, SLOT_LIST);
    return make(p, SLOT_IN_LIST, SLOT_BOOL, item, slot, NONE);
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
            one = op == EXPR_OP_IN ? one : make(p, SLOT_NOT, SLOT_BOOL, one, NONE, NONE);
        } else {
            right = value_of(p, expr->kids[i]);
            one = right == NONE ? NONE : ordered_of(p, op, left, right);
        }
        if (one == NONE) {
            return NONE;
        }
        all = all == NONE ? one : make(p, SLOT_AND, SLOT_BOOL, all, one, NONE);
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
    if (type_of(p, yes) != type_of(p, no)) {
        if (!is_number(p, yes) || !is_number(p, no)) {
            return NONE;
        }
        if (!is_whole(p, yes) || !is_whole(p, no)) {
            yes = to_float(p, yes);
            no = to_float(p, no);
        }
    }
    enum slot_type type = type_of(p, yes) == type_of(p, no) ? type_of(p, yes) : SLOT_INT;
    return make(p, SLOT_SELECT, type, condition, yes, no);
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
            if (slots[k] == NONE || !is_number(p, slots[k])) {
                return NONE;
            }
            whole = whole && is_whole(p, slots[k]);
        }
        if (whole && calls[i].whole == SLOT_CONST && calls[i].type == SLOT_INT) {
            return type_of(p, slots[0]) == SLOT_BOOL ? NONE : slots[0]; /* whole already */
        }
        bool reals = !whole || calls[i].whole == SLOT_CONST;
        enum slot_code code = reals ? calls[i].real : calls[i].whole;
        enum slot_type type = calls[i].type != SLOT_LIST ? calls[i].type
                              : reals                    ? SLOT_FLOAT
                                                         : SLOT_INT;
        int out = reals ? to_float(p, slots[0]) : slots[0];
        if (arguments == 1) {
            return make(p, code, type, out, NONE, NONE);
        }
        for (int k = 1; k < arguments; k++) {
            out = make(p, code, type, out, reals ? to_float(p, slots[k]) : slots[k], NONE);
        }
        return out;
    }
    return NONE;
}

static int unary_of(struct program *p, const struct expr *expr)
{
    if (expr->op == EXPR_OP_NOT) {
        int truth = truth_of(p, expr->kids[0]);
        return truth == NONE ? NONE : make(p, SLOT_NOT, SLOT_BOOL, truth, NONE, NONE);
    }
    int slot = value_of(p, expr->kids[0]);
    if (slot == NONE || !is_number(p, slot)) {
        return NONE;
    }
    if (expr->op == EXPR_OP_POS) {
        return type_of(p, slot) == SLOT_BOOL ? NONE : slot;
    }
    bool whole = is_whole(p, slot);
    return make(p, whole ? SLOT_NEG : SLOT_FNEG, whole ? SLOT_INT : SLOT_FLOAT, slot, NONE, NONE);
}

static int value_of(struct program *p, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INT: return constant_int(p, expr->i);
    case EXPR_FLOAT: return constant(p, SLOT_FLOAT, (union cell){.f = expr->f});
    case EXPR_BOOL: return constant(p, SLOT_BOOL, (union cell){.i = expr->i});
    case EXPR_TEXT: return constant(p, SLOT_TEXT, (union cell){.i = program_text(p, expr->text)});
    case EXPR_NAME: return name_of(p, expr->text);
    case EXPR_UNARY: return unary_of(p, expr);
    case EXPR_BINARY: return binary_of(p, expr);
    case EXPR_COMPARE: return compare_of(p, expr);
    case EXPR_AND:
    case EXPR_OR: return logic_value_of(p, expr);
    case EXPR_IF:
        return select_of(p, truth_of(p, expr->kids[0]), value_of(p, expr->kids[1]),
                         value_of(p, expr->kids[2]));
    case EXPR_CALL: return call_of(p, expr);
    default: return NONE;
    }
}

static int truth_of(struct program *p, const struct expr *expr)
{
    if (expr->kind != EXPR_AND && expr->kind != EXPR_OR) {
        return to_truth(p, value_of(p, expr));
    }
    int all = truth_of(p, expr->kids[0]);
    for (int i = 1; i < expr->count && all != NONE; i++) {
        int next = truth_of(p, expr->kids[i]);
        if (next == NONE) {
            return NONE;
        }
        all = make(p, expr->kind == EXPR_AND ? SLOT_AND : SLOT_OR, SLOT_BOOL, all, next, NONE);
    }
    return all;
}

static void add_parameters(struct program *p)
{
    p->value_cells = ARENA_ARRAY(p->arena, const union cell *, p->levels);
    for (int level = 0; level < p->levels; level++) {
        const struct param *param = &p->space->params[p->order[level]];
        union cell *cells = ARENA_ARRAY(p->arena, union cell, param->count);
        enum slot_type type = SLOT_INT;
        /* Where values cannot be held, the cell is the value's index: the parameter's identity for
         * states. */
        bool held = parameter_cells(p, param, &type, cells);
        p->value_cells[level] = held ? cells : NULL;
        add_slot(p, (struct slot){SLOT_PARAM, p->order[level], NONE, NONE},
                 (struct slot_more){.type = type, .level = level}, (union cell){0});
    }
}

/* Marks what a tested slot needs and puts it into the steps of its level, operands first. */
static void schedule(struct program *p, int slot, bool *done)
{
    if (slot < 0 || done[slot]) {
        return;
    }
    done[slot] = true;
    const struct slot *s = &p->slot[slot];
    if (s->code == SLOT_PARAM || s->code == SLOT_CONST) {
        return;
    }
    schedule(p, s->a, done);
    schedule(p, s->b, done);
    schedule(p, s->c, done);
    int at = p->more[slot].level + 1;
    p->steps[at][p->step_count[at]++] = slot;
}

static void find_kept(struct program *p, const bool *done)
{
    int *last_use = ARENA_ARRAY(p->arena, int, p->slots); /* the latest level that reads a slot */
    for (int i = 0; i < p->slots; i++) {
        last_use[i] = -1;
    }
    for (int i = 0; i < p->slots; i++) {
        if (!done[i] || p->slot[i].code == SLOT_PARAM) {
            continue;
        }
        const int operands[] = {p->slot[i].a, p->slot[i].b, p->slot[i].c};
        for (int k = 0; k < 3 + p->more[i].use_count; k++) {
            int operand = k < 3 ? operands[k] : p->more[i].uses[k - 3];
            if (operand >= 0 && p->more[i].level > last_use[operand]) {
                last_use[operand] = p->more[i].level;
            }
        }
    }
    p->keeps = ARENA_ARRAY(p->arena, int *, p->levels);
    p->keep_count = ARENA_ARRAY(p->arena, int, p->levels);
    for (int level = 0; level < p->levels; level++) {
        p->keeps[level] = ARENA_ARRAY(p->arena, int, p->slots);
        for (int i = 0; i < p->slots; i++) {
            if (p->more[i].level >= 0 && p->more[i].level <= level && last_use[i] > level) {
                p->keeps[level][p->keep_count[level]++] = i;
            }
        }
    }
}

static void release_arena(void *moment)
{
    arena_destroy(moment);
}

void program_compile(const struct space *space, const struct space_split *split, int group,
                     const int *order, int levels, int *chosen, struct arena *arena,
                     struct program *p)
{
    *p = (struct program){.space = space, .arena = arena, .levels = levels, .order = order};
    p->chosen = chosen;
    p->moment = arena_create();
    arena_defer(arena, release_arena, p->moment);
    add_parameters(p);
    int *decided = ARENA_ARRAY(arena, int, split->conjuncts), count = 0;
    for (int c = 0; c < split->conjuncts; c++) {
        const struct space_conjunct *conjunct = &split->conjunct[c];
        bool ours = false;
        for (int level = 0; level < levels; level++) {
            ours = ours || space_has(&conjunct->params, order[level]);
        }
        if (!ours) {
            continue;
        }
        STAX_CHECK(split->group_of[order[0]] == group);
        int slot = truth_of(p, conjunct->expr);
        if (slot == NONE) {
            slot = eval_of(p, conjunct->expr, SLOT_EVAL, SLOT_BOOL);
        }
        STAX_CHECK(p->more[slot].level >= 0);
        p->tested[slot] = conjunct->expr;
        decided[count++] = slot;
    }
    /* steps[0] holds the constants until they have run once; then the levels move down by one. */
    bool *done = ARENA_ARRAY(arena, bool, p->slots);
    p->steps = ARENA_ARRAY(arena, int *, levels + 1);
    p->step_count = ARENA_ARRAY(arena, int, levels + 1);
    for (int level = 0; level <= levels; level++) {
        p->steps[level] = ARENA_ARRAY(arena, int, p->slots + count);
    }
    for (int level = 0; level < levels;
         level++) { /* what is decided here comes first, each with its test */
        for (int i = 0; i < count; i++) {
            if (p->more[decided[i]].level == level) {
                schedule(p, decided[i], done);
                p->steps[level + 1][p->step_count[level + 1]++] = ~decided[i];
            }
        }
    }
    program_run(p, 0);
    p->steps++;
    p->step_count++;
    find_kept(p, done);
}
