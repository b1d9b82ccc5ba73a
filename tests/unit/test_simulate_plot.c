/* Simulations of recorded spaces: what a run answers, and the script of its picture. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "tuner/simulate.h"

#include <cmocka.h>

enum { CONFIGS = 40 };

/* Slow configurations with more samples than fast ones, as a stopping rule takes them. */
static struct recorded recorded_space(struct arena *arena, const char *name)
{
    static const char *const texts[] = {"a", "b"};
    int64_t values[CONFIGS / 2];
    for (int i = 0; i < CONFIGS / 2; i++) values[i] = i + 1;
    struct space *space = space_create(name, arena);
    assert_int_equal(space_add_ints(space, "X", values, CONFIGS / 2), STAX_OK);
    assert_int_equal(space_add_texts(space, "FORM", texts, 2), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, CONFIGS);
    for (int i = 0; i < CONFIGS; i++) {
        int samples = 5 + (i * 7) % CONFIGS;
        double *sample = ARENA_ARRAY(arena, double, samples);
        for (int s = 0; s < samples; s++) sample[s] = 1000 + 100 * samples + s % 3 - 1;
        config[i] = (struct recorded_config){.outcome = OUTCOME_OK,
                                             .time_ns = 1000 + 100 * samples,
                                             .compile_s = 1,
                                             .run_s = 0.5,
                                             .samples = samples,
                                             .sample_ns = sample};
    }
    return (struct recorded){.name = name, .space = space, .config = config};
}

static struct simulate_report simulated(struct arena *arena, const char *name, int entries,
                                        const struct simulate_entry *entry)
{
    struct recorded recorded = recorded_space(arena, name);
    const struct simulate_options options = {.repeats = 20,
                                             .seed = 1,
                                             .cutoff = 0.95,
                                             .start = 0.01,
                                             .budget_s = 1000,
                                             .budget_configs = UINT64_MAX,
                                             .quantile = 0.05,
                                             .confidence = 0.95,
                                             .threads = 1};
    struct simulate_report report;
    if (simulate(&recorded, &options, entries, entry, arena, &report) != STAX_OK)
        fail_msg("%s", status_message());
    return report;
}

/* The recorded time is what counts, however many samples are behind it: best so far never gets
 * worse, and who has seen all answers the best. */
static void test_best_of_all(void **state)
{
    struct arena *arena = arena_create();
    const struct simulate_entry entry = {.strategy = "exhaustive"};
    struct simulate_report report = simulated(arena, "space", 1, &entry);
    const struct simulate_result *result = &report.strategy[0];
    assert_true(result->within_1pct.value == 1);
    for (int i = 1; i < SIMULATE_POINTS; i++) {
        assert_true(result->middle[i] <= result->middle[i - 1]);
        assert_true(result->low[i] <= result->middle[i] && result->middle[i] <= result->high[i]);
    }
    assert_true(result->middle[SIMULATE_POINTS - 1] == report.optimum_ns);
    arena_destroy(arena);
}

static void test_script(void **state)
{
    struct arena *arena = arena_create();
    const struct simulate_entry entry[] = {{.strategy = "exhaustive"}, {.strategy = "random"}};
    struct simulate_report report = simulated(arena, "dir/it's `date` _x", 2, entry);
    struct text script = text_make(arena);
    assert_int_equal(simulate_plot(&report, "out/p'.svg", arena, &script), STAX_OK);
    const char *text = text_string(&script);
    assert_null(strchr(text, '"')); /* in double quotes gnuplot runs what backticks hold */
    assert_non_null(strstr(text, "set title 'it''s `date` _x: best configuration so far, 20 "
                                 "simulated runs of each strategy' noenhanced"));
    assert_non_null(strstr(text, "output_name = 'p''.svg'"));
    assert_non_null(strstr(text, "set terminal svg "));
    assert_non_null(strstr(text, "title 'exhaustive, score "));
    assert_non_null(strstr(text, "title 'random, score "));
    assert_non_null(strstr(text, "$s1 << EOD\n"));
    assert_non_null(strstr(text, "time of one call (µs)"));
    assert_non_null(strstr(text, "title 'optimum, "));
    const char *again = arena_text(arena, text);
    script = text_make(arena);
    assert_int_equal(simulate_plot(&report, "out/p'.svg", arena, &script), STAX_OK);
    assert_string_equal(text_string(&script), again);
    assert_int_equal(simulate_plot(&report, "p.jpg", arena, &script), STAX_USAGE);
    assert_non_null(strstr(status_message(), "FILE.svg or FILE.png"));
    arena_destroy(arena);
}

/* No tuning time: one line that says what to do. A picture that begins at no time at all is linear.
 */
static void test_no_budget(void **state)
{
    struct arena *arena = arena_create();
    const struct simulate_entry entry = {.strategy = "exhaustive"};
    struct simulate_report report = simulated(arena, "space", 1, &entry);
    struct text script = text_make(arena);
    report.time_s[0] = 0;
    report.strategy[0].score.value = NAN;
    assert_int_equal(simulate_plot(&report, "p.svg", arena, &script), STAX_OK);
    assert_null(strstr(text_string(&script), "logscale x"));
    assert_null(strstr(text_string(&script), "score nan"));
    for (int i = 0; i < SIMULATE_POINTS; i++) report.time_s[i] = 0;
    assert_int_equal(simulate_plot(&report, "p.svg", arena, &script), STAX_USAGE);
    assert_non_null(strstr(status_message(), "give one with --budget"));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_of_all),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_no_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
