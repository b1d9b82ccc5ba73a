/* Stopping early on recorded spaces: with stop_within s, how often auto ends within s of the
 * enumerated optimum, and after how many measurements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/recorded.h"

struct ending {
    double inside, evals; /* share of runs within the share of the optimum; mean */
};

/* Runs of auto that may measure the whole space but stop. */
static struct ending stopped_runs(const struct recorded *recorded, int repeats, double share,
                                  struct arena *arena)
{
    char setting[32];
    snprintf(setting, sizeof setting, "stop_within=%g", share);
    const char *const settings = setting;
    struct simulate_entry entry = {"auto", 1, &settings};
    struct simulate_options options = {.repeats = repeats,
                                       .seed = 1,
                                       .cutoff = 0.95,
                                       .start = 0.01,
                                       .budget_configs = space_count(recorded->space),
                                       .quantile = 0.05,
                                       .confidence = 0.95};
    struct simulate_report report;
    assert_int_equal(simulate(recorded, &options, 1, &entry, arena, &report), STAX_OK);
    const struct simulate_result *result = &report.strategy[0];
    struct ending ending = {share == 0.01 ? result->within_1pct.value : result->within_5pct.value,
                            result->mean_evals};
    print_message("%s, within %g %%: %.2f of %d runs, %.0f of %llu measured\n", recorded->name,
                  100 * share, ending.inside, repeats, ending.evals,
                  (unsigned long long)report.configs);
    return ending;
}

static void test_on_our_kernels(void **state)
{
    static const char *const kernel[] = {"red_fused", "softmax", "per_fused", "layer_norm"};
    for (size_t k = 0; k < STAX_COUNT(kernel); k++) {
        struct arena *arena = arena_create();
        struct recorded recorded = recorded_ours(kernel[k], arena);
        double size = (double)space_count(recorded.space);
        struct ending one = stopped_runs(&recorded, 60, 0.01, arena);
        struct ending five = stopped_runs(&recorded, 60, 0.05, arena);
        assert_true(one.inside >= 0.9 && five.inside >= 0.9);
        assert_true(one.evals < size / 2 && five.evals <= one.evals);
        arena_destroy(arena);
    }
}

static void test_on_published_spaces(void **state)
{
    /* least: what 100 runs gave (search/README.md) less about three standard errors of 12 */
    static const struct {
        const char *name;
        double least_1, least_5;
    } space[] = {{"convolution-A100", 0.6, 0.4},
                 {"convolution-A4000", 0.9, 0.9},
                 {"dedispersion-A100", 0.9, 0.9},
                 {"dedispersion-A4000", 0.9, 0.9}};
    if (!getenv("STAX_SPACES_DIR")) {
        print_message("skipped: STAX_SPACES_DIR does not say where the recorded spaces are\n");
        skip();
    }
    for (size_t k = 0; k < STAX_COUNT(space); k++) {
        struct arena *arena = arena_create();
        struct recorded recorded = recorded_published(space[k].name, false, arena);
        double size = (double)space_count(recorded.space);
        struct ending one = stopped_runs(&recorded, 12, 0.01, arena);
        struct ending five = stopped_runs(&recorded, 12, 0.05, arena);
        assert_true(one.inside >= space[k].least_1 && five.inside >= space[k].least_5);
        assert_true(one.evals < size / 8 && five.evals < one.evals);
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_our_kernels),
        cmocka_unit_test(test_on_published_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
