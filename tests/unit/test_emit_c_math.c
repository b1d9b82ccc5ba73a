/* Functions of the C prelude against double precision: 4 u of the result at most, as ops.def
 * promises, over samples of all floats; special values; conversions of the 16-bit types over every
 * value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "codegen/templates/prelude_c.h"

/* Greatest |f(x) - right| / (u |right|) over every 509th float in [low, high]; below the least
 * normal in units of its u. */
static double worst(float (*f)(float), double (*right)(double), float low, float high, float *where)
{
    double most = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 509) {
        float x = st_float((int32_t)(uint32_t)bits);
        if (!(x >= low && x <= high)) continue;
        double v = right(x);
        if (fabs(v) > 3.4028234e38) continue; /* beyond f32: an infinity, checked apart */
        double scale = fabs(v) > 0x1p-126 ? fabs(v) : 0x1p-126;
        double error = fabs((double)f(x) - v) / (scale * 0x1p-24);
        if (!(error <= most)) most = error, *where = x;
    }
    return most;
}

static float do_exp(float x)
{
    return st_exp(x);
}
static float do_exp2(float x)
{
    return st_exp2(x);
}
static float do_log(float x)
{
    return st_log(x);
}
static float do_tanh(float x)
{
    return st_tanh(x);
}
static float do_erf(float x)
{
    return st_erf(x);
}
static float do_rsqrt(float x)
{
    return st_rsqrt(x);
}
static double double_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static void functions_stay_within_four_u(void **state)
{
    static const struct {
        const char *name;
        float (*f)(float);
        double (*right)(double);
        float low, high;
    } rows[] = {
        {"exp", do_exp, exp, -150, 90},         {"exp2", do_exp2, exp2, -200, 130},
        {"log", do_log, log, 0x1p-149f, 3e38f}, {"tanh", do_tanh, tanh, -50, 50},
        {"erf", do_erf, erf, -10, 10},          {"rsqrt", do_rsqrt, double_rsqrt, 0x1p-126f, 3e38f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float where = 0;
        double most = worst(rows[i].f, rows[i].right, rows[i].low, rows[i].high, &where);
        if (!(most <= 4)) fail_msg("%s is %.2f u away at %.9g", rows[i].name, most, (double)where);
    }
}

static void special_values_are_the_library_s(void **state)
{
    const float inf = st_inf(), nan = st_nan();
    assert_true(st_exp(inf) == inf && st_exp(-inf) == 0 && st_exp(1000) == inf &&
                st_exp(-1000) == 0 && st_exp(0) == 1);
    assert_true(st_exp2(inf) == inf && st_exp2(-inf) == 0 && st_exp2(3) == 8 &&
                st_exp2(128) == inf);
    assert_true(st_log(0) == -inf && st_log(inf) == inf && isnan(st_log(-1)) && st_log(1) == 0);
    assert_true(st_tanh(inf) == 1 && st_tanh(-inf) == -1 && st_erf(inf) == 1 && st_erf(-inf) == -1);
    assert_true(isnan(st_exp(nan)) && isnan(st_exp2(nan)) && isnan(st_log(nan)) &&
                isnan(st_tanh(nan)) && isnan(st_erf(nan)));
    assert_true(isnan(st_max(nan, 1)) && isnan(st_max(1, nan)) && isnan(st_min(nan, 1)) &&
                isnan(st_min(1, nan)));
    assert_true(st_max(2, 1) == 2 && st_min(2, 1) == 1 && st_max(-inf, inf) == inf);
}

static void sixteen_bit_types_round_to_nearest_even(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = st_from_f16((uint16_t)h), b = st_from_bf16((uint16_t)h);
        if (f == f) assert_int_equal(st_to_f16(f), h);
        if (b == b) assert_int_equal(st_to_bf16(b), h);
        if (h % 0x8000 >= 0x7c00 || h % 0x8000 == 0) continue;
        /* Halfway to the next value goes to the even one, past halfway up. */
        float next = st_from_f16((uint16_t)(h + 1));
        if (h % 0x8000 == 0x7bff) next = h < 0x8000 ? 65536.0f : -65536.0f;
        float half = f + (next - f) / 2;
        assert_int_equal(st_to_f16(half), h % 2 == 0 ? h : h + 1);
        assert_int_equal(st_to_f16(nextafterf(half, next)), h + 1);
        assert_int_equal(st_to_f16(nextafterf(half, f)), h);
    }
    assert_true(isnan(st_from_bf16(st_to_bf16(st_nan()))) &&
                isnan(st_from_f16(st_to_f16(st_nan()))));
    assert_int_equal(st_to_bf16(st_float(0x3f808000)), 0x3f80); /* tie to even */
    assert_int_equal(st_to_bf16(st_float(0x3f818000)), 0x3f82);
    assert_int_equal(st_to_bf16(st_float(0x7f7fffff)), 0x7f80); /* rounds up to infinity */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_stay_within_four_u),
        cmocka_unit_test(special_values_are_the_library_s),
        cmocka_unit_test(sixteen_bit_types_round_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
