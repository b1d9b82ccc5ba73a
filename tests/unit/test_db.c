/* The database: what goes in comes out, stored answers are found, live and dead runs are seen,
 * nothing is lost. */
#include "tests/unit/db_random.h"

#include <dirent.h>
#include <unistd.h>

#include "results/db.h"

enum { RUNS = 3, TRIALS = 40 };

struct recorded {
    uint64_t config[TRIALS];
    struct hash128 job[TRIALS];
    int fidelity[TRIALS];
    struct trial trial[TRIALS];
};

static struct recorded *record(struct run *run, const struct space *space, uint64_t seed, int count,
                               struct arena *arena)
{
    struct recorded *kept = ARENA_NEW(arena, struct recorded);
    struct rng rng = rng_make(seed, 3);
    for (int i = 0; i < count; i++) {
        kept->config[i] = space_sample(space, &rng);
        kept->job[i] = job_number(seed * 1000 + (uint64_t)i);
        kept->trial[i] = random_trial(&rng, arena);
        kept->fidelity[i] = rng_below(&rng, 2) ? kept->trial[i].samples : FIDELITY_AUTO;
        OK(run_start(run, kept->config[i], kept->job[i]));
        OK(run_trial(run, kept->config[i], kept->job[i], kept->fidelity[i], &kept->trial[i]));
    }
    return kept;
}

static int journals_left(const char *folder)
{
    int count = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open_folder));)
        count += strstr(entry->d_name, ".journal.") != NULL;
    closedir(open_folder);
    return count;
}

static void assert_recorded(struct db *db, uint64_t run, const struct space *space,
                            const struct recorded *kept, int count, struct arena *arena)
{
    struct stored_trial *trials;
    uint64_t got;
    OK(db_trials(db, run, arena, &trials, &got));
    assert_int_equal(got, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(trials[i].run, run);
        assert_int_equal(trials[i].fidelity, kept->fidelity[i]);
        assert_true(hash128_equal(trials[i].config, space_config_hash(space, kept->config[i])));
        assert_string_equal(trials[i].config_text,
                            space_config_text(space, kept->config[i], arena));
        assert_trial_equal(&trials[i].trial, &kept->trial[i]);
    }
}

static void assert_device_equal(const struct device_info *stored, const struct device_info *want,
                                struct arena *arena)
{
    struct text a = text_make(arena), b = text_make(arena);
    device_info_put(&a, stored);
    device_info_put(&b, want);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.bytes, b.bytes, a.length);
}

static void assert_same_space(const struct space *stored, const struct space *want)
{
    assert_string_equal(space_name(stored), space_name(want));
    assert_int_equal(space_count(stored), space_count(want));
    for (uint64_t i = 0; i < space_count(want); i++) {
        assert_true(hash128_equal(space_config_hash(stored, i), space_config_hash(want, i)));
    }
    for (int i = 0; i < space_params(want); i++) {
        assert_int_equal(space_param(stored, i)->ordered, space_param(want, i)->ordered);
    }
}

static void test_round_trip(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/deep/er/results.h5", folder);
    struct space *space = random_space(arena);
    struct run_info info = random_info(space, arena);
    struct recorded *kept[RUNS];
    struct db *db;
    for (int i = 0; i < RUNS; i++) {
        struct run *run;
        OK(db_open(path, true, arena, &db));
        info.seed = (uint64_t)i;
        info.started_unix_ns = 1000 + i;
        OK(run_begin(db, &info, arena, &run));
        kept[i] = record(run, space, (uint64_t)i, TRIALS - i, arena);
        OK(run_pair(run, kept[i]->config[0], kept[i]->config[1], 30, 1.01, 1.005, 1.02));
        struct run_result result = {.complete = true,
                                    .has_best = true,
                                    .best_config = space_config_hash(space, 3),
                                    .best_text = space_config_text(space, 3, arena),
                                    .best_ns = 2615.5 + i,
                                    .best_low_ns = 2600,
                                    .best_high_ns = 2630,
                                    .default_ns = 3000,
                                    .elapsed_s = 12.5,
                                    .claim = "best of 5"};
        OK(run_end(run, &result));
        assert_int_equal(journals_left(arena_printf(arena, "%s/deep/er", folder)), 0);
        db_close(db);
    }
    OK(db_open(path, false, arena, &db));
    struct stored_run *runs;
    uint64_t count;
    OK(db_runs(db, arena, &runs, &count));
    assert_int_equal(count, RUNS);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(runs[i].id, i);
        assert_string_equal(runs[i].result.claim, "best of 5");
        assert_false(runs[i].live);
        assert_int_equal(runs[i].trials, TRIALS - i);
        assert_string_equal(runs[i].info.kernel, info.kernel);
        assert_string_equal(runs[i].info.problem, info.problem);
        assert_string_equal(runs[i].info.source, info.source);
        assert_string_equal(runs[i].info.protocol, info.protocol);
        assert_string_equal(runs[i].info.key, info.key);
        assert_int_equal(runs[i].info.seed, i);
        assert_int_equal(runs[i].info.started_unix_ns, 1000 + i);
        assert_true(runs[i].info.bytes == info.bytes && runs[i].info.flop == info.flop);
        assert_true(hash128_equal(runs[i].info.source_hash, info.source_hash));
        assert_device_equal(runs[i].info.device, info.device, arena);
        assert_true(runs[i].result.complete && runs[i].result.has_best);
        assert_true(runs[i].result.best_ns == 2615.5 + i && runs[i].result.elapsed_s == 12.5);
        assert_string_equal(runs[i].result.best_text, space_config_text(space, 3, arena));
        assert_recorded(db, (uint64_t)i, space, kept[i], TRIALS - i, arena);
        struct space *again;
        OK(db_space(db, (uint64_t)i, arena, &again));
        assert_same_space(again, space);
    }
    struct stored_trial *all;
    OK(db_trials(db, UINT64_MAX, arena, &all, &count));
    assert_int_equal(count, TRIALS + TRIALS - 1 + TRIALS - 2);
    assert_int_equal(db_trials(db, 17, arena, &all, &count), STAX_NOTFOUND);
    db_close(db);
    /* a kernel, a space and a text are stored once */
    struct h5file *file;
    OK(h5_open(path, false, 0, &file));
    assert_int_equal(file->rows[TABLE_runs], RUNS);
    assert_int_equal(file->rows[TABLE_kernels], 1);
    assert_int_equal(file->rows[TABLE_params], space_params(space));
    assert_int_equal(file->rows[TABLE_pairs], RUNS);
    assert_true(file->rows[TABLE_texts] < 100);
    OK(h5_close(file));
    folder_remove(folder);
    arena_destroy(arena);
}

struct query {
    struct db *db;
    struct device_info device;
    const char *protocol;
    uint64_t seed;
    struct arena *arena;
};

static bool find(struct query *query, uint64_t job, int fidelity, struct trial *trial)
{
    bool found;
    OK(db_find_trial(query->db, job_number(job), &query->device, query->protocol, query->seed,
                     fidelity, query->arena, trial, &found));
    return found;
}

static struct trial timed(int samples, double first, struct arena *arena)
{
    struct trial trial = {.outcome = OUTCOME_OK, .message = "", .log = "", .samples = samples};
    trial.span_ns = ARENA_ARRAY(arena, double, samples);
    trial.sum_ns = ARENA_ARRAY(arena, double, samples);
    for (int i = 0; i < samples; i++) trial.span_ns[i] = trial.sum_ns[i] = first + i;
    return trial;
}

static void assert_reuse(struct query *query)
{
    struct trial trial;
    assert_false(find(query, 99, 0, &trial));
    assert_true(find(query, 1, 3, &trial));
    assert_int_equal(trial.samples, 9); /* the newest that is enough */
    assert_true(trial.span_ns[8] == 208);
    assert_true(find(query, 1, 9, &trial));
    assert_true(find(query, 1, 27, &trial));
    assert_int_equal(trial.samples, 27);
    assert_true(find(query, 1, 28, &trial)); /* no trial alone has as many: all together */
    assert_int_equal(trial.samples, 36);
    assert_true(find(query, 1, 100, &trial)); /* what there is; the rest is to be measured */
    assert_int_equal(trial.samples, 36);
    assert_false(find(query, 1, FIDELITY_AUTO, &trial)); /* none was left to the stopping rule */
    assert_true(find(query, 2, FIDELITY_AUTO, &trial));
    assert_true(find(query, 2, 5, &trial));
    assert_true(find(query, 3, 81, &trial)); /* what does not compile does not at any fidelity */
    assert_int_equal(trial.outcome, OUTCOME_COMPILE);
    assert_string_equal(trial.message, "no");
    assert_false(find(query, 4, 1, &trial)); /* a timeout may end otherwise */
    struct query other = *query;
    other.device.driver = "581.0";
    assert_false(find(&other, 1, 3, &trial));
    other = *query;
    other.device.uuid = "GPU-9999";
    assert_false(find(&other, 1, 3, &trial));
    other = *query;
    other.protocol = "other";
    assert_false(find(&other, 1, 3, &trial));
    other = *query;
    other.seed = 8;
    assert_false(find(&other, 1, 3, &trial));
}

static void test_reuse(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    struct space *space = random_space(arena);
    struct run_info info = random_info(space, arena);
    struct db *db, *second;
    struct run *run;
    OK(db_open(path, true, arena, &db));
    OK(run_begin(db, &info, arena, &run));
    struct trial many = timed(27, 100, arena), some = timed(9, 200, arena),
                 automatic = timed(12, 300, arena);
    struct trial refused = {.outcome = OUTCOME_COMPILE, .message = "no", .log = "why"};
    struct trial hung = {.outcome = OUTCOME_TIMEOUT, .message = "", .log = ""};
    OK(run_trial(run, 1, job_number(1), 27, &many));
    OK(run_trial(run, 1, job_number(1), 9, &some));
    OK(run_trial(run, 2, job_number(2), FIDELITY_AUTO, &automatic));
    OK(run_trial(run, 3, job_number(3), FIDELITY_AUTO, &refused));
    OK(run_trial(run, 4, job_number(4), 1, &hung));
    struct query query = {db, *info.device, info.protocol, info.seed, arena};
    assert_reuse(&query); /* what this process measured */
    OK(db_open(path, false, arena, &second));
    query.db = second;
    assert_reuse(&query); /* from another's live journal */
    db_close(second);
    struct run_result result = {.complete = false, .best_ns = 5};
    bool found;
    OK(run_end(run, &result));
    query.db = db;
    assert_reuse(&query);
    OK(db_find_run(db, "key", arena, &result, &found));
    assert_false(found); /* it was interrupted */
    OK(run_begin(db, &info, arena, &run));
    result = (struct run_result){.complete = true, .best_ns = 6, .best_text = "A=1"};
    OK(run_end(run, &result));
    db_close(db);
    OK(db_open(path, false, arena, &db));
    query.db = db;
    assert_reuse(&query); /* from the file */
    OK(db_find_run(db, "key", arena, &result, &found));
    assert_true(found && result.best_ns == 6);
    assert_string_equal(result.best_text, "A=1");
    OK(db_find_run(db, "other key", arena, &result, &found));
    assert_false(found);
    db_close(db);
    folder_remove(folder);
    arena_destroy(arena);
}

static void test_live_and_dead(void **state)
{
    struct arena *arena = arena_create(), *dying = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    struct space *space = random_space(arena);
    struct run_info info = random_info(space, arena);
    struct db *db, *reader;
    struct run *run;
    OK(db_open(path, true, dying, &db));
    OK(run_begin(db, &info, dying, &run));
    struct recorded *kept = record(run, space, 5, 10, arena);
    struct stored_run *runs;
    uint64_t count;
    OK(db_open(path, false, arena, &reader));
    OK(db_runs(reader, arena, &runs, &count));
    assert_int_equal(count, 1);
    assert_true(runs[0].live);
    assert_false(runs[0].result.complete);
    assert_recorded(reader, 0, space, kept, 10, arena);
    assert_int_equal(journals_left(folder), 1);
    OK(run_start(run, kept->config[0], job_number(77))); /* and here its process dies */
    arena_destroy(dying);
    assert_recorded(reader, 0, space, kept, 10, arena); /* dead, not folded yet */
    struct db *next;
    OK(db_open(path, false, arena, &next));
    assert_int_equal(journals_left(folder), 0);
    assert_recorded(reader, 0, space, kept, 10, arena); /* its number still means it */
    OK(db_runs(next, arena, &runs, &count));
    assert_int_equal(count, 1);
    assert_false(runs[0].live || runs[0].result.complete);
    assert_true(isnan(runs[0].result.best_ns));
    struct view view;
    struct batch batch;
    OK(view_open(next, &view));
    OK(view_run(&view, 0, arena, &batch));
    assert_string_equal(BATCH_ROWS(&batch, runs)->unfinished,
                        space_config_text(space, kept->config[0], arena));
    view_close(&view);
    db_close(next);
    db_close(reader);
    folder_remove(folder);
    arena_destroy(arena);
}

static void test_many_trials(void **state)
{
    enum { MANY = 20000 };
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    struct space *space = random_space(arena);
    struct run_info info = random_info(space, arena);
    struct db *db;
    struct run *run;
    OK(db_open(path, true, arena, &db));
    OK(run_begin(db, &info, arena, &run));
    for (int i = 0; i < MANY; i++) {
        struct trial trial = {.outcome = OUTCOME_OK,
                              .message = "",
                              .log = "",
                              .samples = 1,
                              .span_ns = &(double){i},
                              .sum_ns = &(double){i}};
        OK(run_trial(run, 0, job_number((uint64_t)i), 1, &trial));
    }
    struct run_result result = {.complete = true};
    OK(run_end(run, &result));
    db_close(db);
    OK(db_open(path, false, arena, &db));
    struct query query = {db, *info.device, info.protocol, info.seed, arena};
    for (uint64_t i = 0; i < MANY; i += 997) {
        struct trial trial;
        assert_true(find(&query, i, 1, &trial));
        assert_true(trial.span_ns[0] == (double)i);
    }
    db_close(db);
    folder_remove(folder);
    arena_destroy(arena);
}

static void test_csv(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    const int64_t sizes[] = {16, 32};
    const char *const words[] = {"a,b", "say \"c\""};
    struct space *space = space_create("s", arena);
    OK(space_add_ints(space, "BLOCK", sizes, 2));
    OK(space_add_texts(space, "outcome", words, 2));
    OK(space_finish(space));
    struct run_info info = random_info(space, arena);
    struct db *db;
    struct run *run;
    OK(db_open(path, true, arena, &db));
    OK(run_begin(db, &info, arena, &run));
    uint64_t config;
    OK(space_parse_config(space, "BLOCK=32,outcome=say \"c\"", 0, &config));
    struct trial trial = timed(3, 100, arena);
    trial.temperature_c = NAN;
    OK(run_trial(run, config, job_number(1), 3, &trial));
    const char *csv;
    OK(db_csv(db, 0, arena, &csv));
    assert_ptr_equal(
        strstr(csv, "run,kernel,problem,device,strategy,seed,BLOCK,param_outcome,config_hash,"),
        csv);
    assert_non_null(strstr(
        csv,
        "\n0,red_fused,\"red_fused(x: f32[64,16384])\",Test GPU,random,7,32,\"say \"\"c\"\"\","));
    assert_non_null(strstr(csv, ",search,ok,cupti,cold,101,"));
    int head = 0, row = 0;
    const char *line = strchr(csv, '\n');
    for (const char *c = csv; c < line; c++) head += *c == ',';
    for (const char *c = line + 1; *c; c++) row += *c == ',';
    assert_int_equal(row, head + 1); /* one comma is inside the problem's quotes */
    db_close(db);
    folder_remove(folder);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_live_and_dead), cmocka_unit_test(test_many_trials),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
