/* The built-in functions of scalar expressions: one row a function, with Python's meaning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr_value.h"

struct call {
    const char *name;
    const struct value *a; /* arguments */
    int count;
    struct arena *arena;
    struct value *out;
};

/* Functions over "these arguments, or the items of the only one". */
static const struct value *operands(const struct call *call, int *count)
{
    if (call->count == 1 && call->a[0].kind == VALUE_LIST) {
        *count = call->a[0].count;
        return call->a[0].items;
    }
    *count = call->count;
    return call->a;
}

static const char *call_range(struct call *call)
{
    for (int i = 0; i < call->count; i++) {
        if (!value_is_whole(&call->a[i])) {
            return "range() needs integers";
        }
    }
    int64_t start = call->count > 1 ? call->a[0].i : 0, stop = call->a[call->count > 1].i;
    int64_t step = call->count > 2 ? call->a[2].i : 1;
    if (step == 0) {
        return "range() needs a step other than 0";
    }
    /* In unsigned numbers, where the distance of any two integers fits. */
    uint64_t gap = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool empty = step > 0 ? stop <= start : stop >= start;
    uint64_t items = empty ? 0 : (gap - 1) / stride + 1;
    if (items > VALUE_LIST_MOST) {
        return "range() is too long";
    }
    struct value *list = ARENA_ARRAY(call->arena, struct value, items);
    for (uint64_t i = 0; i < items; i++) {
        list[i] = value_int((int64_t)((uint64_t)start + i * (uint64_t)step));
    }
    *call->out = (struct value){.kind = VALUE_LIST, .items = list, .count = (int)items};
    return NULL;
}

static const char *call_list(struct call *call)
{
    if (call->a[0].kind != VALUE_LIST) {
        return "list() needs a list";
    }
    *call->out = call->a[0];
    return NULL;
}

static const char *call_extreme(struct call *call)
{
    int count;
    const struct value *values = operands(call, &count);
    if (count == 0) {
        return "min() and max() need at least one value";
    }
    enum expr_op better = strcmp(call->name, "min") == 0 ? EXPR_OP_LT : EXPR_OP_GT;
    const struct value *best = &values[0];
    for (int i = 1; i < count; i++) {
        bool take;
        const char *error = value_compare(better, &values[i], best, &take);
        if (error) {
            return error;
        }
        if (take) {
            best = &values[i];
        }
    }
    *call->out = *best;
    return NULL;
}

static const char *call_sum(struct call *call)
{
    *call->out = value_int(0);
    int count;
    const struct value *values = operands(call, &count);
    for (int i = 0; i < count; i++) {
        struct value sum = *call->out;
        const char *error = value_binary(EXPR_OP_ADD, &sum, &values[i], call->arena, call->out);
        if (error) {
            return error;
        }
    }
    return NULL;
}

static const char *call_any_all(struct call *call)
{
    bool all = strcmp(call->name, "all") == 0, result = all;
    int count;
    const struct value *values = operands(call, &count);
    for (int i = 0; i < count; i++) {
        if (value_true(&values[i]) != all) {
            result = !all;
        }
    }
    *call->out = value_bool(result);
    return NULL;
}

static const char *call_abs(struct call *call)
{
    const struct value *a = &call->a[0];
    if (!value_is_number(a)) {
        return "abs() needs a number";
    }
    if (a->kind == VALUE_FLOAT) {
        *call->out = value_float(fabs(a->f));
        return NULL;
    }
    if (a->i >= 0) {
        *call->out = value_int(a->i);
        return NULL;
    }
    return value_unary(EXPR_OP_NEG, a, call->out);
}

static const char *call_len(struct call *call)
{
    const struct value *a = &call->a[0];
    if (a->kind != VALUE_LIST && a->kind != VALUE_TEXT) {
        return "len() needs a list or a text";
    }
    *call->out = value_int(a->kind == VALUE_LIST ? a->count : (int64_t)strlen(a->text));
    return NULL;
}

static const char *call_float(struct call *call)
{
    char *end = NULL;
    double f = value_number(&call->a[0]);
    if (call->a[0].kind == VALUE_TEXT) {
        f = strtod(call->a[0].text, &end);
    }
    if (call->a[0].kind == VALUE_LIST || (end && (*end || end == call->a[0].text))) {
        return "float() needs a number";
    }
    *call->out = value_float(f);
    return NULL;
}

static const char *call_bool(struct call *call)
{
    *call->out = value_bool(value_true(&call->a[0]));
    return NULL;
}

static const char *call_str(struct call *call)
{
    *call->out = (struct value){.kind = VALUE_TEXT, .text = value_text(&call->a[0], call->arena)};
    return NULL;
}

/* int, round, ceil, floor, trunc: to an integer. */
static const char *call_whole(struct call *call)
{
    struct value number = call->a[0];
    if (number.kind == VALUE_TEXT && strcmp(call->name, "int") == 0) {
        struct call as_float = *call;
        const char *error = call_float(&as_float);
        if (error) {
            return "int() needs a number";
        }
        number = *call->out;
    }
    if (!value_is_number(&number)) {
        return "needs a number";
    }
    if (value_is_whole(&number)) {
        *call->out = value_int(number.i);
        return NULL;
    }
    double f = number.f;
    switch (call->name[0]) {
    case 'r': f = nearbyint(f); break; /* ties to even, as Python */
    case 'c': f = ceil(f); break;
    case 'f': f = floor(f); break;
    default: break;
    }
    int64_t whole;
    if (!float_to_int(f, &whole)) {
        return "does not fit an integer";
    }
    *call->out = value_int(whole);
    return NULL;
}

static const char *call_real(struct call *call)
{
    double x = value_number(&call->a[0]), f = NAN;
    if (!value_is_number(&call->a[0])) {
        return "needs a number";
    }
    const char *name = call->name;
    if (strcmp(name, "sqrt") == 0) {
        f = sqrt(x);
    } else if (strcmp(name, "log2") == 0) {
        f = x > 0 ? log2(x) : NAN;
    } else if (strcmp(name, "log10") == 0) {
        f = x > 0 ? log10(x) : NAN;
    } else if (strcmp(name, "log") == 0) {
        f = x > 0 ? log(x) : NAN;
    } else {
        f = exp(x);
    }
    if (isnan(f) && !isnan(x)) {
        return "is no real number";
    }
    *call->out = value_float(f);
    return NULL;
}

static const char *call_pow(struct call *call)
{
    return value_binary(EXPR_OP_POW, &call->a[0], &call->a[1], call->arena, call->out);
}

static const char *call_gcd(struct call *call)
{
    if (!value_is_whole(&call->a[0]) || !value_is_whole(&call->a[1])) {
        return "gcd() needs integers";
    }
    int64_t a = call->a[0].i, b = call->a[1].i;
    while (b != 0) {
        int64_t rest = b == -1 ? 0 : a % b;
        a = b;
        b = rest;
    }
    if (a == INT64_MIN) {
        return "overflows 64 bits";
    }
    *call->out = value_int(a < 0 ? -a : a);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = ((const struct value *)a)->i, y = ((const struct value *)b)->i;
    return (x > y) - (x < y);
}

/* The positive divisors, ascending. The bound keeps trial division to about a million steps. */
static const char *call_divisors(struct call *call)
{
    const int64_t most = (int64_t)1 << 40;
    if (!value_is_whole(&call->a[0]) || call->a[0].i <= 0 || call->a[0].i > most) {
        return "divisors() needs an integer from 1 to 2^40";
    }
    int64_t n = call->a[0].i;
    int count = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then write */
        struct value *list = pass ? ARENA_ARRAY(call->arena, struct value, count) : NULL;
        int at = 0;
        for (int64_t d = 1; d * d <= n; d++) {
            if (n % d != 0) {
                continue;
            }
            if (list) {
                list[at] = value_int(d);
            }
            at++;
            if (d * d != n && list) {
                list[at] = value_int(n / d);
            }
            at += d * d != n;
        }
        count = at;
        if (list) {
            qsort(list, (size_t)count, sizeof *list, ascending);
            *call->out = (struct value){.kind = VALUE_LIST, .items = list, .count = count};
        }
    }
    return NULL;
}

static const struct {
    const char *name;
    int least, most; /* arguments */
    const char *(*call)(struct call *call);
} functions[] = {
    {"range", 1, 3, call_range},  {"list", 1, 1, call_list},         {"tuple", 1, 1, call_list},
    {"min", 1, 64, call_extreme}, {"max", 1, 64, call_extreme},      {"sum", 1, 64, call_sum},
    {"any", 1, 64, call_any_all}, {"all", 1, 64, call_any_all},      {"abs", 1, 1, call_abs},
    {"len", 1, 1, call_len},      {"float", 1, 1, call_float},       {"bool", 1, 1, call_bool},
    {"str", 1, 1, call_str},      {"int", 1, 1, call_whole},         {"round", 1, 1, call_whole},
    {"ceil", 1, 1, call_whole},   {"floor", 1, 1, call_whole},       {"trunc", 1, 1, call_whole},
    {"sqrt", 1, 1, call_real},    {"log2", 1, 1, call_real},         {"log10", 1, 1, call_real},
    {"log", 1, 1, call_real},     {"exp", 1, 1, call_real},          {"pow", 2, 2, call_pow},
    {"gcd", 2, 2, call_gcd},      {"divisors", 1, 1, call_divisors},
};

const char *value_call(const char *name, const struct value *arguments, int count,
                       struct arena *arena, struct value *out, bool *known)
{
    for (size_t i = 0; i < STAX_COUNT(functions); i++) {
        if (strcmp(functions[i].name, name) != 0) {
            continue;
        }
        *known = true;
        if (count < functions[i].least || count > functions[i].most) {
            return "takes another number of arguments";
        }
        struct call call = {functions[i].name, arguments, count, arena, out};
        return functions[i].call(&call);
    }
    *known = false;
    return NULL;
}
