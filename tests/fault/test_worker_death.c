/* Workers that crash, hang, vanish or talk nonsense cost one candidate at most, and the innocent
 * nothing. The seams of measure/fault.h exist in debug builds alone; elsewhere these tests are left
 * out by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/device/measure_job.h"

static struct arena *arena;
static char cache[] = "/tmp/stax-death-XXXXXX";
static int deaths_warned;

static const char *const good =
    "void tuned(void *const *args) {\n"
    " const float *x = *(const float *const *)args[0]; float *y = *(float *const *)args[1];\n"
    " for (int i = 0; i < 4; i++) { y[i] = 0;\n"
    "  for (int k = 0; k < 8; k++) y[i] += x[i * 8 + k] * x[i * 8 + k]; } }\n";
static const char *const forever =
    "void tuned(void *const *args) { for (volatile int i = 0;; i++) continue; }\n";
static const char *const reference =
    "void reference(void *const *args) {\n"
    " const float *x = *(const float *const *)args[0]; double *y = *(double *const *)args[1];\n"
    " double *b = *(double *const *)args[2];\n"
    " for (int i = 0; i < 4; i++) { y[i] = 0; b[i] = 1e-5;\n"
    "  for (int k = 0; k < 8; k++) y[i] += (double)x[i * 8 + k] * x[i * 8 + k]; } }\n";

static struct measure_options options_for(void)
{
    return (struct measure_options){.device = "cpu",
                                    .cache_dir = cache,
                                    .timer = TIMER_COUNT,
                                    .l2 = L2_COUNT,
                                    .compile_limit_s = 1};
}

static struct measure *open_with(const char *fault)
{
    struct measure_options options = options_for();
    struct measure *measure;
    unsetenv("STAX_FAULT");
    if (measure_open(&options, arena, &measure) != STAX_OK) fail_msg("%s", status_message());
    setenv("STAX_FAULT", fault, 1);
    return measure;
}

static enum stax_status run(struct measure *measure, const char *source, struct trial *trial)
{
    struct job job = make_job(arena, measure_device(measure), 4, 8, source, reference, 1, 1);
    struct measure_plan plan = {.samples = 2, .verify = true};
    return measure_now(measure, &job, &plan, arena, trial);
}

static void expect(const char *fault, const char *source, enum outcome outcome, const char *part)
{
    struct trial trial;
    struct measure *measure = open_with(fault);
    if (run(measure, source, &trial) != STAX_OK) fail_msg("%s: %s", fault, status_message());
    if (trial.outcome != outcome || !strstr(trial.message, part))
        fail_msg("%s: %s: %s", fault, outcome_table[trial.outcome].name, trial.message);
    measure_close(measure);
}

static void test_measure_worker(void **state)
{
    expect("measure:crash:0", good, OUTCOME_FAULT, "killed by signal 6");
    expect("measure:vanish:0", good, OUTCOME_FAULT, "ended with status 3");
    expect("measure:corrupt:0", good, OUTCOME_FAULT, "what came is no message");
}

/* A worker that dies at its second job: that job passes in the next one, where it is the first. */
static void test_innocent(void **state)
{
    struct trial trial;
    struct measure *measure = open_with("measure:crash:1,compile:crash:1");
    for (int i = 0; i < 4; i++) {
        const char *source = arena_printf(arena, "%s/* %d */\n", good, i);
        if (run(measure, source, &trial) != STAX_OK) fail_msg("%s", status_message());
        assert_int_equal(trial.outcome, OUTCOME_OK);
        assert_true(trial.verified);
    }
    measure_close(measure);
}

static void test_compile_worker(void **state)
{
    expect("compile:crash:0", arena_printf(arena, "%s/* a */", good), OUTCOME_COMPILE,
           "the compiler crashed twice");
    expect("compile:hang:0", arena_printf(arena, "%s/* b */", good), OUTCOME_TIMEOUT,
           "its limit of 1 s");
    expect("compile:corrupt:0", arena_printf(arena, "%s/* c */", good), OUTCOME_COMPILE,
           "crashed twice");
}

static void count_deaths(void *data, enum log_level level, const char *line)
{
    (void)data;
    if (level == LOG_WARNING && strstr(line, "in a row")) deaths_warned++;
}

/* Three different candidates in a row: the device is looked at. It is there, and the run goes on;
 * or it is gone, and it ends. */
static void test_three_in_a_row(void **state)
{
    struct trial trial;
    log_set_sink(count_deaths, NULL);
    struct measure *measure = open_with("measure:crash:0");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run(measure, arena_printf(arena, "%s/* %d */", good, i), &trial), STAX_OK);
        assert_int_equal(trial.outcome, OUTCOME_FAULT);
    }
    unsetenv("STAX_FAULT");
    assert_int_equal(run(measure, good, &trial), STAX_OK);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    measure_close(measure);
    log_set_sink(NULL, NULL);
    assert_true(deaths_warned >= 1);
    measure = open_with("measure:crash:0,probe:vanish:0");
    enum stax_status status = STAX_OK;
    for (int i = 0; i < 4 && status == STAX_OK; i++)
        status = run(measure, arena_printf(arena, "%s/* %d */", good, i), &trial);
    assert_int_equal(status, STAX_DEVICE);
    assert_non_null(strstr(status_message(), "cpu is gone"));
    measure_close(measure);
}

static void refuses(const char *worker, const char *part)
{
    struct measure_options options = options_for();
    struct device_info info;
    options.worker = worker;
    assert_int_equal(measure_probe(&options, arena, &info), STAX_IO);
    if (!strstr(status_message(), part)) fail_msg("%s", status_message());
}

static void test_other_program(void **state)
{
    unsetenv("STAX_FAULT");
    refuses("/nonexistent/stax-worker", "set STAX_WORKER");
    refuses("/bin/true", "did not answer");
    refuses("/etc/passwd", "set STAX_WORKER");
}

/* A killed session leaves no worker behind, also not one inside an endless kernel. */
static void test_orphans(void **state)
{
    int pipes[2];
    unsetenv("STAX_FAULT");
    assert_int_equal(pipe(pipes), 0);
    pid_t session = fork();
    assert_true(session >= 0);
    if (session == 0) {
        struct arena *own = arena_create();
        struct measure_options options = options_for();
        struct measure *measure;
        struct trial trial;
        uint64_t ticket = UINT64_MAX;
        options.time_limit_s = 60;
        if (measure_open(&options, own, &measure) != STAX_OK) _exit(1);
        struct job job = make_job(own, measure_device(measure), 4, 8, forever, reference, 1, 1);
        struct measure_plan plan = {.samples = 2, .verify = true};
        if (measure_submit(measure, 1, &job, &plan) != STAX_OK) _exit(1);
        for (int i = 0; i < 12; i++) {
            if (measure_next(measure, 0.1, own, &ticket, &trial) != STAX_OK) _exit(1);
        }
        if (write(pipes[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte, path[64], line[512] = "";
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)session, (int)session);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    kill(session, SIGKILL);
    waitpid(session, NULL, 0);
    int workers = 0;
    for (char *at = line, *end; *at; at = end) {
        pid_t worker = (pid_t)strtol(at, &end, 10);
        if (end == at) break;
        workers++;
        for (int i = 0; i < 100 && kill(worker, 0) == 0; i++) usleep(20000);
        /* Gone, or a zombie that its new parent has not fetched yet. */
        snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
        char stat[256] = "";
        FILE *left = fopen(path, "r");
        if (left && !fgets(stat, sizeof stat, left)) stat[0] = '\0';
        if (left) fclose(left);
        const char *after = strrchr(stat, ')');
        assert_true(!after || after[2] == 'Z' || after[2] == 'X');
    }
    assert_true(workers >= 1);
    close(pipes[0]);
}

static int set_up(void **state)
{
    arena = arena_create();
    return mkdtemp(cache) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

int main(void)
{
#ifdef STAX_DEBUG
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measure_worker), cmocka_unit_test(test_innocent),
        cmocka_unit_test(test_compile_worker), cmocka_unit_test(test_three_in_a_row),
        cmocka_unit_test(test_other_program),  cmocka_unit_test(test_orphans),
    };
#else
    (void)test_measure_worker, (void)test_innocent, (void)test_compile_worker,
        (void)test_three_in_a_row;
    print_message("a release build has no seams for crashes, hangs and nonsense: left out\n");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_program),
                                       cmocka_unit_test(test_orphans)};
#endif
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
