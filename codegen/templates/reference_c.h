/* Stax Tune: the reference of a kernel in double (C). */
#include <math.h>
#include <stdint.h>
#include <string.h>
#define SD_FN static inline

SD_FN double st_ref_f32(float v) { return v; }
SD_FN double st_ref_bf16(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
/* Sign, 5 bits of exponent, 10 of significand (IEEE 754 binary16). */
SD_FN double st_ref_f16(uint16_t v)
{
    int exponent = v >> 10 & 31;
    double significand = v & 1023, value;
    if (exponent == 31)
        value = significand != 0 ? NAN : HUGE_VAL;
    else
        value = exponent == 0 ? ldexp(significand, -24) : ldexp(significand + 1024, exponent - 25);
    return v >> 15 ? -value : value;
}
SD_FN double st_ref_f64(double v) { return v; }
SD_FN double st_ref_i32(int32_t v) { return v; }
SD_FN double st_ref_i64(int64_t v) { return (double)v; }
SD_FN double st_ref_i8(int8_t v) { return v; }
SD_FN double st_ref_u8(uint8_t v) { return v; }
SD_FN double st_ref_bool(uint8_t v) { return v != 0; }
