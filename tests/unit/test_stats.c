/* Tables of ranks and draws against values computed by their definitions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/status.h"

static void test_summary(void **state)
{
    const double samples[] = {5, 1, 4, 2, 3, 7, 6};
    struct summary s = stats_summary(samples, 7, 0.95);
    assert_int_equal(s.n, 7);
    assert_true(s.median == 4 && s.min == 1 && s.max == 7 && s.mean == 4);
    assert_true(s.q1 == 3 && s.q3 == 6); /* lround(1.5) = 2, lround(4.5) = 5 */
    assert_true(s.low == 1 && s.high == 7);
    assert_true(stats_median(samples, 6) == 3.5);
    assert_true(stats_quantile(samples, 7, 0) == 1 && stats_quantile(samples, 7, 1) == 7);
    s = stats_summary(samples, 1, 0.95);
    assert_true(s.median == 5 && s.low == 5 && s.high == 5 && s.mean == 5);
    s = stats_summary(NULL, 0, 0.95);
    assert_true(isnan(s.median) && isnan(s.low) && isnan(s.mean) && isnan(stats_median(NULL, 0)));
}

/* More samples than fit the stack. */
static void test_many(void **state)
{
    double samples[1001];
    for (int i = 0; i < 1001; i++) samples[i] = (i * 8) % 1001;
    struct summary s = stats_summary(samples, 1001, 0.95);
    assert_true(s.median == 500 && s.min == 0 && s.max == 1000);
    assert_true(fabs(s.mean - 500) < 1e-9);
    assert_true(s.low == 469 && s.high == 531); /* 500 -+ about 1.96 sqrt(1001)/2 */
}

/* Coverage by the definition, with binomial coefficients as doubles: exact up to n = 50. */
static double coverage(int n, int low)
{
    double term = ldexp(1, -n), tail = 0;
    for (int k = 0; k < low; k++) {
        tail += term;
        term = term * (n - k) / (k + 1);
    }
    return 1 - 2 * tail;
}

static void test_ranks(void **state)
{
    static const int table[][3] = {{5, 0, 0}, {6, 1, 6},   {7, 1, 7},   {8, 1, 8},
                                   {9, 2, 8}, {20, 6, 15}, {32, 10, 23}};
    int low, high;
    for (size_t i = 0; i < STAX_COUNT(table); i++) {
        stats_median_ranks(table[i][0], 0.95, &low, &high);
        assert_int_equal(low, table[i][1]);
        assert_int_equal(high, table[i][2]);
    }
    for (int n = 1; n <= 50; n++) {
        for (int c = 1; c < 100; c++) {
            stats_median_ranks(n, c / 100.0, &low, &high);
            if (low > 0) assert_true(coverage(n, low) >= c / 100.0 - 1e-12 || 2 * low >= n);
            if (2 * (low + 1) <= n) assert_true(coverage(n, low + 1) < c / 100.0 + 1e-12);
        }
    }
    stats_median_ranks(1000000, 0.95, &low, &high);
    assert_true(abs(low - (500000 - 980)) <= 1); /* n/2 - 1.95996 sqrt(n)/2 */
    assert_int_equal(low + high, 1000001);
}

static void test_draws(void **state)
{
    static const struct {
        double q, delta;
        uint64_t book, exact, thousand; /* thousand: without replacement of 1000 */
    } table[] = {
        {0.05, 0.05, 60, 59, 57},       {0.05, 0.01, 93, 90, 86},    {0.01, 0.05, 300, 299, 258},
        {0.1, 0.1, 24, 22, 22},         {0.01, 0.01, 461, 459, 368}, {0.5, 0.25, 3, 2, 2},
        {0.001, 0.05, 2996, 2995, 950},
    };
    for (size_t i = 0; i < STAX_COUNT(table); i++) {
        double q = table[i].q, delta = table[i].delta;
        assert_int_equal(stats_draws_book(q, delta), table[i].book);
        uint64_t n = stats_draws_exact(q, delta);
        assert_int_equal(n, table[i].exact);
        assert_true(stats_certificate(n, q) >= 1 - delta - 1e-12);
        assert_true(stats_certificate(n - 1, q) < 1 - delta);
        n = stats_draws_without(1000, q, delta);
        assert_int_equal(n, table[i].thousand);
        assert_true(stats_certificate_without(1000, n, q) >= 1 - delta - 1e-12);
        assert_true(stats_certificate_without(1000, n - 1, q) < 1 - delta);
    }
    assert_int_equal(stats_draws_exact(1, 0.05), 1);
    assert_int_equal(stats_draws_without(1, 0.05, 0.05), 1);
    assert_int_equal(stats_draws_without(0, 0.05, 0.05), 0);
    assert_int_equal(stats_draws_without(10, 1, 0.05), 1);
    assert_int_equal(stats_draws_without(1000000000000, 0.05, 0.05), 59);
    assert_int_equal(stats_draws_without(1000000000000, 1e-12, 0.05), 950000000000);
    assert_true(stats_certificate_without(10, 10, 0.05) == 1);
}

/* The integral of long products against the plain product. */
static void test_long_product(void **state)
{
    const uint64_t size = 100000000, good = 10000000, draws = 20000;
    double miss = 1;
    for (uint64_t j = 0; j < 20; j++) miss *= (double)(size - good - j) / (double)(size - j);
    assert_true(fabs(1 - miss - stats_certificate_without(size, 20, 0.1)) < 1e-12);
    double sum = 0;
    for (uint64_t j = 0; j < draws; j++) sum += log1p(-30000.0 / (double)(size - j));
    assert_true(fabs(-expm1(sum) - stats_certificate_without(size, draws, 30000.0 / 1e8)) < 1e-9);
}

static void test_wilson(void **state)
{
    double low, high;
    stats_wilson(95, 100, &low, &high);
    assert_true(fabs(low - 0.88825) < 1e-4 && fabs(high - 0.97846) < 1e-4);
    stats_wilson(0, 10, &low, &high);
    assert_true(low == 0 && fabs(high - 0.27753) < 1e-4);
    stats_wilson(0, 0, &low, &high);
    assert_true(low == 0 && high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),      cmocka_unit_test(test_many),
        cmocka_unit_test(test_ranks),        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_long_product), cmocka_unit_test(test_wilson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
