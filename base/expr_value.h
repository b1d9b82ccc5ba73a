/* Private to the evaluator: arithmetic on scalar values with Python's rules.
 *
 * A function returns NULL, or why it cannot answer ("divides by zero"); the evaluator adds the
 * place. */
#ifndef STAX_BASE_EXPR_VALUE_H
#define STAX_BASE_EXPR_VALUE_H

#include "base/expr.h"

enum { VALUE_LIST_MOST = 1 << 20 }; /* items of one list: a bound on memory (chosen) */

static inline struct value value_int(int64_t i)
{
    return (struct value){.kind = VALUE_INT, .i = i, .f = (double)i};
}

static inline struct value value_float(double f)
{
    return (struct value){.kind = VALUE_FLOAT, .f = f};
}

static inline struct value value_bool(bool b)
{
    return (struct value){.kind = VALUE_BOOL, .i = b, .f = b};
}

static inline bool value_is_whole(const struct value *value)
{
    return value->kind == VALUE_INT || value->kind == VALUE_BOOL;
}

static inline bool value_is_number(const struct value *value)
{
    return value_is_whole(value) || value->kind == VALUE_FLOAT;
}

/* The integer arithmetic shared with compiled constraints; false on overflow or a zero divisor. */
bool int_floordiv(int64_t a, int64_t b, int64_t *out);
bool int_mod(int64_t a, int64_t b, int64_t *out);
bool int_pow(int64_t a, int64_t b, int64_t *out); /* b >= 0 */
bool int_shl(int64_t a, int64_t b, int64_t *out);
bool int_shr(int64_t a, int64_t b, int64_t *out);
bool float_to_int(double f, int64_t *out); /* truncates; false out of range or not a number */
double float_mod(double a, double b);      /* b != 0; the sign is b's */
double float_floordiv(double a, double b);

const char *value_unary(enum expr_op op, const struct value *a, struct value *out);
const char *value_binary(enum expr_op op, const struct value *a, const struct value *b,
                         struct arena *arena, struct value *out);
const char *value_compare(enum expr_op op, const struct value *a, const struct value *b, bool *out);

/* Calls the built-in function `name`; `known` says whether there is one. */
const char *value_call(const char *name, const struct value *arguments, int count,
                       struct arena *arena, struct value *out, bool *known);

#endif
