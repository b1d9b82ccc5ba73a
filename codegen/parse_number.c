/* Arithmetic on the numbers of a kernel's text: Python's rules, with overflow and division by zero
 * as errors. */
#include <math.h>

#include "codegen/parse.h"

struct operand number_real(double f)
{
    return (struct operand){.kind = OPERAND_FLOAT, .f = f};
}

struct operand number_whole(int64_t i)
{
    return (struct operand){.kind = OPERAND_INT, .i = i, .f = (double)i};
}

struct operand number_truth(bool b)
{
    return (struct operand){.kind = OPERAND_BOOL, .i = b, .f = b};
}

static bool int_power(int64_t base, int64_t exponent, int64_t *out)
{
    *out = 1;
    for (int64_t k = 0; k < exponent; k++) {
        if (__builtin_mul_overflow(*out, base, out)) {
            return false;
        }
        if (base >= -1 &&
            base <= 1) { /* settles at once; the parity of the exponent decides the sign */
            *out = base == -1 && exponent % 2 == 0 ? 1 : base;
            return true;
        }
    }
    return true;
}

static enum stax_status int_binary(struct parse *parse, struct span span, enum expr_op op,
                                   int64_t a, int64_t b, struct operand *out)
{
    int64_t r = 0;
    bool overflow = false;
    switch (op) {
    case EXPR_OP_ADD: overflow = __builtin_add_overflow(a, b, &r); break;
    case EXPR_OP_SUB: overflow = __builtin_sub_overflow(a, b, &r); break;
    case EXPR_OP_MUL: overflow = __builtin_mul_overflow(a, b, &r); break;
    case EXPR_OP_POW: overflow = !int_power(a, b, &r); break;
    case EXPR_OP_FLOORDIV:
    case EXPR_OP_MOD:
        if (b == 0) {
            return parse_fail(parse, span, "division by zero");
        }
        if (b == -1) { /* INT64_MIN / -1 traps */
            overflow = op == EXPR_OP_FLOORDIV && __builtin_sub_overflow((int64_t)0, a, &r);
        } else {
            int64_t quotient = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
            r = op == EXPR_OP_FLOORDIV ? quotient : a - quotient * b;
        }
        break;
    default: return parse_fail(parse, span, "this operator is not defined for numbers in a kernel");
    }
    if (overflow) {
        return parse_fail(parse, span, "this integer does not fit 64 bits");
    }
    *out = number_whole(r);
    return STAX_OK;
}

enum stax_status number_binary(struct parse *parse, struct span span, enum expr_op op,
                               const struct operand *value, struct operand *out)
{
    double a = value[0].f, b = value[1].f;
    switch (op) {
    case EXPR_OP_LT: *out = number_truth(a < b); return STAX_OK;
    case EXPR_OP_LE: *out = number_truth(a <= b); return STAX_OK;
    case EXPR_OP_GT: *out = number_truth(a > b); return STAX_OK;
    case EXPR_OP_GE: *out = number_truth(a >= b); return STAX_OK;
    case EXPR_OP_EQ: *out = number_truth(a == b); return STAX_OK;
    case EXPR_OP_NE: *out = number_truth(a != b); return STAX_OK;
    default: break;
    }
    bool ints = value[0].kind != OPERAND_FLOAT && value[1].kind != OPERAND_FLOAT;
    if (ints && op != EXPR_OP_DIV && !(op == EXPR_OP_POW && value[1].i < 0)) {
        return int_binary(parse, span, op, value[0].i, value[1].i, out);
    }
    if ((op == EXPR_OP_DIV || op == EXPR_OP_FLOORDIV || op == EXPR_OP_MOD) && b == 0) {
        return parse_fail(parse, span, "division by zero");
    }
    switch (op) {
    case EXPR_OP_ADD: *out = number_real(a + b); return STAX_OK;
    case EXPR_OP_SUB: *out = number_real(a - b); return STAX_OK;
    case EXPR_OP_MUL: *out = number_real(a * b); return STAX_OK;
    case EXPR_OP_DIV: *out = number_real(a / b); return STAX_OK;
    case EXPR_OP_POW: *out = number_real(pow(a, b)); return STAX_OK;
    case EXPR_OP_MOD:
        *out = number_real(fmod(a, b));
        out->f += out->f != 0 && (out->f < 0) != (b < 0) ? b : 0.0;
        return STAX_OK;
    case EXPR_OP_FLOORDIV: /* by the exact remainder: 1.0 // 0.1 is 9 */
        *out = number_real(fmod(a, b));
        *out = number_real(round((a - out->f) / b) - (out->f != 0 && (out->f < 0) != (b < 0)));
        return STAX_OK;
    default: return parse_fail(parse, span, "this operator is not defined for numbers in a kernel");
    }
}
