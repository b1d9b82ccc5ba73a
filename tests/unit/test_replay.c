/* Recorded enumerations as a device: our own files, their spaces, noise replay. Other tuners'
 * files: test_import. */
#include "tests/unit/db_random.h"

#include <unistd.h>

#include "results/db.h"

struct made {
    struct arena *arena;
    const char *folder, *path;
    struct space *space;
    struct run_info info;
};

static struct made make(void)
{
    struct made made = {.arena = arena_create()};
    made.folder = folder_make(made.arena);
    made.path = arena_printf(made.arena, "%s/results.h5", made.folder);
    made.space = random_space(made.arena);
    made.info = random_info(made.space, made.arena);
    return made;
}

static void unmake(struct made *made)
{
    folder_remove(made->folder);
    arena_destroy(made->arena);
}

/* Records configurations first, first + step, ... with `samples` samples that name them; every
 * fifth fails. */
static void record(struct made *made, const char *strategy, uint64_t first, uint64_t step,
                   int samples, bool complete)
{
    struct db *db;
    struct run *run;
    OK(db_open(made->path, true, made->arena, &db));
    made->info.strategy = strategy;
    OK(run_begin(db, &made->info, made->arena, &run));
    for (uint64_t config = first; config < space_count(made->space); config += step) {
        struct trial trial = {.outcome = OUTCOME_OK,
                              .message = "",
                              .log = "",
                              .timer = TIMER_CUPTI,
                              .samples = samples,
                              .measure_s = 0.5,
                              .compile = {.seconds = 0.25, .registers = (int)config}};
        trial.span_ns = ARENA_ARRAY(made->arena, double, samples);
        trial.sum_ns = ARENA_ARRAY(made->arena, double, samples);
        for (int i = 0; i < samples; i++) {
            trial.span_ns[i] = 1000.0 * (double)(config + 1) + i;
            trial.sum_ns[i] = trial.span_ns[i] - 1;
        }
        if (config % 5 == 4) {
            trial.outcome = OUTCOME_RESOURCE;
            trial.message = "too much";
            trial.samples = 0;
        }
        OK(run_trial(run, config, job_number(config), samples, &trial));
    }
    struct run_result result = {.complete = complete};
    OK(run_end(run, &result));
    db_close(db);
}

static void test_whole_space(void **state)
{
    struct made made = make();
    record(&made, "exhaustive", 0, 1, 7, true);
    record(&made, "random", 0, 3, 9, true); /* later and of more samples, and still not asked */
    struct replay *replay;
    OK(replay_open(made.path, made.arena, &replay));
    assert_string_equal(replay_kernel(replay), made.info.problem);
    assert_string_equal(replay_device(replay)->name, "Test GPU");
    assert_int_equal(replay_device(replay)->processors, 132);
    const struct space *space = replay_space(replay);
    assert_int_equal(space_count(space), space_count(made.space));
    for (uint64_t config = 0; config < space_count(made.space); config++) {
        struct hash128 hash = space_config_hash(made.space, config);
        struct trial trial;
        OK(replay_trial(replay, &hash, FIDELITY_AUTO, 0, made.arena, &trial));
        if (config % 5 == 4) {
            assert_int_equal(trial.outcome, OUTCOME_RESOURCE);
            assert_string_equal(trial.message, "too much");
            assert_int_equal(trial.samples, 0);
            continue;
        }
        assert_int_equal(trial.samples, 7);
        assert_true(trial.span_ns[6] == 1000.0 * (double)(config + 1) + 6);
        assert_true(trial.measure_s == 0.5 && trial.compile.seconds == 0.25);
        assert_int_equal(trial.compile.registers, config);
        assert_int_equal(trial.timer, TIMER_RECORDED);
    }
    struct hash128 unknown = job_number(1);
    struct trial trial;
    assert_int_equal(replay_trial(replay, &unknown, 1, 0, made.arena, &trial), STAX_NOTFOUND);
    unmake(&made);
}

/* Repeat k at fidelity f starts at sample (k f) mod n and goes round. */
static void test_noise(void **state)
{
    struct made made = make();
    record(&made, "exhaustive", 0, 1, 7, true);
    struct replay *replay;
    OK(replay_open(made.path, made.arena, &replay));
    struct hash128 hash = space_config_hash(made.space, 0);
    const struct {
        int fidelity;
        uint64_t repeat;
        int samples, first, last;
    } cases[] = {
        {1, 0, 1, 0, 0},
        {1, 1, 1, 1, 1},
        {1, 8, 1, 1, 1},
        {3, 0, 3, 0, 2},
        {3, 1, 3, 3, 5},
        {3, 2, 3, 6, 1},
        {7, 3, 7, 0, 6},
        {9, 0, 9, 0, 1},
        {9, 1, 9, 2, 3},
        {0, 5, 7, 0, 6},
        {1, UINT64_MAX, 1, UINT64_MAX % 7, UINT64_MAX % 7},
    };
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct trial trial;
        OK(replay_trial(replay, &hash, cases[i].fidelity, cases[i].repeat, made.arena, &trial));
        assert_int_equal(trial.samples, cases[i].samples);
        assert_true(trial.span_ns[0] == 1000 + cases[i].first);
        assert_true(trial.span_ns[trial.samples - 1] == 1000 + cases[i].last);
        assert_true(trial.sum_ns[0] == trial.span_ns[0] - 1);
    }
    unmake(&made);
}

/* Without a complete enumeration: the union of the runs that asked the same, the richest trial of
 * each. */
static void test_union_of_runs(void **state)
{
    struct made made = make();
    record(&made, "random", 0, 3, 4, true);
    record(&made, "random", 1, 3, 9, true);
    record(&made, "random", 0, 6, 6, true);
    made.info.protocol = "another protocol";
    struct device_info other = *made.info.device;
    record(&made, "random", 2, 3, 50, true);
    made.info.protocol = "warm=25ms n=200";
    other.uuid = "GPU-other";
    made.info.device = &other;
    record(&made, "random", 2, 3, 50, true);
    made.info.device = random_device(made.arena);
    record(&made, "random", 0, 60, 1, false); /* the last run says which question */
    struct replay *replay;
    OK(replay_open(made.path, made.arena, &replay));
    uint64_t want = 0;
    for (uint64_t config = 0; config < space_count(made.space); config++) {
        struct hash128 hash = space_config_hash(made.space, config);
        struct trial trial;
        enum stax_status status = replay_trial(replay, &hash, FIDELITY_AUTO, 0, made.arena, &trial);
        assert_int_equal(status, config % 3 == 2 ? STAX_NOTFOUND : STAX_OK);
        want += config % 3 != 2;
        if (status != STAX_OK || config % 5 == 4) continue;
        assert_int_equal(trial.samples, config % 3 == 1 ? 9 : config % 6 == 0 ? 6 : 4);
    }
    assert_int_equal(space_count(replay_space(replay)), want);
    unmake(&made);
}

static void test_nothing_recorded(void **state)
{
    struct made made = make();
    struct db *db;
    struct replay *replay;
    OK(db_open(made.path, true, made.arena, &db));
    db_close(db);
    assert_int_equal(replay_open(made.path, made.arena, &replay), STAX_USAGE);
    assert_non_null(strstr(status_message(), "holds no trials"));
    assert_non_null(strstr(status_message(), made.path));
    assert_int_not_equal(
        replay_open(arena_printf(made.arena, "%s/absent", made.folder), made.arena, &replay),
        STAX_OK);
    assert_non_null(strstr(status_message(), "absent"));
    unmake(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_space),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_union_of_runs),
        cmocka_unit_test(test_nothing_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
