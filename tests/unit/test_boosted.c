/* The boosted learner: what it learns with the XGBoost of this machine, and what happens without
 * one, with a broken one (fake_xgboost.c), and in the middle of a search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/boosted.h"

enum { WIDTH = 5, ROWS = 400 };

static struct arena *arena;

static int set_up(void **state)
{
    unsetenv("STAX_XGBOOST");
    unsetenv("STAX_FAKE_XGBOOST");
    unsetenv("STAX_FAKE_AFTER");
    arena = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(arena);
    return 0;
}

/* A valley with an interaction and a switch, over small whole numbers as features are. */
static float known(const float *x)
{
    float bend = x[0] + x[1] - 7;
    return bend * bend + 3 * x[2] * (x[3] > 3) - x[0];
}

static void fill(int rows, uint64_t seed, float *x, float *y)
{
    struct rng rng = rng_make(seed, 1);
    for (int i = 0; i < rows; i++) {
        for (int f = 0; f < WIDTH; f++) x[i * WIDTH + f] = (float)rng_below(&rng, 8);
        y[i] = known(x + (size_t)i * WIDTH);
    }
}

static struct boosted *make(void)
{
    struct boosted *boosted = NULL;
    assert_int_equal(boosted_create(WIDTH, &boosted_defaults, arena, &boosted), STAX_OK);
    return boosted;
}

/* Share of pairs in the right order. */
static double agreement(int rows, const float *mean, const float *y)
{
    int right = 0, pairs = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < i; j++) {
            if (y[i] == y[j]) continue;
            pairs++;
            right += (y[i] < y[j]) == (mean[i] < mean[j]);
        }
    return (double)right / pairs;
}

/* ---- with the library ---- */

static void test_ranks_what_it_has_not_seen(void **state)
{
    static float x[2 * ROWS * WIDTH], y[2 * ROWS], mean[2 * ROWS], spread[2 * ROWS];
    fill(2 * ROWS, 3, x, y);
    struct rng rng = rng_make(1, 1);
    struct boosted *boosted = make();
    assert_int_equal(boosted_fit(boosted, ROWS, x, y, &rng), STAX_OK);
    assert_int_equal(boosted_predict(boosted, ROWS, x + ROWS * WIDTH, mean, spread), STAX_OK);
    double right = agreement(ROWS, mean, y + ROWS);
    if (!(right > 0.85)) print_error("%.3f of the pairs in order\n", right);
    assert_true(right > 0.85); /* 0.5 is a guess */
    float most = 0;
    for (int i = 0; i < ROWS; i++) {
        assert_true(spread[i] >= 0 && isfinite(spread[i]));
        most = fmaxf(most, spread[i]);
    }
    assert_true(most > 0); /* the boosters do not all say the same */
}

static void test_same_seed_same_predictions(void **state)
{
    static float x[ROWS * WIDTH], y[ROWS], mean[3][ROWS], spread[3][ROWS];
    fill(ROWS, 4, x, y);
    for (int k = 0; k < 3; k++) {
        struct rng rng = rng_make(k == 2 ? 8 : 7, 1);
        struct boosted *boosted = make();
        /* an older fit leaves nothing behind */
        if (k == 1) assert_int_equal(boosted_fit(boosted, 3, x, y, &(struct rng){5}), STAX_OK);
        assert_int_equal(boosted_fit(boosted, ROWS, x, y, &rng), STAX_OK);
        assert_int_equal(boosted_predict(boosted, ROWS, x, mean[k], spread[k]), STAX_OK);
    }
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(spread[0], spread[1], sizeof spread[0]);
    assert_memory_not_equal(mean[0], mean[2], sizeof mean[0]);
}

static void test_constant_targets(void **state)
{
    static float x[ROWS * WIDTH], y[ROWS], mean[ROWS], spread[ROWS];
    fill(ROWS, 5, x, y);
    for (int i = 0; i < ROWS; i++) y[i] = -1.25f;
    struct rng rng = rng_make(1, 1);
    struct boosted *boosted = make();
    assert_int_equal(boosted_fit(boosted, ROWS, x, y, &rng), STAX_OK);
    assert_int_equal(boosted_predict(boosted, ROWS, x, mean, spread), STAX_OK);
    for (int i = 0; i < ROWS; i++) {
        assert_float_equal(mean[i], -1.25f, 1e-6f);
        assert_float_equal(spread[i], 0, 1e-6f);
    }
}

static void test_one_row_and_two(void **state)
{
    static const float x[2 * WIDTH] = {1, 2, 3, 4, 5, 5, 4, 3, 2, 1}, y[2] = {-3, 4};
    float mean[2], spread[2];
    struct rng rng = rng_make(1, 1);
    struct boosted *boosted = make();
    assert_int_equal(boosted_fit(boosted, 1, x, y, &rng), STAX_OK);
    assert_int_equal(boosted_predict(boosted, 2, x, mean, spread), STAX_OK);
    for (int i = 0; i < 2; i++) assert_float_equal(mean[i], -3, 1e-6f);
    assert_int_equal(boosted_fit(boosted, 2, x, y, &rng), STAX_OK);
    assert_int_equal(boosted_predict(boosted, 2, x, mean, spread), STAX_OK);
    assert_true(mean[0] <= mean[1]);
    assert_int_equal(boosted_predict(boosted, 0, x, mean, spread), STAX_OK);
}

static void test_many_rows(void **state)
{
    enum { MANY = 20000 };
    float *x = ARENA_ARRAY(arena, float, MANY *WIDTH), *y = ARENA_ARRAY(arena, float, MANY);
    float *mean = ARENA_ARRAY(arena, float, MANY), *spread = ARENA_ARRAY(arena, float, MANY);
    fill(MANY, 6, x, y);
    struct rng rng = rng_make(1, 1);
    struct boosted *boosted = make();
    assert_int_equal(boosted_fit(boosted, MANY, x, y, &rng), STAX_OK);
    assert_int_equal(boosted_predict(boosted, MANY, x, mean, spread), STAX_OK);
    assert_true(agreement(ROWS, mean, y) > 0.8);
}

/* Simulations search in several threads, each with its own: they do not see each other. */
struct worker {
    pthread_t thread;
    const float *x, *y;
    float mean[ROWS], spread[ROWS];
    enum stax_status status;
};

static void *work(void *data)
{
    struct worker *worker = data;
    struct arena *own = arena_create();
    struct boosted *boosted;
    worker->status = boosted_create(WIDTH, &boosted_defaults, own, &boosted);
    for (int round = 0; round < 5 && worker->status == STAX_OK; round++) {
        struct rng rng = rng_make(3, 1);
        worker->status = boosted_fit(boosted, ROWS, worker->x, worker->y, &rng);
        if (worker->status == STAX_OK)
            worker->status = boosted_predict(boosted, ROWS, worker->x, worker->mean,
                                             worker->spread);
    }
    arena_destroy(own);
    return NULL;
}

static void test_threads_do_not_meet(void **state)
{
    enum { THREADS = 4 };
    static float x[ROWS * WIDTH], y[ROWS];
    static struct worker worker[THREADS];
    fill(ROWS, 4, x, y);
    for (int i = 0; i < THREADS; i++) {
        worker[i].x = x;
        worker[i].y = y;
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
        assert_int_equal(worker[i].status, STAX_OK);
        assert_memory_equal(worker[i].mean, worker[0].mean, sizeof worker[0].mean);
        assert_memory_equal(worker[i].spread, worker[0].spread, sizeof worker[0].spread);
    }
}

/* XGBoost's own refusal: an exception there, one line here. */
static void test_says_what_xgboost_says(void **state)
{
    static float x[ROWS * WIDTH], y[ROWS];
    fill(ROWS, 4, x, y);
    struct boosted_options options = boosted_defaults;
    struct boosted *boosted;
    struct rng rng = rng_make(1, 1);
    options.part = -1;
    assert_int_equal(boosted_create(WIDTH, &options, arena, &boosted), STAX_OK);
    assert_int_equal(boosted_fit(boosted, ROWS, x, y, &rng), STAX_INTERNAL);
    assert_non_null(strstr(status_message(), "subsample"));
    assert_null(strchr(status_message(), '\n'));
}

static void test_version_and_path(void **state)
{
    const char *version = boosted_version(arena);
    assert_non_null(version);
    assert_non_null(strstr(version, "XGBoost "));
    assert_non_null(strstr(version, "libxgboost"));
}

/* ---- without ---- */

static void no_boosted(const char *word)
{
    struct boosted *boosted = NULL;
    assert_int_equal(boosted_create(WIDTH, &boosted_defaults, arena, &boosted), STAX_UNSUPPORTED);
    if (!strstr(status_message(), word)) print_error("%s\n", status_message());
    assert_non_null(strstr(status_message(), word));
    assert_null(strchr(status_message(), '\n'));
    assert_null(boosted_version(arena));
}

static void fake(const char *mode, const char *after)
{
    const char *path = arena_printf(arena, "%s/fake_xgboost.so", getenv("STAX_TEST_DIR"));
    setenv("STAX_XGBOOST", path, 1);
    setenv("STAX_FAKE_XGBOOST", mode, 1);
    setenv("STAX_FAKE_AFTER", after, 1);
}

static void test_absent(void **state)
{
    setenv("STAX_XGBOOST", "none", 1);
    no_boosted("STAX_XGBOOST");
    setenv("STAX_XGBOOST", "/nowhere/libxgboost.so", 1);
    no_boosted("libxgboost0");
    setenv("STAX_XGBOOST", "/dev/null", 1);
    no_boosted("/dev/null");
    setenv("STAX_XGBOOST", "libm.so.6", 1); /* loads, and is something else */
    no_boosted("lacks XGBoostVersion");
    fake("old", "0");
    no_boosted("1.7");
}

static const struct space *grid(void)
{
    static const int64_t values[] = {1, 2, 4, 8, 16, 32, 64, 128};
    struct space *space = space_create("grid", arena);
    assert_int_equal(space_add_ints(space, "A", values, 8), STAX_OK);
    assert_int_equal(space_add_ints(space, "B", values, 8), STAX_OK);
    assert_int_equal(space_add_ints(space, "C", values, 8), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    return space;
}

static enum stax_status open_search(const char *strategy, const char *setting,
                                    struct search **search)
{
    struct search_problem problem = {
        .space = grid(), .seed = 1, .budget_configs = 100, .quantile = 0.05, .confidence = 0.95};
    return search_open(search_find(strategy), &problem, setting ? 1 : 0, &setting, arena, search);
}

static int run(struct search *search)
{
    int asked = 0;
    for (struct ask ask; search_ask(search, &ask, 1) == 1 && asked < 100; asked++) {
        int values[3];
        space_unrank(search->problem.space, ask.config, values);
        double time_ns = 100 + values[0] * values[1] + (values[2] - 3) * (values[2] - 3);
        struct trial trial = {.outcome = OUTCOME_OK,
                              .message = "",
                              .log = "",
                              .samples = 1,
                              .span_ns = &time_ns,
                              .sum_ns = &time_ns};
        search_tell(search, &ask, &trial);
    }
    return asked;
}

static void test_searches_without_it(void **state)
{
    static const char *const strategies[] = {"auto", "model"};
    setenv("STAX_XGBOOST", "none", 1);
    for (size_t i = 0; i < STAX_COUNT(strategies); i++) {
        struct search *search;
        assert_int_equal(open_search(strategies[i], "learner=xgboost", &search), STAX_USAGE);
        assert_non_null(strstr(status_message(), "learner=xgboost"));
        assert_int_equal(open_search(strategies[i], "learner=forest", &search), STAX_OK);
        assert_int_equal(run(search), 100);
        assert_null(strstr(search_claim(search, arena), "XGBoost"));
        assert_int_equal(open_search(strategies[i], NULL, &search), STAX_OK);
        assert_int_equal(run(search), 100);
        /* only `model` would have used it */
        bool said = strstr(search_claim(search, arena), "not by XGBoost") != NULL;
        assert_true(said == (strcmp(strategies[i], "model") == 0));
    }
}

/* ---- broken ---- */

/* Whatever call fails, and whenever: a status with XGBoost's words, and nothing is leaked. */
static void test_every_call_is_checked(void **state)
{
    static const char *const calls[] = {
        "XGBRegisterLogCallback", "XGDMatrixCreateFromMat", "XGDMatrixSetInfoFromInterface",
        "XGBoosterCreate",        "XGBoosterSetParam",      "XGBoosterUpdateOneIter",
    };
    static float x[ROWS * WIDTH], y[ROWS];
    fill(ROWS, 4, x, y);
    for (size_t i = 0; i < STAX_COUNT(calls); i++) {
        struct arena *own = arena_create();
        struct boosted *boosted;
        struct rng rng = rng_make(1, 1);
        fake(calls[i], "0");
        assert_int_equal(boosted_create(WIDTH, &boosted_defaults, own, &boosted), STAX_OK);
        assert_int_equal(boosted_fit(boosted, ROWS, x, y, &rng), STAX_INTERNAL);
        assert_string_equal(status_message(), "XGBoost: out of luck");
        void *library = dlopen(getenv("STAX_XGBOOST"), RTLD_NOW);
        int (*fake_live)(void);
        *(void **)&fake_live = dlsym(library, "fake_live");
        arena_destroy(own);
        assert_int_equal(fake_live(), 0);
        dlclose(library);
    }
}

/* A search in which it breaks goes on by the forest, and says so. */
static void test_breaks_in_a_search(void **state)
{
    static const char *const calls[][2] = {{"XGBoosterUpdateOneIter", "30"},
                                           {"XGBoosterPredictFromDense", "0"},
                                           {"", "0"}}; /* answers of a wrong shape */
    for (size_t i = 0; i < STAX_COUNT(calls); i++) {
        struct search *search;
        fake(calls[i][0], calls[i][1]);
        assert_int_equal(open_search("auto", "learner=xgboost", &search), STAX_OK);
        assert_int_equal(run(search), 100);
        assert_non_null(strstr(search_claim(search, arena), "forest in the end: XGBoost"));
    }
}

int main(void)
{
    const struct CMUnitTest always[] = {
        cmocka_unit_test_setup_teardown(test_searches_without_it, set_up, tear_down),
    };
    const struct CMUnitTest opened[] = {
        cmocka_unit_test_setup_teardown(test_absent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_breaks_in_a_search, set_up, tear_down),
    };
    const struct CMUnitTest present[] = {
        cmocka_unit_test_setup_teardown(test_ranks_what_it_has_not_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_seed_same_predictions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_constant_targets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_row_and_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_do_not_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_says_what_xgboost_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_version_and_path, set_up, tear_down),
    };
    int failed = cmocka_run_group_tests(always, NULL, NULL);
    set_up(NULL);
    bool there = boosted_version(arena) != NULL;
    bool built = there || !strstr(status_message(), "built without");
    if (!there) fprintf(stderr, "%s\n", status_message());
    tear_down(NULL);
    if (built) failed += cmocka_run_group_tests(opened, NULL, NULL);
    if (there) failed += cmocka_run_group_tests(present, NULL, NULL);
    return failed || there ? failed : 77;
}
