/* Scalar helpers of the definition: what `value` and `error` texts of ops.def and reductions.def
 * call.
 *
 * One text, three readers: ir_eval.c compiles it as C, and the reference of each emitter carries a
 * copy of it as C11 or CUDA C with its own SD_FN. So it uses only functions that both offer, and
 * includes nothing where SD_FN is set.
 *
 * Error bounds are running bounds (Higham, Accuracy and Stability, 2nd ed., 3.3): `e` bounds
 * |computed - v| where v is the value in double. Every op's bound goes through sd_settle, which
 * adds what underflow can lose and knows overflow. */
#ifndef STAX_CODEGEN_REFERENCE_MATH_H
#define STAX_CODEGEN_REFERENCE_MATH_H

#ifndef SD_FN
#include <math.h>
#define SD_FN static inline
#endif

#define SD_INF HUGE_VAL

SD_FN double sd_max(double a, double b)
{
    return a != a ? a : b != b ? b : a > b ? a : b;
}

SD_FN double sd_min(double a, double b)
{
    return a != a ? a : b != b ? b : a < b ? a : b;
}

/* Relative error of a sum of n terms in any order that our kernels use, in units of u: a lane adds
 * every 64th term or more seldom in the usual forms, the lanes meet in a tree, and split parts add
 * a few more levels (chosen; the bound for a lane that adds all n terms would be n, but its
 * rounding errors grow as sqrt(n) in the mean, which stays below this: Higham 2.8, 4.2). */
SD_FN double sd_sum_factor(double n)
{
    return ceil(n / 64.0) + 24.0;
}

/* Bound of a sum: `errors` the sum of the terms' bounds, `scale` the sum of |term|. None where some
 * order of adding overflows f32 on the way; an exact infinity still settles to 0. */
SD_FN double sd_sum_error(double n, double errors, double scale, double u)
{
    if (u > 0x1p-40 && scale > 0x1.fffffep127) return SD_INF;
    return errors + sd_sum_factor(n) * u * (scale + errors);
}

/* A constant is rounded to f32 when it is printed. */
SD_FN double sd_constant_error(double v, double u)
{
    return u > 0x1p-40 && (double)(float)v != v ? u * fabs(v) : 0.0;
}

SD_FN double sd_product_error(double a, double b, double ea, double eb, double v, double u)
{
    return (ea > 0 ? (fabs(b) + eb) * ea : 0.0) + (eb > 0 ? fabs(a) * eb : 0.0) + u * fabs(v);
}

/* How many powers of two a factor can carry a partial product up by; NaN for NaN. */
SD_FN double sd_product_scale(double b)
{
    return b != b ? b : b == 0 ? 0.0 : fmax(log2(fabs(b)), 0.0);
}

/* Completes a product of n factors that grow by 2^scale at most, in whatever order. No bound where
 * some order overflows on the way (an infinity that meets a zero is NaN); partial products that
 * underflow lose up to a subnormal each, which the others may carry up again. Whole numbers are
 * exact in double below 2^53. */
SD_FN void sd_product_end(double *v, double *e, double n, double scale, double u)
{
    double most = u > 0x1p-40 ? 127.0 : u > 0 ? 1023.0 : 52.0;
    if (scale != scale) return;
    if (scale > most) {
        *v = 0.0;
        *e = SD_INF;
    } else if (u > 0) {
        *e += n * exp2(scale - (u > 0x1p-40 ? 149.0 : 1074.0));
    }
}

/* a/b with b known to eb: the quotient moves by (ea + |v| eb) / (|b| - eb); no bound once b may be
 * zero. */
SD_FN double sd_div_error(double a, double b, double ea, double eb, double v, double u)
{
    double least = fabs(b) - eb;
    if (ea == 0 && eb == 0) {
        return u * fabs(v);
    }
    if (!(least > 0)) {
        return SD_INF;
    }
    double moved = (ea + fabs(a / b) * eb) / least;
    return moved + u * (fabs(v) + moved);
}

/* log(a): the true argument lies in [a - ea, a + ea]; beyond zero on the left there is no bound. 4
 * u of the result, and 4 u absolute near 1, where the result is small (CUDA C++ guide: 1 ulp
 * outside [0.5, 2], 2^-22 absolute inside). */
SD_FN double sd_log_error(double a, double ea, double v, double u)
{
    double moved = 0.0;
    if (ea > 0) {
        if (!(a - ea > 0)) {
            return SD_INF;
        }
        moved = -log1p(-ea / a);
    }
    return moved + 4.0 * u * (fabs(v) + moved) + 4.0 * u;
}

/* sqrt: |sqrt(a') - sqrt(a)| <= ea / (sqrt(a - ea) + sqrt(a)), and <= sqrt(2 ea) where a may be
 * zero. A value just below zero gives NaN where the definition has a small number. */
SD_FN double sd_sqrt_error(double a, double ea, double v, double u)
{
    double moved = 0.0;
    if (ea > 0) {
        if (a - ea < 0) {
            return SD_INF;
        }
        moved = ea / (sqrt(a - ea) + v);
    }
    return moved + 2.0 * u * (fabs(v) + moved);
}

SD_FN double sd_rsqrt_error(double a, double ea, double v, double u)
{
    double moved = 0.0;
    if (ea > 0) {
        if (!(a - ea > 0)) {
            return SD_INF;
        }
        moved = 1.0 / sqrt(a - ea) - v;
    }
    return moved + 4.0 * u * (fabs(v) + moved);
}

/* A step (floor): right to the bit unless a jump lies within ea. */
SD_FN double sd_step_error(double a, double ea)
{
    if (!(ea > 0)) {
        return 0.0;
    }
    double jumps = floor(a + ea) - floor(a - ea);
    return jumps > 0 ? jumps : 0.0;
}

/* A comparison may come out the other way when the operands lie within their bounds of each other.
 */
SD_FN double sd_compare_error(double a, double b, double ea, double eb)
{
    if (!(ea + eb > 0)) {
        return 0.0;
    }
    return fabs(a - b) <= ea + eb ? 1.0 : 0.0;
}

/* A value converted to a whole number: the fraction goes, through 64 bits. What NaN and values
 * beyond those give, languages and devices leave open: any number is right. */
SD_FN void sd_to_whole(double *v, double *e)
{
    if (!(fabs(*v) + *e < 0x1p63)) {
        *v = 0.0;
        *e = SD_INF;
        return;
    }
    *e = sd_step_error(*v, *e);
    *v = trunc(*v);
}

/* Completes a whole number of a type that holds [low, low + range): it wraps around, as in NumPy.
 * Where a double cannot tell where it lands, there is no bound. `range` 0: truth values. */
SD_FN void sd_wrap(double *v, double *e, double low, double range)
{
    if (!(range > 0)) {
        return;
    }
    if (*v - *v != 0 || *e != *e) {
        *v = 0.0;
        *e = SD_INF;
        return;
    }
    if (fabs(*v) > 0x1p53) {
        *e += fabs(*v) * 0x1p-52;
    }
    if (*v - *e >= low && *v + *e < low + range) {
        return;
    }
    if (*e > 0) {
        *e = SD_INF;
        return;
    }
    *v -= range * floor((*v - low) / range);
}

/* Completes the bound of a value computed in, or stored as, a type whose greatest finite value is
 * `max` and whose smallest subnormal is `tiny` (both 0 for integers and truth values).
 * - A value surely beyond `max` is an infinity in that type: so it is in the definition, exactly.
 * - One that may be beyond has no bound. An exact infinity or NaN must come out as such: bound 0.
 * - Flushing of subnormals is not allowed for; half a `tiny` of rounding is, rounded up to one. */
SD_FN void sd_settle(double *v, double *e, double tiny, double max)
{
    if (!(max > 0)) {
        return;
    }
    if (*v - *v != 0) { /* infinity or NaN */
        *e = 0.0;
        return;
    }
    if (*e != *e) {
        *e = SD_INF;
        return;
    }
    if (fabs(*v) - *e > max) {
        *v = *v > 0 ? SD_INF : -SD_INF;
        *e = 0.0;
    } else if (fabs(*v) + *e > max) {
        *e = SD_INF;
    } else if (*e > 0) { /* what is exact so far, such as a maximum, stays exact */
        *e += tiny;
    }
}

#endif
