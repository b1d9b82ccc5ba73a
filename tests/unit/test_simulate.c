/* The published score, on recordings whose answer can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "tuner/simulate.h"

enum { CONFIGS = 99, SAMPLES = 8 };

/* Configuration k takes k + 1 ms (or 99 - k), costs 1 s, and every tenth fails when asked for. */
static struct recorded made(struct arena *arena, bool rising, bool failures)
{
    int64_t values[CONFIGS];
    for (int i = 0; i < CONFIGS; i++) values[i] = i + 1;
    struct space *space = space_create("made", arena);
    assert_int_equal(space_add_ints(space, "A", values, CONFIGS), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, CONFIGS);
    for (int i = 0; i < CONFIGS; i++) {
        double time = 1e6 * (rising ? i + 1 : CONFIGS - i);
        bool fails = failures && i % 10 == 9;
        double *samples = ARENA_ARRAY(arena, double, SAMPLES);
        for (int s = 0; s < SAMPLES; s++) samples[s] = time * (s == 3 ? 9 : 1); /* one outlier */
        config[i] = (struct recorded_config){fails ? OUTCOME_COMPILE : OUTCOME_OK,
                                             fails ? INFINITY : time,
                                             0.75,
                                             0.25,
                                             fails ? 0 : SAMPLES,
                                             samples};
    }
    return (struct recorded){"made", space, config};
}

static struct simulate_options options_of(int repeats)
{
    return (struct simulate_options){.repeats = repeats,
                                     .seed = 1,
                                     .cutoff = 0.95,
                                     .start = 0.01,
                                     .budget_configs = UINT64_MAX,
                                     .quantile = 0.05,
                                     .confidence = 0.95,
                                     .threads = 1};
}

static struct simulate_report run(const struct recorded *recorded,
                                  const struct simulate_options *options, const char *strategy,
                                  const char *setting, struct arena *arena)
{
    struct simulate_report report;
    struct simulate_entry entry = {strategy, setting != NULL, &setting};
    assert_int_equal(simulate(recorded, options, 1, &entry, arena, &report), STAX_OK);
    return report;
}

/* Optimum 1, median 50, target 1 + 49 / 20 = 3.45, which 3 of 99 meet: random search is expected to
 * need ceil(96 / (100 - 96)) = 24 evaluations. */
static void test_budget(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(1);
    struct simulate_report report = run(&recorded, &options, "exhaustive", "order=rank", arena);
    assert_int_equal(report.valid, 99);
    assert_true(report.optimum_ns == 1e6 && report.median_ns == 50e6);
    assert_true(fabs(report.target_ns - 3.45e6) < 1);
    assert_int_equal(report.budget_evals, 24);
    assert_true(fabs(report.budget_s - 24) < 1e-9 && fabs(report.start_s - 1) < 1e-9);
    /* the baseline's ends: rank round(M (N + 1) / (M + 1)) from the slowest, M = 1 and 24 */
    assert_true(report.baseline_ns[0] == 49e6);
    assert_true(fabs(report.baseline_ns[SIMULATE_POINTS - 1] - 3e6) < 1);
    arena_destroy(arena);
}

/* Seconds of a budget pay for compiling as well as for running. The one that overruns counts and is
 * not told. */
static void test_seconds_include_compiling(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(1);
    options.budget_s = 10; /* of 0.75 s compiling and 0.25 s running each */
    struct simulate_report report = run(&recorded, &options, "exhaustive", "order=rank", arena);
    assert_true(report.strategy[0].mean_evals == 10 + 1);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, CONFIGS);
    for (int i = 0; i < CONFIGS; i++) {
        config[i] = recorded.config[i];
        config[i].compile_s = 0;
    }
    recorded.config = config;
    report = run(&recorded, &options, "exhaustive", "order=rank", arena);
    assert_true(report.strategy[0].mean_evals == 40 + 1);
    arena_destroy(arena);
}

static void test_best_and_worst_order(void **state)
{
    struct arena *arena = arena_create();
    struct recorded rising = made(arena, true, false), falling = made(arena, false, false);
    struct simulate_options options = options_of(3);
    struct simulate_result best =
        run(&rising, &options, "exhaustive", "order=rank", arena).strategy[0];
    assert_true(best.score.value == 1 && best.score_mean_rank == 1);
    assert_true(best.hit_target.value == 1 && best.within_1pct.value == 1);
    assert_true(best.evals_to_1pct.value == 1 && best.seconds_to_1pct.value == 1);
    struct simulate_result worst =
        run(&falling, &options, "exhaustive", "order=rank", arena).strategy[0];
    assert_true(worst.score.value < -1);
    assert_true(worst.hit_target.value == 0 && isnan(worst.evals_to_1pct.value));
    assert_true(fabs(worst.mean_excess - 75) < 1e-9); /* after 24 of 99, 76 ms is the best */
    arena_destroy(arena);
}

static void test_random_search_scores_about_nothing(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(400);
    struct simulate_result result =
        run(&recorded, &options, "random", "draws=budget", arena).strategy[0];
    /* The published baseline is one rank better than the expectation (round(M (N + 1) / (M + 1))
     * counts from 0) and smooth where a run has steps, which shows in so small a space. */
    assert_true(result.score.value > -0.35 && result.score.value < 0.05);
    assert_true(result.score.low < result.score.value && result.score.value < result.score.high);
    assert_true(fabs(result.hit_target.value - 0.57) < 0.1); /* 1 - C(96,24) / C(99,24) */
    arena_destroy(arena);
}

/* Past the time at which random search is expected to be done there is nothing left to be better
 * at, and what rounding leaves there is not divided by. */
static void test_budget_past_the_baseline(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, CONFIGS);
    for (int i = 0; i < CONFIGS; i++) {
        config[i] = recorded.config[i];
        config[i].time_ns = 1021171.4285714286 + 12345.678 * sqrt(i); /* no round numbers */
    }
    recorded.config = config;
    struct simulate_options options = options_of(20);
    options.budget_s = 234.5; /* of 99 that it takes to measure them all; not on whole counts */
    struct simulate_result result =
        run(&recorded, &options, "random", "draws=budget", arena).strategy[0];
    assert_true(fabs(result.score.value) < 100 && fabs(result.score_mean_rank) < 100);
    arena_destroy(arena);
}

/* Failures cost what they cost, are measured, and are never the answer. */
static void test_failures(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, true);
    struct simulate_options options = options_of(50);
    struct simulate_report report = run(&recorded, &options, "random", "draws=budget", arena);
    assert_int_equal(report.configs, 99);
    assert_int_equal(report.valid, 90);
    assert_true(report.strategy[0].mean_evals > 20);
    assert_true(isfinite(report.strategy[0].mean_excess));
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, CONFIGS);
    for (int i = 0; i < CONFIGS; i++)
        config[i] = (struct recorded_config){OUTCOME_COMPILE, INFINITY, 1, 0, 0, NULL};
    struct recorded none = {"none", recorded.space, config};
    struct simulate_entry entry = {"random", 0, NULL};
    assert_int_equal(simulate(&none, &options, 1, &entry, arena, &report), STAX_USAGE);
    assert_non_null(strstr(status_message(), "none of the 99"));
    arena_destroy(arena);
}

/* Fidelity pays for its samples and is told their median; the mean shows the outlier. */
static void test_samples(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(20);
    options.budget_s = 1e9;
    options.budget_launches = 297;
    struct simulate_result halving = run(&recorded, &options, "halving", NULL, arena).strategy[0];
    assert_true(fabs(halving.mean_evals - 81) < 1e-9);
    assert_true(fabs(halving.mean_launches - 297) < 1e-9);
    options.auto_samples = 7;
    options.budget_launches = 70;
    struct simulate_result median =
        run(&recorded, &options, "random", "draws=budget", arena).strategy[0];
    assert_true(fabs(median.mean_evals - 10) < 1e-9);
    assert_true(fabs(median.mean_launches - 70) < 1e-9);
    options.auto_mean = true;
    struct simulate_result mean =
        run(&recorded, &options, "random", "draws=budget", arena).strategy[0];
    assert_true(mean.mean_excess > median.mean_excess); /* misled by outliers */
    arena_destroy(arena);
}

static void test_threads_change_nothing(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, true);
    struct simulate_options options = options_of(30);
    struct simulate_result one = run(&recorded, &options, "auto", NULL, arena).strategy[0];
    options.threads = 5;
    struct simulate_result five = run(&recorded, &options, "auto", NULL, arena).strategy[0];
    assert_true(one.score.value == five.score.value && one.score.low == five.score.low);
    assert_true(one.mean_evals == five.mean_evals);
    assert_memory_equal(one.middle, five.middle, SIMULATE_POINTS * sizeof *one.middle);
    arena_destroy(arena);
}

static void test_json(void **state)
{
    static const char *const numbers[] = {"score",       "hit_target",    "within_1pct",
                                          "within_5pct", "evals_to_1pct", "seconds_to_1pct"};
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(10);
    const char *rank = "order=rank";
    struct simulate_entry entry[] = {{"exhaustive", 1, &rank}, {"random", 0, NULL}};
    struct simulate_report report;
    assert_int_equal(simulate(&recorded, &options, 2, entry, arena, &report), STAX_OK);
    json_error_t error;
    json_t *json = json_loads(simulate_json(&report, arena), 0, &error);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "space")), "made");
    assert_int_equal(json_integer_value(json_object_get(json, "valid")), 99);
    assert_int_equal(json_integer_value(json_object_get(json, "repeats")), 10);
    assert_true(json_number_value(json_object_get(json, "optimum")) == 1e6);
    assert_true(json_number_value(json_object_get(json, "budget_s")) == 24);
    json_t *strategies = json_object_get(json, "strategies");
    assert_int_equal(json_array_size(strategies), 2);
    json_t *first = json_array_get(strategies, 0);
    for (size_t i = 0; i < STAX_COUNT(numbers); i++)
        assert_true(json_is_number(json_object_get(first, numbers[i])));
    assert_int_equal(json_array_size(json_object_get(first, "score_ci")), 2);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "exhaustive:order=rank");
    json_decref(json);
    assert_non_null(strstr(simulate_table(&report, arena), "exhaustive:order=rank"));
    arena_destroy(arena);
}

static void test_bad_requests(void **state)
{
    struct arena *arena = arena_create();
    struct recorded recorded = made(arena, true, false);
    struct simulate_options options = options_of(10);
    struct simulate_report report;
    const char *setting = "order=sideways";
    struct simulate_entry unknown = {"nosuch", 0, NULL}, bad = {"exhaustive", 1, &setting};
    assert_int_equal(simulate(&recorded, &options, 1, &unknown, arena, &report), STAX_USAGE);
    assert_non_null(strstr(status_message(), "nosuch"));
    assert_int_equal(simulate(&recorded, &options, 1, &bad, arena, &report), STAX_USAGE);
    assert_non_null(strstr(status_message(), "random|rank"));
    options.repeats = 0;
    assert_int_equal(simulate(&recorded, &options, 1, &unknown, arena, &report), STAX_USAGE);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_seconds_include_compiling),
        cmocka_unit_test(test_best_and_worst_order),
        cmocka_unit_test(test_random_search_scores_about_nothing),
        cmocka_unit_test(test_budget_past_the_baseline),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
