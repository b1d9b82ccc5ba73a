/* Scalar values: Python's arithmetic and comparisons, in 64 bits; see expr_value.h. */
#include "base/expr_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool int_floordiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

bool int_mod(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) {
        return false;
    }
    int64_t rest = b == -1 ? 0 : a % b;
    *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    return true;
}

bool int_pow(int64_t a, int64_t b, int64_t *out)
{
    int64_t power = 1;
    if (a == 0 || a == 1 || a == -1) {
        *out = b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a;
        return true;
    }
    for (int64_t i = 0; i < b; i++) { /* at most 63 rounds before it overflows */
        if (__builtin_mul_overflow(power, a, &power)) {
            return false;
        }
    }
    *out = power;
    return true;
}

bool int_shl(int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 || (b > 62 && a != 0)) {
        return false;
    }
    return a == 0 ? (*out = 0, true) : !__builtin_mul_overflow(a, (int64_t)1 << b, out);
}

bool int_shr(int64_t a, int64_t b, int64_t *out)
{
    if (b < 0) {
        return false;
    }
    int64_t places = b > 63 ? 63 : b;
    *out = a < 0 ? ~(~a >> places) : a >> places;
    return true;
}

bool float_to_int(double f, int64_t *out)
{
    if (!(f >= -0x1p63 && f < 0x1p63)) {
        return false;
    }
    *out = (int64_t)f;
    return true;
}

double float_mod(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0) {
        return copysign(0.0, b);
    }
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_floordiv(double a, double b)
{
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient -= 1;
    }
    double down = floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
}

/* -1, 0, 1, or 2 when one is not a number; exact also where the integer does not fit a double. */
static int order_numbers(const struct value *a, const struct value *b)
{
    if (value_is_whole(a) && value_is_whole(b)) {
        return (a->i > b->i) - (a->i < b->i);
    }
    if (a->kind == VALUE_FLOAT && b->kind == VALUE_FLOAT) {
        return isnan(a->f) || isnan(b->f) ? 2 : (a->f > b->f) - (a->f < b->f);
    }
    if (a->kind == VALUE_FLOAT) {
        int order = order_numbers(b, a);
        return order == 2 ? 2 : -order;
    }
    if (isnan(b->f)) {
        return 2;
    }
    int64_t whole;
    if (!float_to_int(b->f, &whole)) {
        return b->f > 0 ? -1 : 1;
    }
    double part = b->f - (double)whole;
    return a->i != whole ? (a->i > whole) - (a->i < whole) : (part < 0) - (part > 0);
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (value_is_number(a) && value_is_number(b)) {
        return order_numbers(a, b) == 0;
    }
    if (a->kind == VALUE_TEXT && b->kind == VALUE_TEXT) {
        return strcmp(a->text, b->text) == 0;
    }
    if (a->kind != VALUE_LIST || b->kind != VALUE_LIST || a->count != b->count) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (!value_equal(&a->items[i], &b->items[i])) {
            return false;
        }
    }
    return true;
}

bool value_true(const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT:
    case VALUE_BOOL: return value->i != 0;
    case VALUE_FLOAT: return value->f != 0;
    case VALUE_TEXT: return value->text[0] != '\0';
    case VALUE_LIST: return value->count > 0;
    }
    return false;
}

double value_number(const struct value *value)
{
    return value_is_whole(value) ? (double)value->i : value->kind == VALUE_FLOAT ? value->f : NAN;
}

char *value_text(const struct value *value, struct arena *arena)
{
    char digits[40];
    struct text list;
    switch (value->kind) {
    case VALUE_INT: return arena_printf(arena, "%lld", (long long)value->i);
    case VALUE_BOOL: return arena_text(arena, value->i ? "True" : "False");
    case VALUE_TEXT: return arena_text(arena, value->text);
    case VALUE_FLOAT:
        for (int precision = 1; precision <= 17; precision++) { /* 17 always reads back the same */
            snprintf(digits, sizeof digits, "%.*g", precision, value->f);
            if (strtod(digits, NULL) == value->f) {
                break;
            }
        }
        return arena_printf(arena, "%s%s", digits, strpbrk(digits, ".en") ? "" : ".0");
    case VALUE_LIST:
        list = text_make(arena);
        text_add(&list, "[");
        for (int i = 0; i < value->count; i++) {
            text_printf(&list, "%s%s", i ? ", " : "", value_text(&value->items[i], arena));
        }
        text_add(&list, "]");
        return arena_text(arena, text_string(&list));
    }
    return arena_text(arena, "");
}

const char *value_unary(enum expr_op op, const struct value *a, struct value *out)
{
    if (op == EXPR_OP_NOT) {
        *out = value_bool(!value_true(a));
        return NULL;
    }
    if (!value_is_number(a)) {
        return "a sign needs a number";
    }
    if (a->kind == VALUE_FLOAT) {
        *out = value_float(op == EXPR_OP_NEG ? -a->f : a->f);
        return NULL;
    }
    if (op == EXPR_OP_NEG && a->i == INT64_MIN) {
        return "overflows 64 bits";
    }
    *out = value_int(op == EXPR_OP_NEG ? -a->i : a->i);
    return NULL;
}

static const char *binary_ints(enum expr_op op, int64_t a, int64_t b, struct value *out)
{
    int64_t i = 0;
    bool done = true;
    switch (op) {
    case EXPR_OP_ADD: done = !__builtin_add_overflow(a, b, &i); break;
    case EXPR_OP_SUB: done = !__builtin_sub_overflow(a, b, &i); break;
    case EXPR_OP_MUL: done = !__builtin_mul_overflow(a, b, &i); break;
    case EXPR_OP_FLOORDIV: done = int_floordiv(a, b, &i); break;
    case EXPR_OP_MOD: done = int_mod(a, b, &i); break;
    case EXPR_OP_POW: done = int_pow(a, b, &i); break;
    case EXPR_OP_SHL: done = int_shl(a, b, &i); break;
    case EXPR_OP_SHR: done = int_shr(a, b, &i); break;
    case EXPR_OP_BITAND: i = a & b; break;
    case EXPR_OP_BITOR: i = a | b; break;
    case EXPR_OP_BITXOR: i = a ^ b; break;
    default: return "has no meaning for numbers";
    }
    *out = value_int(i);
    if (done) {
        return NULL;
    }
    if (b == 0 && (op == EXPR_OP_FLOORDIV || op == EXPR_OP_MOD)) {
        return "divides by zero";
    }
    return b < 0 && (op == EXPR_OP_SHL || op == EXPR_OP_SHR) ? "shifts by a negative count"
                                                             : "overflows 64 bits";
}

static const char *binary_floats(enum expr_op op, double a, double b, struct value *out)
{
    bool divides = op == EXPR_OP_DIV || op == EXPR_OP_FLOORDIV || op == EXPR_OP_MOD;
    if (b == 0 && divides) {
        return "divides by zero";
    }
    double f;
    switch (op) {
    case EXPR_OP_ADD: f = a + b; break;
    case EXPR_OP_SUB: f = a - b; break;
    case EXPR_OP_MUL: f = a * b; break;
    case EXPR_OP_DIV: f = a / b; break;
    case EXPR_OP_FLOORDIV: f = float_floordiv(a, b); break;
    case EXPR_OP_MOD: f = float_mod(a, b); break;
    case EXPR_OP_POW:
        if (a == 0 && b < 0) {
            return "divides by zero";
        }
        f = pow(a, b);
        if (isnan(f) && !isnan(a) && !isnan(b)) {
            return "is no real number";
        }
        break;
    default: return "needs integers";
    }
    *out = value_float(f);
    return NULL;
}

static const char *binary_lists(enum expr_op op, const struct value *a, const struct value *b,
                                struct arena *arena, struct value *out)
{
    bool join = op == EXPR_OP_ADD && b->kind == VALUE_LIST;
    bool repeat = op == EXPR_OP_MUL && value_is_whole(b);
    if (!join && !repeat) {
        return "has no meaning for lists";
    }
    int64_t times = join ? 1 : b->i < 0 ? 0 : b->i;
    if (times > VALUE_LIST_MOST || a->count * times + (join ? b->count : 0) > VALUE_LIST_MOST) {
        return "makes a list that is too long";
    }
    int count = (int)(a->count * times) + (join ? b->count : 0);
    struct value *items = ARENA_ARRAY(arena, struct value, count);
    for (int i = 0; i < a->count * times; i++) {
        items[i] = a->items[i % a->count];
    }
    for (int i = 0; join && i < b->count; i++) {
        items[a->count + i] = b->items[i];
    }
    *out = (struct value){.kind = VALUE_LIST, .items = items, .count = count};
    return NULL;
}

const char *value_binary(enum expr_op op, const struct value *a, const struct value *b,
                         struct arena *arena, struct value *out)
{
    if (a->kind == VALUE_LIST) {
        return binary_lists(op, a, b, arena, out);
    }
    if (a->kind == VALUE_TEXT && b->kind == VALUE_TEXT && op == EXPR_OP_ADD) {
        *out = (struct value){.kind = VALUE_TEXT,
                              .text = arena_printf(arena, "%s%s", a->text, b->text)};
        return NULL;
    }
    if (!value_is_number(a) || !value_is_number(b)) {
        return "needs numbers";
    }
    if (op == EXPR_OP_MATMUL) {
        return "has no meaning for numbers";
    }
    bool whole = value_is_whole(a) && value_is_whole(b);
    if (whole && op != EXPR_OP_DIV && !(op == EXPR_OP_POW && b->i < 0)) {
        const char *error = binary_ints(op, a->i, b->i, out);
        bool bits = op == EXPR_OP_BITAND || op == EXPR_OP_BITOR || op == EXPR_OP_BITXOR;
        if (!error && bits && a->kind == VALUE_BOOL && b->kind == VALUE_BOOL) {
            *out = value_bool(out->i != 0);
        }
        return error;
    }
    return binary_floats(op, value_number(a), value_number(b), out);
}

static const char *contains(const struct value *list, const struct value *item, bool *out)
{
    if (list->kind == VALUE_TEXT && item->kind == VALUE_TEXT) {
        *out = strstr(list->text, item->text) != NULL;
        return NULL;
    }
    if (list->kind != VALUE_LIST) {
        return "needs a list behind `in`";
    }
    *out = false;
    for (int i = 0; i < list->count && !*out; i++) {
        *out = value_equal(&list->items[i], item);
    }
    return NULL;
}

const char *value_compare(enum expr_op op, const struct value *a, const struct value *b, bool *out)
{
    const char *error;
    int order;
    switch (op) {
    case EXPR_OP_EQ: *out = value_equal(a, b); return NULL;
    case EXPR_OP_NE: *out = !value_equal(a, b); return NULL;
    case EXPR_OP_IN: return contains(b, a, out);
    case EXPR_OP_NOT_IN:
        error = contains(b, a, out);
        *out = !*out;
        return error;
    default: break;
    }
    if (value_is_number(a) && value_is_number(b)) {
        order = order_numbers(a, b);
    } else if (a->kind == VALUE_TEXT && b->kind == VALUE_TEXT) {
        order = strcmp(a->text, b->text);
    } else {
        return "compares things that have no order";
    }
    bool numbers = order != 2 || a->kind == VALUE_TEXT; /* a NaN is neither below nor above */
    *out = numbers && (op == EXPR_OP_LT   ? order < 0
                       : op == EXPR_OP_LE ? order <= 0
                       : op == EXPR_OP_GT ? order > 0
                                          : order >= 0);
    return NULL;
}
