/* The measuring path on the host, whole: probe, compile, verify, time, race; and every way a
 * candidate can go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/device/measure_job.h"

enum { ROWS = 60, COLUMNS = 1000 };

static struct arena *arena;
static struct measure *measure;
static char cache[] = "/tmp/stax-measure-cpu-XXXXXX";
static int started;

#define HEAD "#include <stdlib.h>\n"
#define BODY(statement)                                                                  \
    HEAD "void tuned(void *const *args) {\n"                                             \
         "  const float *x = *(const float *const *)args[0]; float *y = *(float *const " \
         "*)args[1];\n" statement "\n}\n"
#define GOOD                                        \
    "#pragma omp parallel for\n"                    \
    "for (int i = 0; i < 60; i++) { float s = 0;\n" \
    " for (int k = 0; k < 1000; k++) s += x[i * 1000 + k] * x[i * 1000 + k]; y[i] = s; }\n"

static const char *const reference =
    "#include <math.h>\n"
    "void reference(void *const *args) {\n"
    "  const float *x = *(const float *const *)args[0];\n"
    "  double *y = *(double *const *)args[1], *bound = *(double *const *)args[2];\n"
    "  for (int i = 0; i < 60; i++) { double s = 0;\n"
    "    for (int k = 0; k < 1000; k++) { double v = x[i * 1000 + k]; s += v * v; }\n"
    "    y[i] = s; bound[i] = fabs(s) * 1000 * 1.2e-7; } }\n";

static void on_start(void *data, uint64_t ticket)
{
    (void)data;
    assert_true(ticket == 5 || ticket < 4);
    started++;
}

static struct measure_options options_for(double limit_s)
{
    return (struct measure_options){.device = "cpu",
                                    .cache_dir = cache,
                                    .timer = TIMER_COUNT,
                                    .l2 = L2_COUNT,
                                    .time_limit_s = limit_s,
                                    .starting = on_start};
}

static struct job job_of(const char *source)
{
    return make_job(arena, measure_device(measure), ROWS, COLUMNS, source, reference, 1, 1);
}

static struct trial outcome_of(const char *source, bool adverse, int samples)
{
    struct trial trial;
    struct job job = job_of(source);
    struct measure_plan plan = {.samples = samples, .verify = true, .adverse = adverse};
    enum stax_status status = measure_now(measure, &job, &plan, arena, &trial);
    if (status != STAX_OK) fail_msg("%s", status_message());
    return trial;
}

static void says(const struct trial *trial, enum outcome outcome, const char *part)
{
    if (trial->outcome != outcome || !strstr(trial->message, part))
        fail_msg("%s: %s, not %s: ...%s...", outcome_table[trial->outcome].name, trial->message,
                 outcome_table[outcome].name, part);
    assert_int_equal(trial->samples, 0);
}

static void test_device(void **state)
{
    const struct device_info *info = measure_device(measure);
    assert_int_equal(info->kind, DEVICE_CPU);
    assert_true(info->processors >= 1 && info->vector_bytes >= 16 && info->l2_bytes > 0);
    assert_true(info->copy_bytes_s > 1e8 && info->read_bytes_s > 1e8);
    assert_true(strlen(info->arch) > 0 && strlen(info->uuid) > 4 && strlen(info->compiler) > 0);
    assert_int_equal(measure_timer(measure), TIMER_HOST);
    assert_int_equal(measure_l2(measure), L2_WARM);
    assert_string_equal(measure_protocol(measure), "host warm none v1");
}

static void test_good(void **state)
{
    int before = started;
    struct trial trial = outcome_of(BODY(GOOD), true, 7);
    if (trial.outcome != OUTCOME_OK) fail_msg("%s", trial.message);
    assert_int_equal(started, before + 1);
    assert_int_equal(trial.samples, 7);
    assert_true(trial.verified && trial.adverse_verified && !trial.suspicious);
    assert_true(trial.error_ratio >= 0 && trial.error_ratio <= 1);
    for (int i = 0; i < 7; i++) assert_true(trial.span_ns[i] > 100 && trial.span_ns[i] < 1e9);
    for (int i = 0; i < 7; i++) assert_true(trial.sum_ns[i] == trial.span_ns[i]);
    assert_true(trial.compile.binary.low != 0 && trial.compile.seconds > 0);
    struct trial by_rule = outcome_of(BODY(GOOD), false, 0);
    assert_int_equal(by_rule.outcome, OUTCOME_OK);
    assert_in_range(by_rule.samples, 10, 200);
    assert_true(by_rule.verified && by_rule.adverse_verified); /* what this run knows already */
}

static void test_wrong(void **state)
{
    struct trial trial = outcome_of(BODY(GOOD "y[17] = y[17] * 1.01f;"), false, 1);
    says(&trial, OUTCOME_WRONG, "y[17] is ");
    says(&trial, OUTCOME_WRONG, "1 of 60 elements are wrong, with random inputs");
    trial = outcome_of(BODY(GOOD "y[3] = 0.0f / 0.0f;"), false, 1);
    says(&trial, OUTCOME_WRONG, "y[3] is ");
}

static void test_unwritten(void **state)
{
    struct trial trial = outcome_of(
        BODY("for (int i = 0; i < 59; i++) { float s = 0;\n"
             "for (int k = 0; k < 1000; k++) s += x[i*1000+k] * x[i*1000+k]; y[i] = s; }"),
        false, 1);
    says(&trial, OUTCOME_WRONG, "y[59] is ");
    /* Adding to what lies there is right over zeros alone. */
    trial = outcome_of(BODY("for (int i = 0; i < 60; i++) for (int k = 0; k < 1000; k++)\n"
                            "y[i] += x[i*1000+k] * x[i*1000+k];"),
                       false, 1);
    says(&trial, OUTCOME_WRONG, "60 of 60 elements are wrong");
}

static void test_outside(void **state)
{
    struct trial trial = outcome_of(BODY(GOOD "y[60] = 1;"), false, 1);
    says(&trial, OUTCOME_WRONG, "writes outside its buffer: byte 24");
    trial = outcome_of(BODY(GOOD "y[-1] = 1;"), false, 1);
    says(&trial, OUTCOME_WRONG, "writes outside its buffer: byte -4 of y");
    trial = outcome_of(BODY(GOOD "((float *)x)[12] = 1;"), false, 1);
    says(&trial, OUTCOME_WRONG, "writes to its input x");
    trial = outcome_of(BODY(GOOD), false, 2); /* damage did not outlive its candidate */
    assert_int_equal(trial.outcome, OUTCOME_OK);
}

static void test_only_adverse(void **state)
{
    /* Skips NaN: right on plain inputs, wrong on adverse ones. */
    const char *source = BODY(
        "for (int i = 0; i < 60; i++) { float s = 0;\n"
        "for (int k = 0; k < 1000; k++) { float v = x[i*1000+k]; if (v == v) s += v * v; }\n"
        "y[i] = s; }");
    struct trial trial = outcome_of(source, false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    assert_false(trial.adverse_verified);
    trial = outcome_of(source, true, 1);
    says(&trial, OUTCOME_WRONG, "with adverse inputs");
}

static void test_broken_source(void **state)
{
    struct trial trial = outcome_of(BODY("y[0] = undeclared_thing;"), false, 1);
    says(&trial, OUTCOME_COMPILE, "undeclared_thing");
    assert_true(strstr(trial.log, "undeclared_thing") != NULL);
    trial = outcome_of("int nothing;\n", false, 1);
    says(&trial, OUTCOME_LAUNCH, "has no entry tuned");
}

static void test_crash(void **state)
{
    struct trial trial = outcome_of(BODY("*(volatile int *)0 = (int)x[0]; y[0] = 1;"), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_FAULT);
    trial = outcome_of(BODY("exit(4);"), false, 1);
    says(&trial, OUTCOME_FAULT, "ended with status 4");
    trial = outcome_of(BODY(GOOD), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
}

static void test_hang(void **state)
{
    struct measure_options options = options_for(1.5);
    struct measure *kept = measure;
    assert_int_equal(measure_open(&options, arena, &measure), STAX_OK);
    struct trial trial = outcome_of(BODY("while (1) ((volatile float *)y)[0] = x[0];"), false, 1);
    says(&trial, OUTCOME_TIMEOUT, "time limit of 1.5 s");
    trial = outcome_of(BODY(GOOD), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    /* Not a hang, but too slow for so many samples: said without waiting for them. */
    trial = outcome_of(BODY(GOOD "double s = x[0]; for (volatile int i = 0; i < 60000000; i++) s "
                                 "+= i; if (s == 7) y[0] = 1;"),
                       false, 81);
    says(&trial, OUTCOME_TIMEOUT, "81 samples would pass the time limit");
    measure_close(measure);
    measure = kept;
}

static void test_race(void **state)
{
    struct job fast = job_of(BODY(GOOD));
    struct job slow = job_of(BODY(GOOD "for (volatile int i = 0; i < 10000000; i++) continue;"));
    struct job wrong = job_of(BODY(GOOD "y[0] += 1;"));
    struct job crash = job_of(BODY(GOOD "abort();"));
    const struct job *const jobs[] = {&slow, &wrong, &fast, &crash};
    struct trial trials[4];
    enum stax_status status = measure_race(measure, 4, jobs, 11, 3, arena, trials);
    if (status != STAX_OK) fail_msg("%s", status_message());
    assert_int_equal(trials[0].outcome, OUTCOME_OK);
    assert_int_equal(trials[2].outcome, OUTCOME_OK);
    says(&trials[1], OUTCOME_WRONG, "y[0]");
    assert_int_equal(trials[3].outcome, OUTCOME_FAULT);
    assert_int_equal(trials[0].samples, 11);
    assert_int_equal(trials[2].samples, 11);
    assert_true(trials[0].verified && trials[0].adverse_verified);
    assert_int_equal(trials[0].stage, STAGE_FINAL);
    assert_true(trial_time_ns(&trials[0]) > trial_time_ns(&trials[2]));
}

static void test_many_and_twins(void **state)
{
    /* Four tickets, two of them other configurations with the same text: they share one
     * measurement. */
    struct job good = job_of(BODY(GOOD)), bad = job_of(BODY("y[0] = nonsense;"));
    int before = started;
    struct measure_plan plan = {.samples = 3, .verify = true};
    for (uint64_t i = 0; i < 4; i++) {
        plan.config = (struct hash128){i + 1, 9};
        assert_int_equal(measure_submit(measure, i, i == 3 ? &bad : &good, &plan), STAX_OK);
    }
    assert_int_equal(measure_pending(measure), 4);
    struct trial trials[4];
    for (int i = 0; i < 4; i++) {
        uint64_t ticket = UINT64_MAX;
        struct trial trial;
        while (ticket == UINT64_MAX)
            assert_int_equal(measure_next(measure, 1, arena, &ticket, &trial), STAX_OK);
        assert_true(ticket < 4);
        trials[ticket] = trial;
    }
    assert_int_equal(measure_pending(measure), 0);
    assert_int_equal(started, before + 1);
    assert_int_equal(trials[3].outcome, OUTCOME_COMPILE);
    assert_memory_equal(trials[0].span_ns, trials[1].span_ns, 3 * sizeof(double));
    assert_memory_equal(trials[0].span_ns, trials[2].span_ns, 3 * sizeof(double));
    assert_true(trials[1].compile.cached);
    /* The same configuration again wants samples of its own. */
    plan.config = (struct hash128){1, 9};
    struct trial again;
    assert_int_equal(measure_now(measure, &good, &plan, arena, &again), STAX_OK);
    assert_int_equal(started, before + 2);
}

static void test_cancel(void **state)
{
    struct measure_plan plan = {.samples = 2, .verify = true};
    struct job jobs[3];
    char text[3][2048];
    for (uint64_t i = 0; i < 3; i++) {
        snprintf(text[i], sizeof text[i], BODY(GOOD "if (x[0] > 1e30f) y[0] = %d;"), (int)i);
        jobs[i] = job_of(text[i]);
        assert_int_equal(measure_submit(measure, i, &jobs[i], &plan), STAX_OK);
    }
    measure_cancel(measure);
    for (int i = 0; i < 3; i++) {
        uint64_t ticket;
        struct trial trial;
        assert_int_equal(measure_next(measure, 5, arena, &ticket, &trial), STAX_OK);
        assert_true(ticket < 3);
        assert_int_equal(trial.outcome, OUTCOME_SKIPPED);
    }
    /* What was dropped can be asked for again. */
    struct trial trial;
    assert_int_equal(measure_now(measure, &jobs[1], &plan, arena, &trial), STAX_OK);
    assert_int_equal(trial.outcome, OUTCOME_OK);
}

static void test_assembly(void **state)
{
    struct measure_options options = options_for(0);
    struct job job = job_of(BODY(GOOD));
    const char *text;
    enum stax_status status = measure_assembly(&options, &job, arena, &text);
    if (status != STAX_OK) fail_msg("%s", status_message());
    assert_non_null(strstr(text, "tuned:"));
    job = job_of("int x = ;\n");
    assert_int_equal(measure_assembly(&options, &job, arena, &text), STAX_FORMAT);
}

static int warnings;

static void count_warnings(void *data, enum log_level level, const char *line)
{
    (void)data;
    if (level == LOG_WARNING && strstr(line, "damaged")) warnings++;
}

static void test_cache(void **state)
{
    /* A second session finds the artifact; a damaged one is compiled again, with a warning. */
    struct measure_options options = options_for(0);
    struct measure *kept = measure;
    assert_int_equal(measure_open(&options, arena, &measure), STAX_OK);
    struct trial trial = outcome_of(BODY(GOOD), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    assert_true(trial.compile.cached);
    measure_close(measure);
    char command[256];
    snprintf(command, sizeof command,
             "for f in %s/compiled/*.so; do printf x | dd of=$f bs=1 seek=900 conv=notrunc "
             "status=none; done",
             cache);
    assert_int_equal(system(command), 0);
    log_set_sink(count_warnings, NULL);
    assert_int_equal(measure_open(&options, arena, &measure), STAX_OK);
    trial = outcome_of(BODY(GOOD), false, 1);
    log_set_sink(NULL, NULL);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    assert_false(trial.compile.cached);
    assert_true(warnings >= 1);
    measure_close(measure);
    measure = kept;
}

static int open_all(void **state)
{
    arena = arena_create();
    if (!mkdtemp(cache)) return -1;
    struct measure_options options = options_for(0);
    if (measure_open(&options, arena, &measure) == STAX_OK) return 0;
    print_error("%s\n", status_message());
    return -1;
}

static int close_all(void **state)
{
    char command[128];
    measure_close(measure);
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),         cmocka_unit_test(test_good),
        cmocka_unit_test(test_wrong),          cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_outside),        cmocka_unit_test(test_only_adverse),
        cmocka_unit_test(test_broken_source),  cmocka_unit_test(test_crash),
        cmocka_unit_test(test_hang),           cmocka_unit_test(test_race),
        cmocka_unit_test(test_many_and_twins), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_assembly),       cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
