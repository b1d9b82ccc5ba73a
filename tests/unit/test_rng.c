/* The generator: fixed numbers, streams apart, no bias in bounded draws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"

/* The published first outputs of splitmix64 from seed 0 and of seed 1234567 (Vigna's reference
 * code). */
static void test_reference(void **state)
{
    assert_true(rng_mix(0) == 0xe220a8397b1dcdafull);
    struct rng rng = {1234567};
    assert_true(rng_u64(&rng) == 6457827717110365317ull);
    assert_true(rng_u64(&rng) == 3203168211198807973ull);
    assert_true(rng_u64(&rng) == 9817491932198370423ull);
}

static void test_streams(void **state)
{
    struct rng a = rng_make(1, 2), b = rng_make(1, 2), c = rng_make(1, 3), d = rng_make(2, 2);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(&a);
        assert_true(x == rng_u64(&b));
        assert_true(x != rng_u64(&c));
        assert_true(x != rng_u64(&d));
    }
}

static void test_below(void **state)
{
    struct rng rng = rng_make(3, 4);
    int seen[7] = {0};
    double chi = 0;
    for (int i = 0; i < 70000; i++) {
        uint64_t x = rng_below(&rng, 7);
        assert_true(x < 7);
        seen[x]++;
    }
    for (int i = 0; i < 7; i++) chi += (seen[i] - 1e4) * (seen[i] - 1e4) / 1e4;
    assert_true(chi > 0.38 && chi < 22.5); /* 6 degrees of freedom: 0.1 % points */
    /* A bound of 3/4 of 2^64 is where taking the remainder alone would be off by a factor of two.
     */
    const uint64_t bound = 3ull << 62;
    int low = 0;
    for (int i = 0; i < 10000; i++) low += rng_below(&rng, bound) < bound / 3;
    assert_true(abs(low - 3333) < 200); /* 4 standard deviations */
    for (int i = 0; i < 100; i++) assert_int_equal(rng_below(&rng, 1), 0);
}

static void test_unit(void **state)
{
    struct rng rng = rng_make(5, 6);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double x = rng_unit(&rng);
        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    assert_true(fabs(sum / 10000 - 0.5) < 4 * 0.2887 / 100); /* 4 standard errors */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
