/* Index expressions: integer sums over loop variables, kept canonical so that equal addresses are
 * equal trees.
 *
 * Every constructor flattens its arguments into coefficient * atom + constant, where an atom is a
 * variable, a quotient or a remainder, merges equal atoms and orders them. Quotients and remainders
 * are simplified by the ranges of the variables, so that reshapes and merged dimensions leave none
 * behind where none is needed (book 9.4: 16384*i0 + 8192*i1 becomes 8192*x0). */
#include <string.h>

#include "codegen/ir.h"

struct term {
    int64_t factor;
    const struct index *atom;
};

struct sum {
    struct arena *arena;
    struct term *term;
    int count, capacity;
    int64_t constant;
};

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) {
        return sum;
    }
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t mul_saturated(int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) {
        return product;
    }
    return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static int64_t div_floor(int64_t a, int64_t by)
{
    return a / by - (a % by != 0 && (a % by < 0) != (by < 0));
}

static int64_t mod_floor(int64_t a, int64_t by)
{
    return a - by * div_floor(a, by);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Structural order: variables by falling number, as the book prints them, then quotients, then
 * remainders. */
static int compare(const struct index *a, const struct index *b)
{
    if (a == b) {
        return 0;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    switch (a->kind) {
    case INDEX_CONST: return a->value < b->value ? -1 : a->value > b->value;
    case INDEX_VAR: return a->var > b->var ? -1 : a->var < b->var;
    default: break;
    }
    int order = compare(a->a, b->a);
    return order ? order : compare(a->b, b->b);
}

bool index_equal(const struct index *a, const struct index *b)
{
    return compare(a, b) == 0;
}

static struct index *make(struct arena *arena, enum index_kind kind, const struct index *a,
                          const struct index *b)
{
    struct index *index = ARENA_NEW(arena, struct index);
    index->kind = kind;
    index->a = a;
    index->b = b;
    return index;
}

const struct index *index_const(struct arena *arena, int64_t value)
{
    struct index *index = make(arena, INDEX_CONST, NULL, NULL);
    index->value = value;
    return index;
}

const struct index *index_var(struct arena *arena, int var)
{
    struct index *index = make(arena, INDEX_VAR, NULL, NULL);
    index->var = var;
    return index;
}

static void put_term(struct sum *sum, int64_t factor, const struct index *atom)
{
    if (factor == 0) {
        return;
    }
    int at = 0;
    while (at < sum->count && compare(sum->term[at].atom, atom) < 0) {
        at++;
    }
    if (at < sum->count && index_equal(sum->term[at].atom, atom)) {
        sum->term[at].factor += factor;
        if (sum->term[at].factor == 0) {
            memmove(sum->term + at, sum->term + at + 1,
                    (size_t)(sum->count - at - 1) * sizeof *sum->term);
            sum->count--;
        }
        return;
    }
    if (sum->count == sum->capacity) {
        int capacity = sum->capacity ? 2 * sum->capacity : 8;
        sum->term = arena_grow(sum->arena, sum->term, (size_t)sum->count, (size_t)capacity,
                               sizeof *sum->term);
        sum->capacity = capacity;
    }
    memmove(sum->term + at + 1, sum->term + at, (size_t)(sum->count - at) * sizeof *sum->term);
    sum->term[at] = (struct term){factor, atom};
    sum->count++;
}

static void put(struct sum *sum, int64_t factor, const struct index *index)
{
    switch (index->kind) {
    case INDEX_CONST: sum->constant += factor * index->value; break;
    case INDEX_ADD:
        put(sum, factor, index->a);
        put(sum, factor, index->b);
        break;
    case INDEX_MUL: put(sum, factor * index->b->value, index->a); break;
    default: put_term(sum, factor, index); break;
    }
}

static struct sum flatten(struct arena *arena, const struct index *index)
{
    struct sum sum = {.arena = arena};
    put(&sum, 1, index);
    return sum;
}

static void remove_pair(struct sum *sum, int a, int b)
{
    int first = a < b ? a : b, second = a < b ? b : a;
    memmove(sum->term + second, sum->term + second + 1,
            (size_t)(sum->count - second - 1) * sizeof *sum->term);
    memmove(sum->term + first, sum->term + first + 1,
            (size_t)(sum->count - first - 2) * sizeof *sum->term);
    sum->count -= 2;
}

/* What remainder `a` = p % m makes together with m times atom `b`; NULL when that is nothing
 * simpler. m (p / m) + p % m = p;  m (s % k) + p % m = (m s + p % m) % (m k), worth it where the
 * sum in it loses a division. */
static const struct index *rejoin(struct arena *arena, const struct index *a, const struct index *b)
{
    int64_t modulus = a->b->value, product;
    if (b->kind == INDEX_DIV && b->b->value == modulus && index_equal(a->a, b->a)) {
        return a->a;
    }
    if (b->kind != INDEX_MOD || __builtin_mul_overflow(modulus, b->b->value, &product)) {
        return NULL;
    }
    const struct index *whole = index_add(arena, index_mul(arena, b->a, modulus), a);
    if (index_divisions(whole) > index_divisions(b->a)) {
        return NULL;
    }
    return make(arena, INDEX_MOD, whole, index_const(arena, product));
}

static bool rejoin_any(struct sum *sum)
{
    for (int i = 0; i < sum->count; i++) {
        struct term low = sum->term[i];
        if (low.atom->kind != INDEX_MOD) {
            continue;
        }
        for (int j = 0; j < sum->count; j++) {
            struct term high = sum->term[j];
            if (j == i || high.factor != mul_saturated(low.factor, low.atom->b->value)) {
                continue;
            }
            const struct index *whole = rejoin(sum->arena, low.atom, high.atom);
            if (whole) {
                remove_pair(sum, i, j);
                put(sum, low.factor, whole);
                return true;
            }
        }
    }
    return false;
}

static const struct index *build(struct sum *sum)
{
    while (rejoin_any(sum)) {}
    struct arena *arena = sum->arena;
    const struct index *result = NULL;
    for (int i = 0; i < sum->count; i++) {
        const struct index *each = sum->term[i].atom;
        if (sum->term[i].factor != 1) {
            each = make(arena, INDEX_MUL, each, index_const(arena, sum->term[i].factor));
        }
        result = result ? make(arena, INDEX_ADD, result, each) : each;
    }
    if (!result) {
        return index_const(arena, sum->constant);
    }
    if (sum->constant) {
        result = make(arena, INDEX_ADD, result, index_const(arena, sum->constant));
    }
    return result;
}

const struct index *index_add(struct arena *arena, const struct index *a, const struct index *b)
{
    struct sum sum = flatten(arena, a);
    put(&sum, 1, b);
    return build(&sum);
}

const struct index *index_mul(struct arena *arena, const struct index *a, int64_t factor)
{
    struct sum sum = {.arena = arena};
    put(&sum, factor, a);
    return build(&sum);
}

void index_range(const struct index *a, const int64_t *size, int64_t *low, int64_t *high)
{
    int64_t low_b, high_b;
    switch (a->kind) {
    case INDEX_CONST: *low = *high = a->value; return;
    case INDEX_VAR:
        *low = 0;
        *high = size[a->var] > 0 ? size[a->var] - 1 : 0;
        return;
    case INDEX_ADD:
        index_range(a->a, size, low, high);
        index_range(a->b, size, &low_b, &high_b);
        *low = add_saturated(*low, low_b);
        *high = add_saturated(*high, high_b);
        return;
    case INDEX_MUL:
        index_range(a->a, size, low, high);
        *low = mul_saturated(*low, a->b->value);
        *high = mul_saturated(*high, a->b->value);
        if (*low > *high) {
            int64_t swap = *low;
            *low = *high;
            *high = swap;
        }
        return;
    case INDEX_DIV:
        index_range(a->a, size, low, high);
        *low = div_floor(*low, a->b->value);
        *high = div_floor(*high, a->b->value);
        return;
    case INDEX_MOD:
        index_range(a->a, size, low, high);
        if (div_floor(*low, a->b->value) == div_floor(*high, a->b->value)) {
            *low = mod_floor(*low, a->b->value);
            *high = mod_floor(*high, a->b->value);
        } else {
            *low = 0;
            *high = a->b->value - 1;
        }
        return;
    }
}

/* Splits sum into multiples of `unit` (divided by it, in `high`) and the rest (`low`). The constant
 * is split so that the rest keeps 0 <= constant < unit. */
static void split_by(const struct sum *sum, int64_t unit, struct sum *high, struct sum *low)
{
    *high = (struct sum){.arena = sum->arena, .constant = div_floor(sum->constant, unit)};
    *low = (struct sum){.arena = sum->arena, .constant = mod_floor(sum->constant, unit)};
    for (int i = 0; i < sum->count; i++) {
        struct term term = sum->term[i];
        if (term.factor % unit == 0) {
            put_term(high, term.factor / unit, term.atom);
        } else {
            put_term(low, term.factor, term.atom);
        }
    }
}

static bool within(struct sum *sum, const int64_t *size, int64_t below)
{
    int64_t low, high;
    index_range(build(sum), size, &low, &high);
    return low >= 0 && high < below;
}

/* The greatest unit > 1 that divides `by` so that the terms that are no multiples of it stay inside
 * [0, unit); 1 when there is none. Then floor((unit A + B) / (unit b)) = floor(A / b), and mod
 * likewise keeps B. */
static int64_t common_unit(const struct sum *sum, int64_t by, const int64_t *size)
{
    int64_t best = 1;
    for (int i = 0; i < sum->count; i++) {
        int64_t unit = gcd(sum->term[i].factor, by);
        struct sum high, low;
        if (unit <= best) {
            continue;
        }
        split_by(sum, unit, &high, &low);
        if (within(&low, size, unit)) {
            best = unit;
        }
    }
    return best;
}

static const struct index *div_atom(struct arena *arena, struct sum *sum, int64_t by,
                                    const int64_t *size)
{
    const struct index *inner = build(sum);
    int64_t low, high;
    if (by == 1) {
        return inner;
    }
    index_range(inner, size, &low, &high);
    if (div_floor(low, by) == div_floor(high, by)) {
        return index_const(arena, div_floor(low, by));
    }
    if (low < 0) { /* C divides towards zero, so every printed dividend is kept at 0 or above */
        int64_t lift = div_floor(low, by);
        inner = index_add(arena, inner, index_const(arena, -lift * by));
        const struct index *quotient = make(arena, INDEX_DIV, inner, index_const(arena, by));
        return index_add(arena, quotient, index_const(arena, lift));
    }
    int64_t product;
    if (inner->kind == INDEX_DIV && !__builtin_mul_overflow(inner->b->value, by, &product)) {
        return index_div(arena, inner->a, product, size);
    }
    /* (x % (by k)) / by = (x / by) % k: the form in which neighbouring parts find each other again.
     */
    if (inner->kind == INDEX_MOD && inner->b->value % by == 0) {
        return index_mod(arena, index_div(arena, inner->a, by, size), inner->b->value / by, size);
    }
    return make(arena, INDEX_DIV, inner, index_const(arena, by));
}

const struct index *index_div(struct arena *arena, const struct index *a, int64_t by,
                              const int64_t *size)
{
    STAX_CHECK(by > 0);
    struct sum sum = flatten(arena, a), high, low;
    split_by(&sum, by, &high, &low); /* floor((by A + B) / by) = A + floor(B / by) */
    int64_t unit = common_unit(&low, by, size);
    if (unit > 1) {
        struct sum units, rest;
        split_by(&low, unit, &units, &rest);
        put(&high, 1, div_atom(arena, &units, by / unit, size));
    } else {
        put(&high, 1, div_atom(arena, &low, by, size));
    }
    return build(&high);
}

static const struct index *mod_atom(struct arena *arena, struct sum *sum, int64_t by,
                                    const int64_t *size)
{
    const struct index *inner = build(sum);
    int64_t low, high;
    index_range(inner, size, &low, &high);
    if (div_floor(low, by) == div_floor(high, by)) {
        return index_add(arena, inner, index_const(arena, -by * div_floor(low, by)));
    }
    if (low < 0) {
        inner = index_add(arena, inner, index_const(arena, -by * div_floor(low, by)));
        return make(arena, INDEX_MOD, inner, index_const(arena, by));
    }
    if (inner->kind == INDEX_MOD && inner->b->value % by == 0) {
        return index_mod(arena, inner->a, by, size);
    }
    return make(arena, INDEX_MOD, inner, index_const(arena, by));
}

const struct index *index_mod(struct arena *arena, const struct index *a, int64_t by,
                              const int64_t *size)
{
    STAX_CHECK(by > 0);
    struct sum sum = flatten(arena, a), high, low;
    split_by(&sum, by, &high, &low);
    int64_t unit = common_unit(&low, by, size);
    if (unit > 1 && unit < by) {
        struct sum units, rest;
        split_by(&low, unit, &units, &rest);
        put(&rest, unit, mod_atom(arena, &units, by / unit, size));
        return build(&rest);
    }
    return mod_atom(arena, &low, by, size);
}

const struct index *index_replace(struct arena *arena, const struct index *a,
                                  const struct index *const *with, const int64_t *size)
{
    switch (a->kind) {
    case INDEX_CONST: return a;
    case INDEX_VAR: return with[a->var];
    case INDEX_ADD:
        return index_add(arena, index_replace(arena, a->a, with, size),
                         index_replace(arena, a->b, with, size));
    case INDEX_MUL: return index_mul(arena, index_replace(arena, a->a, with, size), a->b->value);
    case INDEX_DIV:
        return index_div(arena, index_replace(arena, a->a, with, size), a->b->value, size);
    case INDEX_MOD:
        return index_mod(arena, index_replace(arena, a->a, with, size), a->b->value, size);
    }
    return a;
}

bool index_affine(const struct index *a, int vars, int64_t *coefficient, int64_t *offset)
{
    memset(coefficient, 0, (size_t)vars * sizeof *coefficient);
    *offset = 0;
    while (a) {
        const struct index *each = a->kind == INDEX_ADD ? a->b : a;
        a = a->kind == INDEX_ADD ? a->a : NULL;
        int64_t factor = 1;
        if (each->kind == INDEX_MUL) {
            factor = each->b->value;
            each = each->a;
        }
        if (each->kind == INDEX_CONST) {
            *offset += factor * each->value;
        } else if (each->kind == INDEX_VAR && each->var < vars) {
            coefficient[each->var] += factor;
        } else {
            return false;
        }
    }
    return true;
}

int64_t index_eval(const struct index *a, const int64_t *vars)
{
    switch (a->kind) {
    case INDEX_CONST: return a->value;
    case INDEX_VAR: return vars[a->var];
    case INDEX_ADD: return index_eval(a->a, vars) + index_eval(a->b, vars);
    case INDEX_MUL: return index_eval(a->a, vars) * a->b->value;
    case INDEX_DIV: return div_floor(index_eval(a->a, vars), a->b->value);
    case INDEX_MOD: return mod_floor(index_eval(a->a, vars), a->b->value);
    }
    return 0;
}

bool index_uses(const struct index *a, int first, int past)
{
    if (a->kind == INDEX_VAR) {
        return a->var >= first && a->var < past;
    }
    return (a->a && index_uses(a->a, first, past)) || (a->b && index_uses(a->b, first, past));
}

int index_divisions(const struct index *a)
{
    int own = a->kind == INDEX_DIV || a->kind == INDEX_MOD;
    return own + (a->a ? index_divisions(a->a) : 0) + (a->b ? index_divisions(a->b) : 0);
}

/* The greatest magnitude any part of `a` may take on the way to its value. */
static int64_t magnitude(const struct index *a, const int64_t *size)
{
    int64_t low, high;
    index_range(a, size, &low, &high);
    int64_t own = high > -(low + 1) ? high : -(low + 1); /* |INT64_MIN| has no int64 */
    int64_t left = a->a ? magnitude(a->a, size) : 0;
    int64_t right = a->b ? magnitude(a->b, size) : 0;
    own = own > left ? own : left;
    return own > right ? own : right;
}

bool index_fits_i32(const struct index *a, const int64_t *size)
{
    return magnitude(a, size) <= INT32_MAX;
}

static void print(struct text *text, const struct index *a, const char *const *names, bool tight)
{
    const char *open = tight ? "(" : "", *close = tight ? ")" : "";
    switch (a->kind) {
    case INDEX_CONST: text_printf(text, "%lld", (long long)a->value); break;
    case INDEX_VAR: text_add(text, names[a->var]); break;
    case INDEX_ADD:
        text_add(text, open);
        print(text, a->a, names, false);
        if (a->b->kind == INDEX_CONST && a->b->value < 0 && a->b->value != INT64_MIN) {
            text_printf(text, " - %lld", (long long)-a->b->value);
        } else {
            text_add(text, " + ");
            print(text, a->b, names, false);
        }
        text_add(text, close);
        break;
    case INDEX_MUL:
        text_printf(text, a->b->value < 0 ? "(%lld)*" : "%lld*", (long long)a->b->value);
        print(text, a->a, names, true);
        break;
    case INDEX_DIV:
    case INDEX_MOD:
        text_add(text, "(");
        print(text, a->a, names, true);
        text_printf(text, a->kind == INDEX_DIV ? "/%lld)" : "%%%lld)", (long long)a->b->value);
        break;
    }
}

void index_print(struct text *text, const struct index *a, const char *const *names)
{
    print(text, a, names, false);
}
