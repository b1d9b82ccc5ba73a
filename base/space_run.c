/* One level's steps of a program; see space_impl.h. Slots are computed whether or not they will
 * matter: a bad one spoils only what really needs it, which gives Python's short circuit without a
 * branch. */
#include <math.h>

#include "base/expr_value.h"
#include "base/space_impl.h"

static double to_nearest_even(double f)
{
    return nearbyint(f);
}

static bool whole_of(double f, int64_t *out)
{
    return float_to_int(f, out);
}

/* Integer operations; false makes the slot bad. */
static bool run_int(const struct slot *slot, const union cell *cell, int64_t *out)
{
    int64_t a = cell[slot->a].i, b = slot->b >= 0 ? cell[slot->b].i : 0;
    switch (slot->code) {
    case SLOT_ADD: return !__builtin_add_overflow(a, b, out);
    case SLOT_SUB: return !__builtin_sub_overflow(a, b, out);
    case SLOT_MUL: return !__builtin_mul_overflow(a, b, out);
    case SLOT_FLOORDIV: return int_floordiv(a, b, out);
    case SLOT_MOD: return int_mod(a, b, out);
    case SLOT_POW: return b >= 0 && int_pow(a, b, out);
    case SLOT_SHL: return int_shl(a, b, out);
    case SLOT_SHR: return int_shr(a, b, out);
    case SLOT_NEG: return !__builtin_sub_overflow((int64_t)0, a, out);
    case SLOT_ABS: return a < 0 ? !__builtin_sub_overflow((int64_t)0, a, out) : (*out = a, true);
    case SLOT_BITAND: *out = a & b; break;
    case SLOT_BITOR: *out = a | b; break;
    case SLOT_BITXOR: *out = a ^ b; break;
    case SLOT_MIN: *out = b < a ? b : a; break;
    case SLOT_MAX: *out = b > a ? b : a; break;
    case SLOT_LT: *out = a < b; break;
    case SLOT_LE: *out = a <= b; break;
    case SLOT_EQ: *out = a == b; break;
    case SLOT_NE: *out = a != b; break;
    case SLOT_NOT: *out = !a; break;
    case SLOT_TRUE_INT: *out = a != 0; break;
    default: return false;
    }
    return true;
}

/* Operations that read floats. */
static bool run_float(const struct slot *slot, const union cell *cell, union cell *out)
{
    double a = cell[slot->a].f, b = slot->b >= 0 ? cell[slot->b].f : 0;
    switch (slot->code) {
    case SLOT_FADD: out->f = a + b; break;
    case SLOT_FSUB: out->f = a - b; break;
    case SLOT_FMUL: out->f = a * b; break;
    case SLOT_FDIV: out->f = a / b; return b != 0;
    case SLOT_FFLOORDIV: out->f = b != 0 ? float_floordiv(a, b) : 0; return b != 0;
    case SLOT_FMOD: out->f = b != 0 ? float_mod(a, b) : 0; return b != 0;
    case SLOT_FPOW:
        out->f = pow(a, b);
        return !(a == 0 && b < 0) && !(isnan(out->f) && !isnan(a) && !isnan(b));
    case SLOT_FNEG: out->f = -a; break;
    case SLOT_FABS: out->f = fabs(a); break;
    case SLOT_FMIN: out->f = b < a ? b : a; break;
    case SLOT_FMAX: out->f = b > a ? b : a; break;
    case SLOT_FLT: out->i = a < b; break;
    case SLOT_FLE: out->i = a <= b; break;
    case SLOT_FEQ: out->i = a == b; break;
    case SLOT_FNE: out->i = a != b; break;
    case SLOT_TRUE_FLOAT: out->i = a != 0; break;
    case SLOT_CEIL: return whole_of(ceil(a), &out->i);
    case SLOT_FLOOR: return whole_of(floor(a), &out->i);
    case SLOT_ROUND: return whole_of(to_nearest_even(a), &out->i);
    case SLOT_TRUNC: return whole_of(a, &out->i);
    case SLOT_SQRT: out->f = sqrt(a); return !(a < 0);
    case SLOT_LOG2: out->f = log2(a); return a > 0;
    default: return false;
    }
    return true;
}

static bool run_logic(struct program *p, const struct slot *slot, union cell *out)
{
    if (slot->code == SLOT_SELECT) {
        int from = p->cell[slot->a].i ? slot->b : slot->c;
        *out = p->cell[from];
        return !p->bad[slot->a] && !p->bad[from];
    }
    bool decides = !p->bad[slot->a] && (p->cell[slot->a].i != 0) == (slot->code == SLOT_OR);
    *out = p->cell[decides ? slot->a : slot->b];
    return decides || (!p->bad[slot->a] && !p->bad[slot->b]);
}

static int list_number(struct program *p, const struct value *list)
{
    for (int i = p->list_count - 1; i >= 0; i--) {
        if (value_equal(&p->lists[i], list)) {
            return i;
        }
    }
    if (p->list_count == p->list_capacity) {
        p->list_capacity = p->list_capacity ? 2 * p->list_capacity : 16;
        p->lists = arena_grow(p->arena, p->lists, (size_t)p->list_count, (size_t)p->list_capacity,
                              sizeof *p->lists);
    }
    struct value *copy = &p->lists[p->list_count];
    *copy = *list;
    copy->items = arena_copy(p->arena, list->items, (size_t)list->count * sizeof *list->items);
    for (int i = 0; i < list->count; i++) { /* texts outlive the moment as numbers do */
        if (copy->items[i].kind == VALUE_TEXT) {
            copy->items[i].text = p->texts[program_text(p, copy->items[i].text)];
        }
    }
    copy->i = true;
    for (int i = 0; i < list->count && copy->i; i++) {
        copy->i = list->items[i].kind == VALUE_INT &&
                  (i == 0 || list->items[i - 1].i < list->items[i].i);
    }
    return p->list_count++;
}

static bool run_eval(struct program *p, int number, union cell *out)
{
    const struct slot_more *more = &p->more[number];
    int64_t *memo = more->memo ? &more->memo[p->chosen[p->order[more->uses[0]]]] : NULL;
    if (memo && *memo) {
        out->i = *memo - 2;
        return *memo != 1;
    }
    struct value value;
    struct space_choice choice = {p->space, p->chosen};
    enum stax_status status = expr_eval("constraint", more->expr, space_lookup, &choice, p->moment,
                                        &value);
    bool good = status == STAX_OK;
    if (good && p->slot[number].code == SLOT_EVAL_LIST) {
        good = value.kind == VALUE_LIST;
        out->i = good ? list_number(p, &value) : 0;
    } else if (good) {
        out->i = value_true(&value);
    }
    if (memo) {
        *memo = good ? out->i + 2 : 1;
    }
    arena_reset(p->moment);
    return good;
}

static bool among_ascending(const struct value *list, int64_t item)
{
    int low = 0, high = list->count;
    while (low < high) {
        int half = low + (high - low) / 2;
        if (list->items[half].i == item) {
            return true;
        }
        if (list->items[half].i < item) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return false;
}

static void run_in_list(const struct program *p, const struct slot *slot, union cell *out)
{
    const struct value *list = &p->lists[p->cell[slot->b].i];
    enum slot_type type = p->more[slot->a].type;
    struct value item = {.kind = VALUE_INT, .i = p->cell[slot->a].i};
    if (list->i && (type == SLOT_INT || type == SLOT_BOOL)) {
        out->i = among_ascending(list, item.i);
        return;
    }
    if (type == SLOT_FLOAT) {
        item = value_float(p->cell[slot->a].f);
    } else if (type == SLOT_TEXT) {
        item = (struct value){.kind = VALUE_TEXT, .text = p->texts[p->cell[slot->a].i]};
    }
    out->i = 0;
    for (int i = 0; i < list->count && !out->i; i++) {
        out->i = value_equal(&list->items[i], &item);
    }
}

static void compute(struct program *p, int number)
{
    const struct slot *slot = &p->slot[number];
    union cell *out = &p->cell[number];
    bool good;
    if (slot->code >= SLOT_FADD) {
        good = run_float(slot, p->cell, out);
    } else if (slot->code >= SLOT_ADD || slot->code == SLOT_NOT || slot->code == SLOT_TRUE_INT) {
        good = run_int(slot, p->cell, &out->i);
    } else if (slot->code == SLOT_TO_FLOAT) {
        out->f = (double)p->cell[slot->a].i;
        good = true;
    } else if (slot->code == SLOT_TRUE_FLOAT) {
        good = run_float(slot, p->cell, out);
    } else if (slot->code == SLOT_AND || slot->code == SLOT_OR || slot->code == SLOT_SELECT) {
        p->bad[number] = !run_logic(p, slot, out);
        return;
    } else if (slot->code == SLOT_EVAL || slot->code == SLOT_EVAL_LIST) {
        p->bad[number] = !run_eval(p, number, out);
        return;
    } else if (slot->code == SLOT_IN_LIST) {
        good = !p->bad[slot->a] && !p->bad[slot->b];
        if (good) {
            run_in_list(p, slot, out);
        }
    } else { /* constants and parameters hold their value already */
        return;
    }
    p->bad[number] = !good || p->bad[slot->a] || (slot->b >= 0 && p->bad[slot->b]);
}

/* A bad slot is evaluated once more from the text: to learn why, and because sums and products were
 * reordered, which can overflow where the written order does not. */
bool program_test(struct program *p, int slot)
{
    if (!p->bad[slot]) {
        return p->cell[slot].i != 0;
    }
    struct value value;
    struct space_choice choice = {p->space, p->chosen};
    enum stax_status status = expr_eval("constraint", p->tested[slot], space_lookup, &choice,
                                        p->moment, &value);
    bool holds = status == STAX_OK && value_true(&value);
    if (status != STAX_OK && !p->warning) {
        p->warning = arena_printf(p->arena, "%s", status_message());
    }
    arena_reset(p->moment);
    return holds;
}

bool program_run(struct program *p, int level)
{
    const int *steps = p->steps[level];
    for (int i = 0; i < p->step_count[level]; i++) {
        if (steps[i] >= 0) {
            compute(p, steps[i]);
        } else if (!program_test(p, ~steps[i])) {
            return false;
        }
    }
    return true;
}
