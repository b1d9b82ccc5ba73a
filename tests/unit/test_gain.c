/* The expected gain of going on: limits, what it depends on, and how often it is right on searches
 * made by its own assumptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "search/gain.h"

/* Tells `count` measurements; those numbered in `at` improve the best by the factor `by`. */
static struct gain history(uint64_t size, int count, int improvements, const int *at, double by)
{
    struct gain gain = gain_make(size);
    double best = 1000;
    for (int u = 1; u <= count; u++) {
        for (int i = 0; i < improvements; i++)
            if (at[i] == u) best *= 1 - by;
        gain_tell(&gain, best);
    }
    return gain;
}

static void test_nothing_ran(void **state)
{
    struct gain gain = gain_make(100);
    for (int i = 0; i < 5; i++) gain_tell(&gain, INFINITY);
    struct gain_estimate estimate = gain_estimate(&gain, 50);
    assert_true(estimate.expected == 1 && estimate.upper == 1);
    gain_tell(&gain, 7); /* the first that runs is no improvement */
    assert_true(gain.improved == 0 && gain.improved_by == 0);
    assert_true(gain_estimate(&gain, 50).expected < 1);
}

static void test_nothing_is_left(void **state)
{
    struct gain gain = history(80, 80, 2, (int[]){10, 79}, 0.3);
    struct gain_estimate estimate = gain_estimate(&gain, 1000);
    assert_true(estimate.expected == 0 && estimate.upper == 0 && estimate.more == 0);
    gain = history(80, 70, 1, (int[]){10}, 0.3);
    assert_int_equal(gain_estimate(&gain, 1000).more, 10); /* no more than are left */
    estimate = gain_estimate(&gain, 0);
    assert_true(estimate.expected == 0 && estimate.upper == 0);
}

static void test_time_without_a_gain(void **state)
{
    double before = 1, upper = 1;
    for (int n = 50; n <= 800; n *= 2) {
        struct gain gain = history(5000, n, 3, (int[]){5, 20, 40}, 0.1);
        struct gain_estimate estimate = gain_estimate(&gain, (uint64_t)n);
        assert_true(estimate.expected < before && estimate.upper <= upper);
        assert_true(estimate.expected > 0);
        before = estimate.expected;
        upper = estimate.upper;
    }
    assert_true(before < 1e-3 && upper == 0);
}

static void test_sizes_and_number(void **state)
{
    const int at[] = {5, 20, 40, 60};
    struct gain small = history(5000, 100, 4, at, 0.01), large = history(5000, 100, 4, at, 0.1);
    struct gain few = history(5000, 100, 2, at, 0.1);
    double low = gain_estimate(&small, 100).expected, high = gain_estimate(&large, 100).expected;
    assert_true(high > 5 * low && high < 11 * low);
    assert_true(gain_estimate(&small, 100).upper < gain_estimate(&large, 100).upper);
    assert_true(gain_estimate(&few, 100).expected < high);
    /* more measurements gain more; a larger space takes longer */
    assert_true(gain_estimate(&large, 200).expected > high);
    assert_true(gain_estimate(&large, 1).expected < high / 20);
    struct gain wide = history(50000, 100, 4, at, 0.1);
    assert_true(gain_estimate(&wide, 100).expected > high);
}

/* Only ratios count, and a best that is measured again and found slower is no gain. */
static void test_ratios(void **state)
{
    struct gain a = gain_make(1000), b = gain_make(1000);
    const double time[] = {9, 5, 5.5, 5, 4, 4, 4.5, 4.5, 3};
    for (int i = 0; i < 9; i++) {
        gain_tell(&a, time[i]);
        gain_tell(&b, 1e6 * time[i]);
    }
    struct gain_estimate of_a = gain_estimate(&a, 9), of_b = gain_estimate(&b, 9);
    assert_true(fabs(of_a.expected - of_b.expected) < 1e-12);
    assert_true(fabs(of_a.upper - of_b.upper) < 1e-9);
    assert_true(a.improved > 1 && a.improved < 4); /* 4 of them, the old ones discounted */
}

/* Gamma of shape 3/2: an exponential and half the square of a normal. */
static double gamma_three_halves(struct rng *rng)
{
    double normal = sqrt(-2 * log(1 - rng_unit(rng))) * cos(2 * acos(-1) * rng_unit(rng));
    return normal * normal / 2 - log(1 - rng_unit(rng));
}

/* Searches made by the assumptions: improvements at the rate r e^(-u/T) / u with r from the prior,
 * sizes exponential with a mean of size / (1 + u/fall). Writes what was expected of as many
 * measurements again, what they gained, and how often the upper limit held. */
static void play_made(double size, double fall, int n, double *expected, double *actual,
                      double *within)
{
    enum { RUNS = 4000, SPACE = 4000 };
    double horizon = 2 * sqrt(SPACE);
    *expected = *actual = *within = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct rng rng = rng_make(run, 1);
        struct gain gain = gain_make(SPACE);
        double best = 0, then = 0, rate = gamma_three_halves(&rng) / 0.5; /* best: logarithm */
        struct gain_estimate estimate = {0};
        for (int u = 1; u <= 2 * n; u++) {
            bool improves = u > 1 && rng_unit(&rng) < rate * exp(-u / horizon) / u;
            if (improves) best += size / (1 + u / fall) * log(1 - rng_unit(&rng));
            gain_tell(&gain, exp(best));
            if (u != n) continue;
            estimate = gain_estimate(&gain, (uint64_t)n);
            then = best;
        }
        double gained = 1 - exp(best - then);
        *expected += estimate.expected / RUNS;
        *actual += gained / RUNS;
        *within += (gained <= estimate.upper + 1e-12) / (double)RUNS;
    }
    print_message("size %g, after %d: expected %.4f, was %.4f, within the limit %.3f\n", size, n,
                  *expected, *actual, *within);
}

/* Where sizes stay the same, the expectation is right; the limit holds a little less often than it
 * says (measured: 0.88 to 0.94), since what lies back is discounted though here it would count. */
static void test_made_searches(void **state)
{
    static const struct {
        double size;
        int n;
    } made[] = {{0.01, 60}, {0.05, 60}, {0.05, 100}, {0.05, 200}, {0.2, 100}};
    for (int i = 0; i < 5; i++) {
        double expected, actual, within;
        play_made(made[i].size, INFINITY, made[i].n, &expected, &actual, &within);
        assert_true(expected > 0.8 * actual && expected < 1.4 * actual);
        assert_true(within > 0.86);
    }
}

/* Where they fall, as those of searches do, both err on the safe side. */
static void test_made_searches_with_falling_sizes(void **state)
{
    for (int n = 60; n <= 240; n *= 2) {
        double expected, actual, within;
        play_made(0.2, 20, n, &expected, &actual, &within);
        assert_true(expected > actual);
        assert_true(within > GAIN_CONFIDENCE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_ran),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_time_without_a_gain),
        cmocka_unit_test(test_sizes_and_number),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_made_searches),
        cmocka_unit_test(test_made_searches_with_falling_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
