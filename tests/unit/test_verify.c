/* Element rules: how inputs are filled, how 16-bit floats convert, when an output is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "measure/fill_host.h"

#define SUPPORT_FUNCTION static inline __attribute__((unused))
#define SUPPORT_INF      ((double)INFINITY)
#define SUPPORT_NAN      ((double)NAN)
#include "measure/support_shared.cuh"

enum { MANY = 200000 };

static void test_fill_rule(void **state)
{
    static float values[MANY];
    struct job_buffer buffer = {.dtype = DTYPE_F32,
                                .elements = MANY,
                                .fill = JOB_FILL_UNIFORM,
                                .low = -1,
                                .high = 3,
                                .seed = 99};
    host_fill(&buffer, values);
    double sum = 0;
    for (int i = 0; i < MANY; i++) {
        uint64_t hash = rng_mix(buffer.seed ^ rng_mix((uint64_t)i)); /* base/job.h */
        double unit = (double)(hash >> 11) * 0x1p-53;
        assert_true(values[i] == (float)(-1 + (3.0 - -1) * unit));
        sum += values[i];
    }
    assert_true(fabs(sum / MANY - 1) < 0.02);
    buffer.fill = JOB_FILL_INDEX;
    host_fill(&buffer, values);
    assert_true(values[7] == -1 + 3 * 7);
    buffer.fill = JOB_FILL_CONSTANT;
    host_fill(&buffer, values);
    assert_true(values[0] == -1 && values[MANY - 1] == -1);
}

static void test_adverse(void **state)
{
    static float values[MANY];
    struct job_buffer buffer = {.dtype = DTYPE_F32,
                                .elements = MANY,
                                .fill = JOB_FILL_ADVERSE,
                                .low = -1,
                                .high = 1,
                                .seed = 5};
    host_fill(&buffer, values);
    int nan = 0, infinite = 0, large = 0, ties = 0, plain = 0;
    for (int i = 0; i < MANY; i++) {
        if (isnan(values[i]))
            nan++;
        else if (isinf(values[i]))
            infinite++;
        else if (values[i] > 1000)
            large++;
        else if (values[i] == 0)
            ties++;
        else
            plain++;
    }
    assert_true(nan > 10 && infinite > 10 && large > 1000 && ties > 1000 && plain > MANY / 2);
    int clean = 0;
    for (int row = 0; row < MANY / 1000; row++) {
        int bad = 0;
        for (int k = 0; k < 1000; k++) bad += !isfinite(values[row * 1000 + k]);
        clean += bad == 0;
    }
    assert_true(clean > MANY / 1000 / 4); /* not every row of a reduction is lost */
    static int32_t whole[MANY];
    buffer.dtype = DTYPE_I32;
    buffer.high = 9;
    host_fill(&buffer, whole);
    for (int i = 0; i < MANY; i++) assert_in_range(whole[i] + 1, 0, 10);
}

static void test_integers(void **state)
{
    signed char small[3];
    support_store(DTYPE_I8, small, 0, 1e9);
    support_store(DTYPE_I8, small, 1, -3.5);
    support_store(DTYPE_I8, small, 2, NAN);
    assert_int_equal(small[0], 127);
    assert_int_equal(small[1], -4); /* ties to even */
    long long wide[2];
    support_store(DTYPE_I64, wide, 0, 1e30);
    support_store(DTYPE_I64, wide, 1, 4503599627370499.0);
    assert_true(wide[0] > 9000000000000000000ll && wide[1] == 4503599627370499ll);
    unsigned char flag[2];
    support_store(DTYPE_BOOL, flag, 0, 0.49);
    support_store(DTYPE_BOOL, flag, 1, 1.7);
    assert_true(flag[0] == 0 && flag[1] == 1);
}

/* All 65536 patterns go to f32 and back; and rounding picks the nearer neighbour, the even one of
 * two. */
static void test_halves(void **state)
{
    for (unsigned int bits = 0; bits < 65536; bits++) {
        float value = support_from_f16((unsigned short)bits);
        unsigned short back = support_to_f16(value);
        if (isnan(value))
            assert_true((back & 0x7c00) == 0x7c00 && (back & 0x3ff));
        else
            assert_int_equal(back, bits);
        if ((bits & 0x7fff) >= 0x7bff) continue;
        float next = support_from_f16((unsigned short)(bits + 1)),
              middle = value + (next - value) / 2;
        assert_int_equal(support_to_f16(middle), bits & 1 ? bits + 1 : bits);
        assert_int_equal(support_to_f16(nextafterf(middle, value)), bits);
        assert_int_equal(support_to_f16(nextafterf(middle, next)), bits + 1);
    }
    assert_true(support_from_f16(0x3c00) == 1.0f && support_from_f16(0x0001) == 0x1p-24f);
    assert_int_equal(support_to_f16(65519.9f), 0x7bff);
    assert_int_equal(support_to_f16(65520.0f), 0x7c00);
    assert_int_equal(support_to_bf16(1.0f), 0x3f80);
    assert_int_equal(support_to_bf16(support_bits_float(0x3f808000)), 0x3f80); /* a tie, to even */
    assert_int_equal(support_to_bf16(support_bits_float(0x3f818000)), 0x3f82);
    assert_int_equal(support_to_bf16(support_bits_float(0x3f808001)), 0x3f81);
    assert_true(support_to_bf16(NAN) > 0x7f80);
}

static void test_ratio(void **state)
{
    double inf = INFINITY;
    assert_true(support_ratio(DTYPE_F32, 1.5, 1.0, 1.0) == 0.5);
    assert_true(support_ratio(DTYPE_F32, 3.0, 1.0, 1.0) > 1);
    assert_true(support_ratio(DTYPE_F32, 1.0, 1.0, 0.0) == 0);
    assert_true(support_ratio(DTYPE_I32, 1.0, 2.0, 0.0) > 1);
    assert_true(support_ratio(DTYPE_F32, NAN, NAN, 0.0) == 0);
    assert_true(support_ratio(DTYPE_F32, NAN, 1.0, 1e9) > 1);
    assert_true(support_ratio(DTYPE_F32, NAN, 0.0, inf) == 0);
    assert_true(support_ratio(DTYPE_F32, 1.0, NAN, 1e9) > 1);
    assert_true(support_ratio(DTYPE_F32, inf, inf, 0.0) == 0);
    assert_true(support_ratio(DTYPE_F32, -inf, inf, 0.0) > 1);
    assert_true(support_ratio(DTYPE_F32, 7.0, inf, NAN) > 1);
    assert_true(support_ratio(DTYPE_F32, inf, 1.0, 1.0) > 1);
    assert_true(support_ratio(DTYPE_F16, inf, 1e5, 1.0) ==
                0); /* beyond the type: the infinity is right */
    assert_true(support_ratio(DTYPE_F16, -inf, 1e5, 1.0) > 1);
    assert_true(support_ratio(DTYPE_F32, 1.0, 2.0, NAN) >
                1); /* a bound that is no number excuses nothing */
    assert_true(support_ratio(DTYPE_F32, 1.0, 2.0, inf) <= 1);
}

static void test_compare(void **state)
{
    static float out[MANY];
    static double reference[MANY], bound[MANY];
    for (int i = 0; i < MANY; i++) {
        reference[i] = i;
        out[i] = (float)i;
        bound[i] = 1;
    }
    struct comparison found;
    host_compare(DTYPE_F32, MANY, out, reference, bound, &found);
    assert_true(found.wrong == 0 && found.first == -1 && found.ratio == 0);
    out[150000] += 0.5f;
    out[130001] += 4;
    out[199999] = NAN;
    host_compare(DTYPE_F32, MANY, out, reference, bound, &found);
    assert_int_equal(found.wrong, 2);
    assert_int_equal(found.first, 130001);
    assert_true(found.ratio == 4 && found.got == 130005 && found.want == 130001 &&
                found.bound == 1);
    host_compare(DTYPE_F32, 0, out, reference, bound, &found);
    assert_int_equal(found.wrong, 0);
}

static void test_find_other(void **state)
{
    unsigned char bytes[300];
    memset(bytes, 0xa5, sizeof bytes);
    assert_int_equal(host_find_other(bytes, 0xa5, 300), -1);
    assert_int_equal(host_find_other(bytes, 0xa5, 0), -1);
    assert_int_equal(host_find_other(bytes, 0xa4, 300), 0);
    for (int i = 0; i < 300; i++) {
        bytes[i] = 1;
        assert_int_equal(host_find_other(bytes, 0xa5, 300), i);
        bytes[i] = 0xa5;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_rule),  cmocka_unit_test(test_adverse),
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_halves),
        cmocka_unit_test(test_ratio),      cmocka_unit_test(test_compare),
        cmocka_unit_test(test_find_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
