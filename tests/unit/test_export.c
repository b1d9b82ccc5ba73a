/* Other tuners' files out and in again: what comes back is what went out, number by number; through
 * the database too. */
#include "tests/unit/db_random.h"

#include "results/import_json.h"

struct made {
    struct arena *arena;
    const char *folder;
};

static struct made make(void)
{
    struct made made = {.arena = arena_create()};
    made.folder = folder_make(made.arena);
    return made;
}

static void unmake(struct made *made)
{
    folder_remove(made->folder);
    arena_destroy(made->arena);
}

static const char *put(struct made *made, const char *name, const char *text)
{
    const char *path = arena_printf(made->arena, "%s/%s", made->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    return path;
}

/* A recording of every configuration of a random space, every outcome, odd numbers (of
 * milliseconds, as readers of these formats get them), some texts. */
static struct recording *random_recording(struct arena *arena, uint64_t seed)
{
    struct rng rng = rng_make(seed, 1);
    struct recording *recording = ARENA_NEW(arena, struct recording);
    *recording = (struct recording){.format = "made",
                                    .device = "GPU \"x\", it's",
                                    .kernel = "k\\n",
                                    .problem = seed % 2 ? "64x16384" : "k(x: f32[64x, 3])",
                                    .objective = "time",
                                    .space = random_space(arena)};
    recording->rows = space_count(recording->space);
    recording->row = ARENA_ARRAY(arena, struct recording_row, recording->rows);
    for (uint64_t i = 0; i < recording->rows; i++) {
        struct recording_row *row = &recording->row[i];
        struct recording_metric *metric = ARENA_ARRAY(arena, struct recording_metric, 2);
        double *sample = ARENA_ARRAY(arena, double, 5);
        *row = (struct recording_row){
            .outcome = (enum outcome)(i % OUTCOME_COUNT),
            .message = "",
            .time_ns = INFINITY,
            .sample_ns = sample,
            .compile_s = rng_unit(&rng) * 900 / 1e3,
            .verify_s = i % 3 ? rng_unit(&rng) / 1e3 : 0,
            .benchmark_s = rng_unit(&rng) * 20 / 1e3,
            .framework_s = rng_unit(&rng) / 1e3,
            .strategy_s = i % 4 ? 0 : rng_unit(&rng) / 1e3,
            .time_unix_ns = i % 7 ? 1700000000000000000 + (int64_t)i * 1000 : 0,
            .metrics = (int)(i % 3),
            .metric = metric};
        row->overhead_s = row->framework_s + row->strategy_s;
        metric[0] = (struct recording_metric){"GFLOP/s", 1e3 * rng_unit(&rng)};
        metric[1] = (struct recording_metric){"power, \"W\"", -3};
        if (row->outcome == OUTCOME_OK) {
            row->samples = (int)(i % 5);
            for (int s = 0; s < row->samples; s++) sample[s] = rng_unit(&rng) * (s + 1) * 1e6;
            row->time_ns = rng_unit(&rng) * 10 * 1e6;
        } else if (i % 2) {
            row->message = "said \"no\", twice";
        }
    }
    return recording;
}

static void same_row(const struct recording_row *a, const struct recording_row *b)
{
    assert_int_equal(a->outcome, b->outcome);
    assert_true(a->time_ns == b->time_ns);
    assert_int_equal(a->samples, b->samples);
    for (int i = 0; i < a->samples; i++) assert_true(a->sample_ns[i] == b->sample_ns[i]);
    assert_true(a->compile_s == b->compile_s && a->verify_s == b->verify_s);
    assert_true(a->benchmark_s == b->benchmark_s && a->framework_s == b->framework_s);
    assert_true(a->strategy_s == b->strategy_s && a->overhead_s == b->overhead_s);
    assert_int_equal(a->time_unix_ns / 1000, b->time_unix_ns / 1000); /* to the microsecond */
    assert_int_equal(a->metrics, b->metrics);
    for (int i = 0; i < a->metrics; i++) {
        assert_string_equal(a->metric[i].name, b->metric[i].name);
        assert_true(a->metric[i].value == b->metric[i].value);
    }
}

static const struct recording_row *row_like(const struct recording *from, uint64_t config,
                                            const struct recording *to)
{
    uint64_t there;
    if (!space_translate(from->space, config, to->space, &there))
        fail_msg("a configuration is lost");
    assert_true(
        hash128_equal(space_config_hash(from->space, config), space_config_hash(to->space, there)));
    return &to->row[there];
}

static void same_table(const struct recording *a, const struct recording *b, bool messages)
{
    assert_int_equal(a->rows, b->rows);
    for (uint64_t i = 0; i < a->rows; i++) {
        const struct recording_row *other = row_like(a, i, b);
        same_row(&a->row[i], other);
        if (messages) assert_string_equal(a->row[i].message, other->message);
    }
}

static struct recording *read_back(const char *path, struct arena *arena)
{
    struct recording *recording;
    OK(import_recording(path, arena, &recording));
    assert_false(recording->cut_off);
    return recording;
}

/* A failure without a message comes back with its word as the message; then all is stable. */
static void name_failures(struct recording *recording)
{
    for (uint64_t i = 0; i < recording->rows; i++)
        if (recording->row[i].outcome != OUTCOME_OK && !recording->row[i].message[0])
            recording->row[i].message = "because";
}

static void test_cache(void **state)
{
    struct made made = make();
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct recording *sent = random_recording(made.arena, seed);
        name_failures(sent);
        const char *text = export_cache(sent, made.arena);
        assert_string_equal(text + strlen(text) - 4,
                            "}}\n}"); /* how Kernel Tuner knows it closed */
        struct recording *back = read_back(put(&made, "c.json", text), made.arena);
        assert_string_equal(back->format, "Kernel Tuner cache");
        assert_string_equal(back->device, sent->device);
        assert_string_equal(back->kernel, sent->kernel);
        assert_string_equal(back->problem, sent->problem);
        same_table(sent, back, true);
    }
    unmake(&made);
}

static void test_t4(void **state)
{
    struct made made = make();
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct recording *sent = random_recording(made.arena, seed);
        name_failures(sent);
        const char *text = export_t4(sent, made.arena);
        struct recording *back = read_back(put(&made, "t4.json", text), made.arena);
        assert_string_equal(back->format, "T4");
        same_table(sent, back, true);
    }
    unmake(&made);
}

/* The words of the formats, with nothing beside them where they say all. */
static void test_words(void **state)
{
    struct made made = make();
    struct recording *recording = random_recording(made.arena, 1);
    for (uint64_t i = 0; i < recording->rows; i++) {
        recording->row[i].outcome = OUTCOME_COMPILE;
        recording->row[i].message = "CompilationFailedConfig";
        recording->row[i].samples = 0;
    }
    const char *cache = export_cache(recording, made.arena), *t4 = export_t4(recording, made.arena);
    assert_non_null(strstr(cache, "\"time\": \"CompilationFailedConfig\""));
    assert_null(strstr(cache, "\"outcome\""));
    assert_non_null(strstr(t4, "\"invalidity\": \"compile\", \"correctness\": 0"));
    assert_null(strstr(t4, "\"outcome\""));
    recording->row[0].outcome = OUTCOME_WRONG;
    recording->row[0].message = "7 of 64 differ";
    cache = export_cache(recording, made.arena);
    t4 = export_t4(recording, made.arena);
    assert_non_null(strstr(cache, "\"time\": \"RuntimeFailedConfig\""));
    assert_non_null(strstr(cache, "\"outcome\": \"wrong\", \"message\": \"7 of 64 differ\""));
    assert_non_null(strstr(t4, "\"invalidity\": \"correctness\""));
    unmake(&made);
}

/* Whole numbers stay in floating point: Kernel Tuner takes a time that is no float for a failure.
 */
static void test_numbers(void **state)
{
    struct made made = make();
    struct recording *recording = random_recording(made.arena, 1);
    double *sample = ARENA_ARRAY(made.arena, double, 10000);
    struct rng rng = rng_make(3, 3);
    recording->row[0].outcome = OUTCOME_OK;
    recording->row[0].time_ns = 3e6;
    recording->row[0].samples = 10000;
    recording->row[0].sample_ns = sample;
    for (int i = 0; i < 10000; i++) { /* as a reader of milliseconds gets them */
        double ms = i % 2 ? rng_unit(&rng) * 100 : (double)(float)rng_unit(&rng);
        sample[i] = ms * 1e6;
    }
    const char *text = export_cache(recording, made.arena);
    assert_non_null(strstr(text, "\"time\": 3.0, "));
    struct recording *back = read_back(put(&made, "n.json", text), made.arena);
    same_row(&recording->row[0], row_like(recording, 0, back));
    for (int i = 0; i < 10000; i++) sample[i] = i * 37; /* some lie between two milliseconds */
    back = read_back(put(&made, "n.json", export_cache(recording, made.arena)), made.arena);
    const struct recording_row *row = row_like(recording, 0, back);
    for (int i = 0; i < 10000; i++)
        assert_true(fabs(row->sample_ns[i] - sample[i]) <= 0x1p-52 * sample[i]);
    unmake(&made);
}

static struct recording *of_run(const char *path, uint64_t run, struct arena *arena)
{
    struct db *db;
    struct recording *recording;
    OK(db_open(path, false, arena, &db));
    OK(db_recording(db, run, arena, &recording));
    db_close(db);
    return recording;
}

static void test_database(void **state)
{
    struct made made = make();
    struct recording *sent = random_recording(made.arena, 1);
    name_failures(sent);
    for (uint64_t i = 0; i < sent->rows; i++) /* what was not measured is not exported */
        if (sent->row[i].outcome == OUTCOME_SKIPPED) sent->row[i].outcome = OUTCOME_UNSTABLE;
    const char *path = put(&made, "c.json", export_cache(sent, made.arena));
    const char *file = arena_printf(made.arena, "%s/r.h5", made.folder);
    struct db *db;
    struct db_imported first, again;
    OK(db_open(file, true, made.arena, &db));
    OK(db_import(db, path, made.arena, &first));
    assert_false(first.present);
    OK(db_import(db, path, made.arena, &again));
    assert_true(again.present && again.run == first.run);
    struct stored_run *runs;
    uint64_t count;
    OK(db_runs(db, made.arena, &runs, &count));
    assert_int_equal(count, 1);
    assert_int_equal(runs[0].info.timer, TIMER_RECORDED);
    assert_string_equal(runs[0].info.device->name, sent->device);
    assert_true(runs[0].result.complete && runs[0].result.has_best);
    db_close(db);

    struct recording *back = of_run(file, 0, made.arena);
    assert_string_equal(back->device, sent->device);
    assert_string_equal(back->kernel, sent->kernel);
    assert_string_equal(back->problem, sent->problem);
    same_table(sent, back, true);

    struct replay *replay; /* and as a device */
    OK(replay_open(file, made.arena, &replay));
    assert_int_equal(space_count(replay_space(replay)), sent->rows);
    for (uint64_t i = 0; i < sent->rows; i++) {
        struct hash128 hash = space_config_hash(sent->space, i);
        struct trial trial;
        OK(replay_trial(replay, &hash, FIDELITY_AUTO, 0, made.arena, &trial));
        assert_int_equal(trial.outcome, sent->row[i].outcome);
        if (sent->row[i].samples) assert_true(trial.span_ns[0] == sent->row[i].sample_ns[0]);
    }
    unmake(&made);
}

/* A file cut off is an incomplete run, and another than the whole file. */
static void test_cut_off(void **state)
{
    struct made made = make();
    struct recording *sent = random_recording(made.arena, 2);
    char *text = arena_text(made.arena, export_cache(sent, made.arena));
    const char *whole = put(&made, "whole.json", text);
    text[strlen(text) * 2 / 3] = '\0';
    const char *part = put(&made, "part.json", text);
    const char *file = arena_printf(made.arena, "%s/r.h5", made.folder);
    struct db *db;
    struct db_imported imported;
    OK(db_open(file, true, made.arena, &db));
    OK(db_import(db, part, made.arena, &imported));
    assert_true(imported.recording->cut_off && imported.recording->rows < sent->rows);
    OK(db_import(db, whole, made.arena, &imported));
    assert_int_equal(imported.run, 1);
    struct stored_run *runs;
    uint64_t count;
    OK(db_runs(db, made.arena, &runs, &count));
    assert_true(count == 2 && !runs[0].result.complete && runs[1].result.complete);
    db_close(db);
    unmake(&made);
}

/* Of several trials of a configuration: one that ran, with the most samples. From a journal too. */
static void record(struct made *made, const char *file, bool end)
{
    struct db *db;
    struct run *run;
    struct space *space = random_space(made->arena);
    struct run_info info = random_info(space, made->arena);
    double span[] = {1000, 2000, 3000};
    struct trial trial = {.outcome = OUTCOME_OK,
                          .message = "",
                          .log = "",
                          .span_ns = span,
                          .sum_ns = span,
                          .measure_s = 0.5,
                          .compile = {.seconds = 0.25, .registers = 40}};
    struct trial skipped = {.outcome = OUTCOME_SKIPPED, .message = "", .log = ""};
    struct trial fault = {.outcome = OUTCOME_FAULT, .message = "fell over", .log = ""};
    const struct recording_metric counter = {"sm__cycles", 7};
    OK(db_open(file, true, made->arena, &db));
    OK(run_begin(db, &info, made->arena, &run));
    OK(run_trial(run, 3, job_number(3), 0, &fault));
    trial.samples = 3;
    OK(run_trial(run, 5, job_number(5), 3, &trial));
    trial.samples = 1;
    OK(run_trial(run, 5, job_number(5), 1, &trial));
    OK(run_trial_counters(run, 3, job_number(3), 1, &trial, 1, &counter));
    OK(run_trial(run, 9, job_number(9), 0, &skipped));
    struct run_result result = {.complete = true};
    if (end) OK(run_end(run, &result));
    struct recording *recording;
    uint64_t count, config;
    struct stored_run *runs;
    OK(db_runs(db, made->arena, &runs, &count));
    OK(db_recording(db, runs[count - 1].id, made->arena, &recording));
    db_close(db);
    assert_int_equal(recording->rows, 2); /* the skipped one is left out */
    assert_true(space_translate(space, 5, recording->space, &config));
    assert_true(recording->row[config].samples == 3 && recording->row[config].time_ns == 2000);
    assert_true(recording->row[config].compile_s == 0.25 &&
                recording->row[config].benchmark_s == 0.5);
    assert_true(space_translate(space, 3, recording->space, &config));
    assert_int_equal(recording->row[config].outcome, OUTCOME_OK);
    assert_string_equal(recording->row[config].metric[0].name, "sm__cycles");
    assert_true(recording->row[config].metric[0].value == 7);
    assert_string_equal(recording->problem, info.problem);
}

static void test_own_run(void **state)
{
    struct made made = make();
    record(&made, arena_printf(made.arena, "%s/folded.h5", made.folder), true);
    record(&made, arena_printf(made.arena, "%s/live.h5", made.folder), false);
    unmake(&made);
}

static void test_refused(void **state)
{
    struct made made = make();
    const char *file = arena_printf(made.arena, "%s/r.h5", made.folder);
    struct db *db;
    struct db_imported imported;
    struct recording *recording;
    OK(db_open(file, true, made.arena, &db));
    assert_int_equal(db_import(db, put(&made, "x.json", "{}"), made.arena, &imported), STAX_FORMAT);
    assert_int_equal(db_import(db, file, made.arena, &imported), STAX_USAGE); /* merge is meant */
    assert_int_equal(db_recording(db, 0, made.arena, &recording), STAX_NOTFOUND);
    db_close(db);
    unmake(&made);
}

/* The recorded spaces: out and in again is the same, also as the other format. */
static void test_recorded(void **state)
{
    const char *folder = getenv("STAX_SPACES_DIR");
    if (!folder) {
        print_message("skipped: STAX_SPACES_DIR does not say where the recorded spaces are\n");
        skip();
    }
    static const char *const files[] = {"convolution-A100.json.gz", "convolution-A100.t4.json.gz"};
    struct made made = make();
    for (size_t i = 0; i < STAX_COUNT(files); i++) {
        struct recording *given = read_back(arena_printf(made.arena, "%s/%s", folder, files[i]),
                                            made.arena);
        const char *cache = put(&made, "c.json", export_cache(given, made.arena));
        const char *t4 = put(&made, "t4.json", export_t4(given, made.arena));
        same_table(given, read_back(cache, made.arena), true);
        same_table(given, read_back(t4, made.arena), true);
    }
    unmake(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache),    cmocka_unit_test(test_t4),
        cmocka_unit_test(test_words),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_database), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_own_run),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
