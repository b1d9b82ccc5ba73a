/* Which values of a level's parameter can pass its tests, without trying all of them.
 *
 * Sound and incomplete: every value that passes is among those left, and what is left is tested as
 * ever. Bounds are carried backwards from a comparison to the parameter (a * p <= c gives p <= c //
 * a); a remainder that must be 0 leaves multiples or divisors. That makes a chain of divisors over
 * thousands of values as cheap as its results. */
#include <stdlib.h>

#include "base/expr_value.h"
#include "base/space_slots.h"

/* Bounds of a slot; INT64_MIN and INT64_MAX stand for none. */
struct bounds {
    int64_t low, high;
};

struct narrowing {
    const struct program *p;
    int level;
    struct bounds bounds; /* of the parameter */
    int64_t multiple_of;  /* > 0: the parameter is a multiple of it */
    int64_t divides;      /* > 0: the parameter divides it */
    bool none;            /* nothing can pass */
};

static bool here(const struct narrowing *n, int slot)
{
    return slot >= 0 && n->p->more[slot].level == n->level;
}

/* A slot fixed by earlier levels, with a value. */
static bool known(const struct narrowing *n, int slot)
{
    return slot >= 0 && n->p->more[slot].level < n->level && !n->p->bad[slot];
}

static int64_t add_bound(int64_t bound, int64_t by)
{
    int64_t sum;
    if (bound == INT64_MIN || bound == INT64_MAX) {
        return bound;
    }
    return __builtin_add_overflow(bound, by, &sum) ? (by > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* bound / by for by > 0, rounded down or up. */
static int64_t divide_bound(int64_t bound, int64_t by, bool up)
{
    int64_t down = 0;
    if (bound == INT64_MIN || bound == INT64_MAX) {
        return bound;
    }
    bool fits = int_floordiv(bound, by, &down);
    return fits && up && down * by != bound ? down + 1 : down;
}

static struct bounds turned(struct bounds b)
{
    struct bounds out = {INT64_MIN, INT64_MAX};
    if (b.high != INT64_MAX && b.high != INT64_MIN) {
        out.low = -b.high;
    }
    if (b.low != INT64_MIN) {
        out.high = -b.low;
    }
    return out;
}

static void narrow_value(struct narrowing *n, int slot, struct bounds b);

static void narrow_product(struct narrowing *n, int64_t factor, int other, struct bounds b)
{
    if (factor == 0) {
        n->none = n->none || b.low > 0 || b.high < 0;
        return;
    }
    if (factor == INT64_MIN) {
        return;
    }
    if (factor < 0) {
        b = turned(b);
        factor = -factor;
    }
    narrow_value(
        n, other,
        (struct bounds){divide_bound(b.low, factor, true), divide_bound(b.high, factor, false)});
}

/* The slot lies in `b`: follows the only operand that this level's parameter reaches. */
static void narrow_value(struct narrowing *n, int slot, struct bounds b)
{
    const struct slot *s = &n->p->slot[slot];
    if (s->code == SLOT_PARAM) {
        n->bounds.low = b.low > n->bounds.low ? b.low : n->bounds.low;
        n->bounds.high = b.high < n->bounds.high ? b.high : n->bounds.high;
        return;
    }
    if (s->code == SLOT_NEG) {
        narrow_value(n, s->a, turned(b));
        return;
    }
    bool left = here(n, s->a);
    int moving = left ? s->a : s->b, fixed = left ? s->b : s->a;
    if (!here(n, moving) || !known(n, fixed)) {
        return;
    }
    int64_t by = n->p->cell[fixed].i;
    switch (s->code) {
    case SLOT_MUL: narrow_product(n, by, moving, b); break;
    case SLOT_ADD:
    case SLOT_SUB:
        if (by == INT64_MIN) {
            break;
        }
        if (s->code == SLOT_ADD || left) { /* moving = b - by or b + by */
            by = s->code == SLOT_ADD ? -by : by;
        } else { /* by - moving lies in b: moving lies in by - b */
            b = turned(b);
        }
        narrow_value(n, moving, (struct bounds){add_bound(b.low, by), add_bound(b.high, by)});
        break;
    default: break;
    }
}

static void narrow_order(struct narrowing *n, const struct slot *s, int64_t gap)
{
    struct bounds b = {INT64_MIN, INT64_MAX};
    if (here(n, s->a) && known(n, s->b)) {
        b.high = add_bound(n->p->cell[s->b].i, -gap);
        narrow_value(n, s->a, b);
    } else if (here(n, s->b) && known(n, s->a)) {
        b.low = add_bound(n->p->cell[s->a].i, gap);
        narrow_value(n, s->b, b);
    }
}

/* a % b == 0: where a is the parameter, a multiple; where it is a factor of b, a divisor. */
static void narrow_remainder(struct narrowing *n, const struct slot *mod)
{
    const struct program *p = n->p;
    if (mod->a == n->level && known(n, mod->b)) {
        int64_t by = p->cell[mod->b].i;
        if (by != 0 && by != INT64_MIN) {
            by = by < 0 ? -by : by;
            n->multiple_of = by > n->multiple_of ? by : n->multiple_of;
        }
        return;
    }
    int factor = mod->b;
    while (here(n, factor) && p->slot[factor].code == SLOT_MUL) {
        const struct slot *product = &p->slot[factor];
        if (here(n, product->a) == here(n, product->b)) {
            return;
        }
        factor = here(n, product->a) ? product->a : product->b;
    }
    if (factor == n->level && known(n, mod->a) && p->cell[mod->a].i > 0) {
        int64_t whole = p->cell[mod->a].i;
        n->divides = n->divides == 0 || whole < n->divides ? whole : n->divides;
    }
}

static void narrow_test(struct narrowing *n, int slot)
{
    const struct slot *s = &n->p->slot[slot];
    if (!here(n, slot)) {
        return;
    }
    switch (s->code) {
    case SLOT_AND:
        narrow_test(n, s->a);
        narrow_test(n, s->b);
        break;
    case SLOT_SELECT:
        if (known(n, s->a)) {
            narrow_test(n, n->p->cell[s->a].i ? s->b : s->c);
        }
        break;
    case SLOT_LE: narrow_order(n, s, 0); break;
    case SLOT_LT: narrow_order(n, s, 1); break;
    case SLOT_EQ: {
        bool left = here(n, s->a);
        int moving = left ? s->a : s->b, fixed = left ? s->b : s->a;
        if (!here(n, moving) || !known(n, fixed)) {
            break;
        }
        int64_t value = n->p->cell[fixed].i;
        const struct slot *m = &n->p->slot[moving];
        if (m->code == SLOT_MOD && value == 0) {
            narrow_remainder(n, m);
        } else {
            narrow_value(n, moving, (struct bounds){value, value});
        }
        break;
    }
    default: break;
    }
}

/* The first index whose value is not below. */
static int first_not_below(const union cell *cells, int count, int64_t value)
{
    if (cells[count - 1].i - cells[0].i == count - 1) { /* a range without gaps */
        return value <= cells[0].i          ? 0
               : value > cells[count - 1].i ? count
                                            : (int)(value - cells[0].i);
    }
    int low = 0, high = count;
    while (low < high) {
        int half = low + (high - low) / 2;
        if (cells[half].i < value) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return low;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void offer(const union cell *cells, int count, int64_t value, const int limits[2], int *list,
                  int *used)
{
    int at = first_not_below(cells, count, value);
    if (at >= limits[0] && at < limits[1] && cells[at].i == value) {
        list[(*used)++] = at;
    }
}

/* All multiples or divisors among the values between the limits, where that is less work than
 * trying each. */
static bool list_values(const struct narrowing *n, const union cell *cells, int count,
                        const int limits[2], int *list, int *used)
{
    int64_t low = cells[limits[0]].i, high = cells[limits[1] - 1].i, left = limits[1] - limits[0];
    *used = 0;
    if (low < 1) {
        return false;
    }
    if (n->multiple_of > 0 &&
        high / n->multiple_of < left / 4) { /* a search costs about four tests */
        int64_t first = (low + n->multiple_of - 1) / n->multiple_of;
        for (int64_t k = first; k <= high / n->multiple_of; k++) {
            offer(cells, count, k * n->multiple_of, limits, list, used);
        }
        return true;
    }
    if (n->divides > 0 && left > 4 && n->divides / left < left / 16) { /* about: root < left / 4 */
        for (int64_t d = 1; d * d <= n->divides; d++) {
            if (n->divides % d != 0) {
                continue;
            }
            offer(cells, count, d, limits, list, used);
            if (d * d != n->divides) {
                offer(cells, count, n->divides / d, limits, list, used);
            }
        }
        qsort(list, (size_t)*used, sizeof *list, ascending);
        return true;
    }
    return false;
}

bool program_narrow(const struct program *p, int level, int limits[2], int *list, int *used)
{
    enum { WORTH = 12 }; /* values below which trying them all is cheaper (chosen) */
    const union cell *cells = p->value_cells[level];
    int count = p->space->params[p->order[level]].count;
    limits[0] = 0;
    limits[1] = count;
    if (!cells || count < WORTH || !p->space->params[p->order[level]].ordered ||
        p->more[level].type != SLOT_INT) {
        return false;
    }
    struct narrowing n = {.p = p, .level = level, .bounds = {INT64_MIN, INT64_MAX}};
    for (int i = 0; i < p->step_count[level]; i++) {
        if (p->steps[level][i] < 0) {
            narrow_test(&n, ~p->steps[level][i]);
        }
    }
    if (n.none || n.bounds.low > n.bounds.high) {
        limits[1] = 0;
        return false;
    }
    limits[0] = first_not_below(cells, count, n.bounds.low);
    if (n.bounds.high < cells[count - 1].i) {
        limits[1] = first_not_below(cells, count, n.bounds.high + 1);
    }
    return limits[0] < limits[1] && list_values(&n, cells, count, limits, list, used);
}
