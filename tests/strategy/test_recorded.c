/* Strategies on recorded spaces: enumerations of four kernels on an H200 (tests/data), and
 * published ones of other tuners where STAX_SPACES_DIR says where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/search.h"
#include "tests/support/recorded.h"

static const struct {
    const char *name;
    double budget_evals, budget_s; /* published method, cutoff 0.95 */
} published[] = {{"convolution-A100", 1050, 2526},
                 {"convolution-A4000", 323, 782},
                 {"dedispersion-A100", 795, 2529},
                 {"dedispersion-A4000", 265, 1667}};

static bool have_published(void)
{
    if (getenv("STAX_SPACES_DIR")) return true;
    print_message("skipped: STAX_SPACES_DIR does not say where the recorded spaces are\n");
    return false;
}

static struct simulate_options options_of(int repeats)
{
    return (struct simulate_options){.repeats = repeats,
                                     .seed = 1,
                                     .cutoff = 0.95,
                                     .start = 0.01,
                                     .budget_configs = UINT64_MAX,
                                     .quantile = 0.05,
                                     .confidence = 0.95};
}

static struct simulate_result play(const struct recorded *recorded,
                                   const struct simulate_options *options, const char *strategy,
                                   const char *setting, struct arena *arena,
                                   struct simulate_report *report)
{
    struct simulate_entry entry = {strategy, setting != NULL, &setting};
    assert_int_equal(simulate(recorded, options, 1, &entry, arena, report), STAX_OK);
    return report->strategy[0];
}

/* Within 1 % of the enumerated optimum, at a tenth of the space or 60 configurations, without any
 * candidates. */
static void test_auto_on_our_kernels(void **state)
{
    static const char *const kernel[] = {"red_fused", "softmax", "per_fused", "layer_norm"};
    for (size_t k = 0; k < STAX_COUNT(kernel); k++) {
        struct arena *arena = arena_create();
        struct recorded recorded = recorded_ours(kernel[k], arena);
        struct simulate_options options = options_of(40);
        struct simulate_report report;
        uint64_t tenth = space_count(recorded.space) / 10;
        options.budget_configs = tenth > 60 ? tenth : 60;
        struct simulate_result result = play(&recorded, &options, "auto", NULL, arena, &report);
        print_message("%s: %.0f configurations, %.2f within 1 %%\n", kernel[k], result.mean_evals,
                      result.within_1pct.value);
        assert_true(result.mean_evals <= (double)options.budget_configs + 1e-9);
        assert_true(result.within_1pct.value >= 0.95);
        arena_destroy(arena);
    }
}

static void test_published_budgets_and_auto(void **state)
{
    if (!have_published()) skip();
    double mean = 0;
    for (size_t k = 0; k < STAX_COUNT(published); k++) {
        struct arena *arena = arena_create();
        struct recorded recorded = recorded_published(published[k].name, false, arena);
        struct simulate_options options = options_of(12);
        struct simulate_report report;
        struct simulate_result result = play(&recorded, &options, "auto", NULL, arena, &report);
        print_message("%s: score %.3f\n", published[k].name, result.score.value);
        assert_true((double)report.budget_evals == published[k].budget_evals);
        assert_true(fabs(report.budget_s - published[k].budget_s) < 1);
        assert_true(result.score.value >= 0.5);
        assert_true(result.hit_target.value >= 0.9);
        mean += result.score.value / STAX_COUNT(published);
        arena_destroy(arena);
    }
    assert_true(mean >= 0.75); /* of 100 repeats: 0.83 */
}

/* Random search with the same launches, `samples` of each configuration: share of runs whose choice
 * is within 1 % of the best by the median of all recorded samples. */
static double random_choice(const struct recorded *recorded, struct simulate_options options,
                            int samples, bool mean, struct arena *arena)
{
    struct simulate_report report;
    options.auto_samples = samples;
    options.auto_mean = mean;
    return play(recorded, &options, "random", "draws=budget", arena, &report).within_1pct.value;
}

/* Under the recorded noise, at least as often right as random search that spends the same launches
 * on single samples, on means of seven (Kernel Tuner's way), or on all 32. */
static void noise(const char *strategy, int repeats)
{
    for (size_t k = 0; k < STAX_COUNT(published); k++) {
        struct arena *arena = arena_create();
        struct recorded recorded = recorded_published(published[k].name, true, arena);
        struct simulate_options options = options_of(repeats);
        struct simulate_report report;
        options.budget_s = 1e12;
        struct simulate_result ours = play(&recorded, &options, strategy, NULL, arena, &report);
        options.budget_launches = (uint64_t)ours.mean_launches;
        double one = random_choice(&recorded, options, 1, false, arena);
        double seven = random_choice(&recorded, options, 7, true, arena);
        double all = random_choice(&recorded, options, 32, false, arena);
        print_message("%s, %s, %.0f launches: within 1 %% %.3f; random with single samples %.3f, "
                      "means of 7 %.3f, medians of 32 %.3f\n",
                      published[k].name, strategy, ours.mean_launches, ours.within_1pct.value, one,
                      seven, all);
        assert_true(ours.within_1pct.value >= one);
        assert_true(ours.within_1pct.value >= seven);
        assert_true(ours.within_1pct.value >= all);
        arena_destroy(arena);
    }
}

static void test_hyperband_under_noise(void **state)
{
    if (!have_published()) skip();
    noise("hyperband", 60);
}

static void test_halving_under_noise(void **state)
{
    if (!have_published()) skip();
    noise("halving", 100);
}

/* One run of random search to its end; true when its best is among the fastest `good` times. */
static bool random_run(const struct recorded *recorded, uint64_t seed, double good,
                       struct arena *arena)
{
    const char *const setting = "draws=hypergeometric";
    struct search_problem problem = {.space = recorded->space,
                                     .seed = seed,
                                     .budget_configs = UINT64_MAX,
                                     .quantile = 0.05,
                                     .confidence = 0.95};
    struct search *search;
    struct ask ask;
    double best = INFINITY;
    assert_int_equal(search_open(search_find("random"), &problem, 1, &setting, arena, &search),
                     STAX_OK);
    while (search_ask(search, &ask, 1) > 0) {
        double time = recorded->config[ask.config].time_ns;
        struct trial trial = {.outcome = OUTCOME_OK,
                              .message = "",
                              .log = "",
                              .samples = 1,
                              .span_ns = &time,
                              .sum_ns = &time};
        best = fmin(best, time);
        search_tell(search, &ask, &trial);
    }
    return best <= good;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Proposition 9.3 without replacement, over 10 000 runs: the best 5 % with probability 0.95. */
static void test_certificate(void **state)
{
    enum { RUNS = 10000 };
    struct arena *arena = arena_create();
    struct recorded recorded = recorded_ours("red_fused", arena);
    uint64_t count = space_count(recorded.space), good = 0;
    double *sorted = ARENA_ARRAY(arena, double, count);
    for (uint64_t i = 0; i < count; i++) sorted[i] = recorded.config[i].time_ns;
    qsort(sorted, count, sizeof *sorted, by_value);
    double limit = sorted[(uint64_t)ceil(0.05 * (double)count) - 1];
    for (uint64_t run = 0; run < RUNS; run++) {
        struct arena *scratch = arena_create();
        good += random_run(&recorded, run, limit, scratch);
        arena_destroy(scratch);
    }
    double low, high;
    stats_wilson(good, RUNS, &low, &high);
    print_message("random, %llu draws of %llu: in the best 5 %% in %.4f [%.4f, %.4f] of %d runs\n",
                  (unsigned long long)stats_draws_without(count, 0.05, 0.05),
                  (unsigned long long)count, (double)good / RUNS, low, high, RUNS);
    assert_true(high >= 0.95);
    assert_true(low < 0.99); /* no more draws than the statement needs */
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_certificate),
        cmocka_unit_test(test_auto_on_our_kernels),
        cmocka_unit_test(test_published_budgets_and_auto),
        cmocka_unit_test(test_hyperband_under_noise),
        cmocka_unit_test(test_halving_under_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
