/* Stax Tune: helpers of every generated C function. Functions of one value without branches, so that the loops over a vector's lanes
 * vectorise. Polynomials are our own Chebyshev fits (mpmath); with f32 evaluation every function stays within 2 ulp of the value,
 * which tests/unit/test_emit_c_math.c measures. NaN passes through; infinities and zero give what C's library gives. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ST_FN static inline __attribute__((always_inline))

ST_FN float st_inf(void) { return __builtin_inff(); }
ST_FN float st_nan(void) { return __builtin_nanf(""); }
ST_FN int32_t st_bits(float f)
{
    int32_t i;
    memcpy(&i, &f, 4);
    return i;
}
ST_FN float st_float(int32_t i)
{
    float f;
    memcpy(&f, &i, 4);
    return f;
}

/* ---- data types: IEEE 754 binary16 and bfloat16 as integers, round to nearest even ---- */
ST_FN float st_from_bf16(uint16_t h) { return st_float((int32_t)((uint32_t)h << 16)); }
ST_FN uint16_t st_to_bf16(float f)
{
    uint32_t u = (uint32_t)st_bits(f);
    uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)(f != f ? 0x7fffu : rounded);
}
ST_FN float st_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    float scaled = st_float((int32_t)(rest << 13)) * 0x1p112f; /* exponent bias 15 to 127; subnormals come out right */
    uint32_t bits = rest >= 0x7c00 ? rest << 13 | 0x7f800000u : (uint32_t)st_bits(scaled);
    return st_float((int32_t)(sign | bits));
}
ST_FN uint16_t st_to_f16(float f)
{
    uint32_t u = (uint32_t)st_bits(f), sign = u >> 16 & 0x8000, rest = u & 0x7fffffff;
    float a = st_float((int32_t)rest);
    /* Below 2^-14 the spacing is 2^-24: adding 0.5 puts it in the last place. */
    uint32_t small = (uint32_t)st_bits(a + 0.5f) - 0x3f000000u;
    uint32_t normal = (rest + 0xfffu + (rest >> 13 & 1) - 0x38000000u) >> 13;
    uint32_t h = rest < 0x38800000u ? small : rest >= 0x477ff000u ? 0x7c00u : normal;
    return (uint16_t)(sign | (f != f ? 0x7fffu : h));
}
ST_FN float st_round_bf16(float f) { return st_from_bf16(st_to_bf16(f)); }
ST_FN float st_round_f16(float f) { return st_from_f16(st_to_f16(f)); }
#define st_to_i64(v) ((int64_t)(v))

ST_FN float st_get_f32(float v) { return v; }
ST_FN float st_get_bf16(uint16_t v) { return st_from_bf16(v); }
ST_FN float st_get_f16(uint16_t v) { return st_from_f16(v); }
ST_FN double st_get_f64(double v) { return v; }
ST_FN int32_t st_get_i32(int32_t v) { return v; }
ST_FN int64_t st_get_i64(int64_t v) { return v; }
ST_FN int8_t st_get_i8(int8_t v) { return v; }
ST_FN uint8_t st_get_u8(uint8_t v) { return v; }
ST_FN int32_t st_get_bool(uint8_t v) { return v != 0; }
ST_FN float st_put_f32(float v) { return v; }
ST_FN uint16_t st_put_bf16(float v) { return st_to_bf16(v); }
ST_FN uint16_t st_put_f16(float v) { return st_to_f16(v); }
ST_FN double st_put_f64(double v) { return v; }
ST_FN int32_t st_put_i32(int32_t v) { return v; }
ST_FN int64_t st_put_i64(int64_t v) { return v; }
ST_FN int8_t st_put_i8(int32_t v) { return (int8_t)v; }
ST_FN uint8_t st_put_u8(int32_t v) { return (uint8_t)v; }
ST_FN uint8_t st_put_bool(int32_t v) { return v != 0; }

/* ---- ops (ops.def): NaN passes through max and min as in NumPy ---- */
ST_FN float st_max(float a, float b)
{
    float m = a > b ? a : b; /* b where either is NaN */
    return a != a ? a : m;
}
ST_FN float st_min(float a, float b)
{
    float m = a < b ? a : b;
    return a != a ? a : m;
}
ST_FN double sd_max(double a, double b)
{
    double m = a > b ? a : b;
    return a != a ? a : m;
}
ST_FN double sd_min(double a, double b)
{
    double m = a < b ? a : b;
    return a != a ? a : m;
}
#define st_imax(a, b) ((a) > (b) ? (a) : (b))
#define st_imin(a, b) ((a) < (b) ? (a) : (b))
#define st_iabs(a) ((a) < 0 ? -(a) : (a))

/* 2^n y for |n| <= 254 in two steps, so that subnormal results round once. */
ST_FN float st_scale(float y, int32_t n)
{
    int32_t half = n >> 1;
    return y * st_float((int32_t)((uint32_t)(half + 127) << 23)) *
           st_float((int32_t)((uint32_t)(n - half + 127) << 23));
}
/* exp(r), |r| <= ln(2)/2 */
ST_FN float st_exp_small(float r)
{
    float p = 0.00019891269f;
    p = p * r + 0.00139339f;
    p = p * r + 0.00833331048f;
    p = p * r + 0.041666463f;
    p = p * r + 0.166666672f;
    p = p * r + 0.5f;
    return (p * r) * r + r + 1.0f;
}
ST_FN float st_exp(float x)
{
    float c = x > 90.0f ? 90.0f : x;
    c = c < -110.0f ? -110.0f : c;
    float t = c * 1.44269504f + 12582912.0f; /* adding 1.5 2^23 rounds to an integer in the low bits */
    float n = t - 12582912.0f;
    float r = fmaf(n, -0.693359375f, c); /* ln 2 in two parts; the first has 9 bits, so its products are exact */
    r = fmaf(n, 2.12194440e-4f, r);
    return st_scale(st_exp_small(r), st_bits(t) - 0x4b400000);
}
ST_FN float st_exp2(float x)
{
    float c = x > 130.0f ? 130.0f : x;
    c = c < -155.0f ? -155.0f : c;
    float t = c + 12582912.0f;
    float n = t - 12582912.0f;
    return st_scale(st_exp_small((c - n) * 0.693147182f), st_bits(t) - 0x4b400000);
}
ST_FN float st_log(float x)
{
    float big = x < 0x1p-126f ? x * 0x1p23f : x;
    float e = x < 0x1p-126f ? -23.0f : 0.0f;
    int32_t shifted = st_bits(big) - 0x3f3504f3; /* sqrt(1/2): the significand then lies in [sqrt(1/2), sqrt(2)) */
    e += (float)(shifted >> 23);
    float f = st_float((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float p = 0.0697161183f;
    p = p * f - 0.114797339f;
    p = p * f + 0.116854198f;
    p = p * f - 0.124256872f;
    p = p * f + 0.142490581f;
    p = p * f - 0.166678026f;
    p = p * f + 0.200007156f;
    p = p * f - 0.24999997f;
    p = p * f + 0.333333313f;
    float s = f * f;
    float y = p * f * s + e * -2.12194440e-4f - 0.5f * s;
    y = f + y + e * 0.693359375f;
    y = x == 0.0f ? -st_inf() : y;
    y = x > 3.40282347e38f ? x : y;
    return x < 0.0f || x != x ? st_nan() : y;
}
ST_FN float st_rsqrt(float x) { return 1.0f / sqrtf(x); }
ST_FN float st_tanh(float x)
{
    float a = fabsf(x), s = x * x;
    float p = -0.00609671418f;
    p = p * s + 0.0209971797f;
    p = p * s - 0.0538509078f;
    p = p * s + 0.133327693f;
    p = p * s - 0.333333284f;
    float small = x + x * s * p;
    float large = copysignf(1.0f - 2.0f / (st_exp(2.0f * a) + 1.0f), x);
    return a < 0.625f ? small : large;
}
ST_FN float st_erf(float x)
{
    float a = fabsf(x), s = x * x;
    float p = 8.36726758e-05f;
    p = p * s - 0.00081424258f;
    p = p * s + 0.00520104915f;
    p = p * s - 0.026859425f;
    p = p * s + 0.112836964f;
    p = p * s - 0.376126349f;
    p = p * s + 0.128379166f;
    float small = x + x * p;
    float t = a > 4.0f ? 4.0f : a; /* erfc(4) = 1.5e-8, below half an ulp of 1 */
    float q = 1.64355583e-06f; /* log erfc */
    q = q * t - 4.61785239e-05f;
    q = q * t + 0.000597757287f;
    q = q * t - 0.00476368703f;
    q = q * t + 0.0264314897f;
    q = q * t - 0.110095628f;
    q = q * t - 0.63181293f;
    q = q * t - 1.13023877f;
    q = q * t + 0.000320800318f;
    float large = copysignf(1.0f - st_exp(q), x);
    return a < 0.925f ? small : large;
}
/* Far arguments need more than 32 bits of pi: the library's. */
ST_FN float st_sin(float x) { return sinf(x); }
ST_FN float st_cos(float x) { return cosf(x); }
