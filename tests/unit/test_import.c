/* Kernel Tuner caches, T4 and T1: small files written here, whole, cut off and broken; and the
 * recorded ones of STAX_SPACES_DIR against their published facts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "results/import.h"

static struct arena *arena;
static char path[] = "/tmp/stax_import_XXXXXX";

static int set_up(void **state)
{
    int fd = mkstemp(path);
    close(fd);
    arena = arena_create();
    return fd < 0;
}

static int tear_down(void **state)
{
    arena_destroy(arena);
    unlink(path);
    return 0;
}

static void put(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static const char cache[] =
    "{\n\"device_name\": \"Some GPU\",\n\"kernel_name\": \"vec_add\",\n\"problem_size\": [4096, "
    "2],\n"
    "\"tune_params_keys\": [\"block\", \"mode\", \"fast\"],\n"
    "\"tune_params\": {\"block\": [64, 32], \"mode\": [\"a{\", \"b\"], \"fast\": [true, "
    "false]},\n\"objective\": \"time\",\n"
    "\"cache\": {\n"
    "\"32,a{,True\": {\"block\": 32, \"mode\": \"a{\", \"fast\": true, \"time\": 1.5, \"times\": "
    "[1.0, 2.0], \"compile_time\": "
    "500, \"verification_time\": 10, \"benchmark_time\": 20, \"strategy_time\": 1, "
    "\"framework_time\": 2, \"timestamp\": "
    "\"2023-12-22 09:54:05.5+00:00\"},\n"
    "\"64,a{,True\": {\"block\": 64, \"mode\": \"a{\", \"fast\": true, \"time\": "
    "\"CompilationFailedConfig\", \"compile_time\": "
    "100},\n"
    "\"64,b,False\": {\"block\": 64, \"mode\": \"b\", \"fast\": false, \"time\": "
    "\"RuntimeFailedConfig\"},\n"
    "\"32,b,False\": {\"block\": 32, \"mode\": \"b\", \"fast\": false, \"__error__\": "
    "\"InvalidConfig\"},\n"
    "\"32,b,True\": {\"block\": 32, \"mode\": \"b\", \"fast\": true, \"time\": 1e20},\n"
    "\"64,b,True\": {\"block\": 64, \"mode\": \"b\", \"fast\": true, \"time\": 3.0, \"times\": "
    "[3.0]}}\n}";

static const struct recording_row *row_of(const struct recording *recording, const char *text)
{
    uint64_t config;
    if (space_parse_config(recording->space, text, 0, &config) != STAX_OK)
        fail_msg("%s", status_message());
    return &recording->row[config];
}

static void check_cache(const struct recording *recording, uint64_t rows)
{
    assert_string_equal(recording->format, "Kernel Tuner cache");
    assert_string_equal(recording->device, "Some GPU");
    assert_string_equal(recording->kernel, "vec_add");
    assert_string_equal(recording->problem, "4096x2");
    assert_int_equal(recording->rows, rows);
    const struct recording_row *row = row_of(recording, "block=32, mode=a{, fast=True");
    assert_int_equal(row->outcome, OUTCOME_OK);
    assert_true(row->time_ns == 1.5e6 && row->samples == 2 && row->sample_ns[1] == 2e6);
    assert_true(row->compile_s == 0.5 && row->verify_s == 0.01 && row->benchmark_s == 0.02 &&
                row->overhead_s == 0.003);
    assert_true(row->time_unix_ns == 1703238845500000000);
}

static void test_cache(void **state)
{
    struct recording *recording;
    put(cache, strlen(cache));
    if (import_recording(path, arena, &recording) != STAX_OK) fail_msg("%s", status_message());
    check_cache(recording, 6);
    assert_false(recording->cut_off);
    const struct recording_row *row = row_of(recording, "block=64, mode=a{, fast=True");
    assert_true(row->outcome == OUTCOME_COMPILE && isinf(row->time_ns) && row->compile_s == 0.1);
    assert_string_equal(row->message, "CompilationFailedConfig");
    assert_int_equal(row_of(recording, "block=64, mode=b, fast=False")->outcome, OUTCOME_LAUNCH);
    assert_int_equal(row_of(recording, "block=32, mode=b, fast=False")->outcome,
                     OUTCOME_CONSTRAINT);
    assert_int_equal(row_of(recording, "block=32, mode=b, fast=True")->outcome, OUTCOME_FAULT);
}

/* Cut anywhere, plain or gzipped: every entry that is complete is there, or one clear message. */
static void test_cut_off(void **state)
{
    static const char *const last[] = {"[1.0, 2.0]",      "\"64,a{,True\":", "\"64,b,False\":",
                                       "\"32,b,False\":", "\"32,b,True\":",  "\"64,b,True\":"};
    size_t ends[7];
    for (int i = 1; i < 6; i++)
        ends[i - 1] = (size_t)(strstr(cache, last[i]) - cache) - 2; /* before ",\n" */
    ends[5] = strlen(cache) - 3;
    ends[6] = SIZE_MAX;
    uint64_t complete = 0;
    for (size_t cut = 1; cut < strlen(cache); cut++) {
        struct recording *recording;
        struct arena *outer = arena;
        arena = arena_create();
        complete += cut == ends[complete];
        put(cache, cut);
        enum stax_status status = import_recording(path, arena, &recording);
        if (complete == 0) {
            assert_int_equal(status, STAX_FORMAT);
        } else {
            if (status != STAX_OK) fail_msg("cut at %d: %s", (int)cut, status_message());
            check_cache(recording, complete);
            assert_true(recording->cut_off);
        }
        arena_destroy(arena);
        arena = outer;
    }
    assert_int_equal(complete, 6);
}

static void test_gzip(void **state)
{
    struct recording *recording;
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, cache, (unsigned)strlen(cache)), strlen(cache));
    gzclose(file);
    assert_int_equal(import_recording(path, arena, &recording), STAX_OK);
    check_cache(recording, 6);
    assert_int_equal(truncate(path, 330), 0); /* inside the stream */
    if (import_recording(path, arena, &recording) != STAX_OK) fail_msg("%s", status_message());
    assert_true(recording->cut_off && recording->rows >= 1 && recording->rows < 6);
}

static void test_t4(void **state)
{
    static const char text[] = "{\"metadata\": {\"timeunit\": \"miliseconds\"}, \"results\": [\n"
                               "{\"timestamp\": \"2023-12-22 09:54:05.502007+00:00\", "
                               "\"configuration\": {\"b\": 32, \"t\": 1.5}, \"times\": "
                               "{\"compilation\": 900, \"framework\": 5, \"search_algorithm\": 0, "
                               "\"validation\": 7, \"runtimes\": [3.0, 5.0]}, "
                               "\"invalidity\": \"correct\", \"correctness\": 1, \"measurements\": "
                               "[{\"name\": \"time\", \"value\": 4.0, \"unit\": "
                               "\"\"}], \"objectives\": [\"time\"]},\n"
                               "{\"configuration\": {\"b\": 16, \"t\": 1.5}, \"times\": "
                               "{\"compilation_time\": 100}, \"invalidity\": \"compile\", "
                               "\"measurements\": [{\"name\": \"time\", \"value\": "
                               "\"CompilationFailedConfig\"}], \"objectives\": [\"time\"]},\n"
                               "{\"configuration\": {\"b\": 8, \"t\": 2}, \"times\": "
                               "{\"runtimes\": [NaN]}, \"invalidity\": \"correctness\", "
                               "\"measurements\": [], \"objectives\": [\"time\"]}]}";
    struct recording *recording;
    put(text, strlen(text));
    if (import_recording(path, arena, &recording) != STAX_OK) fail_msg("%s", status_message());
    assert_string_equal(recording->format, "T4");
    assert_int_equal(recording->rows, 3);
    const struct recording_row *row = row_of(recording, "b=32, t=1.5");
    assert_true(row->outcome == OUTCOME_OK && row->time_ns == 4e6 && row->samples == 2 &&
                row->benchmark_s == 0.008);
    assert_true(row->compile_s == 0.9 && row->verify_s == 0.007 && row->overhead_s == 0.005);
    assert_int_equal(row->time_unix_ns, 1703238845502007000);
    assert_int_equal(row_of(recording, "b=16, t=1.5")->outcome, OUTCOME_COMPILE);
    assert_true(row_of(recording, "b=16, t=1.5")->compile_s == 0.1);
    assert_int_equal(row_of(recording, "b=8, t=2")->outcome, OUTCOME_WRONG);
    put(text, strlen(text) - 40); /* inside the third */
    assert_int_equal(import_recording(path, arena, &recording), STAX_OK);
    assert_true(recording->cut_off && recording->rows == 2);
}

static void test_t1(void **state)
{
    static const char text[] =
        "{\"ConfigurationSpace\": {\"TuningParameters\": ["
        "{\"Name\": \"x\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(4)]\", "
        "\"Default\": [4]},"
        "{\"Name\": \"mode\", \"Type\": \"string\", \"Values\": \"['a', 'b']\", \"Default\": "
        "\"b\"},"
        "{\"Name\": \"on\", \"Type\": \"bool\", \"Values\": [true, false], \"Default\": true},"
        "{\"Name\": \"f\", \"Type\": \"float\", \"Values\": \"[0.5, 1, 1.5]\", \"Default\": 1.0}],"
        "\"Conditions\": [{\"Parameters\": [\"x\"], \"Expression\": \"2 <= x * f <= 8 and (mode == "
        "'a' or on)\"}]},"
        "\"KernelSpecification\": {\"Language\": \"CUDA\", \"KernelName\": \"k\", \"KernelFile\": "
        "\"k.cu\"}}";
    struct t1 t1;
    put(text, strlen(text));
    if (import_t1(path, arena, &t1) != STAX_OK) fail_msg("%s", status_message());
    assert_int_equal(space_count(t1.space), 7 * 3); /* seven pairs of x, f; three of mode, on */
    assert_string_equal(t1.kernel, "k");
    assert_true(t1.has_default);
    assert_string_equal(space_config_text(t1.space, t1.default_config, arena),
                        "x=4, mode=b, on=True, f=1");
    assert_false(space_param(t1.space, 1)->ordered);
    assert_true(import_is_t1(text) && !import_is_t1(cache));
}

static void test_bad(void **state)
{
    static const char *const cases[][2] = {
        {"", "this is no JSON"},
        {"[1]", "holds no recorded configurations"},
        {"{\"cache\": {}}", "a Kernel Tuner cache without tune_params"},
        {"{\"cache\": {}, \"tune_params\": {\"a\": [1]}}", "no configuration is recorded here"},
        {"{\"cache\": {\"1\": {\"b\": 1}}, \"tune_params\": {\"a\": [1]}}",
         "entry \"1\" lacks one of the parameters"},
        {"{\"cache\": {\"1\": {\"a\": 1}}, \"tune_params\": {\"a\": [1]}}",
         "no configuration here has a time"},
        {"{\"cache\": 1 2}", "this is no JSON"},
        {"{\"results\": []}", "no configuration is recorded here"},
        {"{\"ConfigurationSpace\": {}}", "it is a T1 file"},
    };
    struct recording *recording;
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        put(cases[i][0], strlen(cases[i][0]));
        assert_int_equal(import_recording(path, arena, &recording), STAX_FORMAT);
        if (!strstr(status_message(), cases[i][1]))
            fail_msg("%s: %s", cases[i][0], status_message());
        assert_non_null(strstr(status_message(), path));
    }
    assert_int_equal(import_recording("/nowhere/file.json", arena, &recording), STAX_IO);
    assert_int_equal(import_recording("/tmp", arena, &recording), STAX_IO);
    static const char *const t1_cases[][2] = {
        {"{}", "this is no T1 file"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Values\": \"[1]\"}]}}",
         "has no Name"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"x\", \"Values\": "
         "\"[1\"}]}}",
         "values of x:1:3: expected `]`"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"x\", \"Values\": 3}]}}",
         "neither a text nor a list"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"x\", \"Values\": "
         "\"[1]\"}], \"Conditions\": "
         "[{\"Expression\": \"y > 1\"}]}}",
         "`y` is neither a parameter"},
    };
    struct t1 t1;
    for (size_t i = 0; i < STAX_COUNT(t1_cases); i++) {
        put(t1_cases[i][0], strlen(t1_cases[i][0]));
        assert_int_not_equal(import_t1(path, arena, &t1), STAX_OK);
        if (!strstr(status_message(), t1_cases[i][1]))
            fail_msg("%s: %s", t1_cases[i][0], status_message());
    }
}

/* Counts and optima as published with the files; the cache and the T4 of one experiment agree. */
static void test_recorded(void **state)
{
    const char *folder = getenv("STAX_SPACES_DIR");
    if (!folder) {
        print_message("skipped: STAX_SPACES_DIR does not say where the recorded spaces are\n");
        skip();
    }
    static const struct {
        const char *name;
        uint64_t rows, ok, compile, launch;
        double best_ms;
    } files[] = {
        {"convolution-A100.json.gz", 4362, 4201, 6, 155, 0.5536},
        {"convolution-A100.t4.json.gz", 4362, 4201, 6, 155, 0.5536},
        {"dedispersion-A100.json.gz", 11130, 11130, 0, 0, 68.117},
    };
    for (size_t i = 0; i < STAX_COUNT(files); i++) {
        struct arena *own = arena_create();
        struct recording *recording;
        uint64_t outcomes[OUTCOME_COUNT] = {0};
        double best = INFINITY;
        if (import_recording(arena_printf(own, "%s/%s", folder, files[i].name), own, &recording) !=
            STAX_OK) {
            fail_msg("%s", status_message());
        }
        for (uint64_t r = 0; r < recording->rows; r++) {
            outcomes[recording->row[r].outcome]++;
            best = fmin(best, recording->row[r].time_ns);
            if (recording->row[r].outcome == OUTCOME_OK)
                assert_int_equal(recording->row[r].samples, 32);
        }
        assert_int_equal(recording->rows, files[i].rows);
        assert_int_equal(outcomes[OUTCOME_OK], files[i].ok);
        assert_int_equal(outcomes[OUTCOME_COMPILE], files[i].compile);
        assert_int_equal(outcomes[OUTCOME_LAUNCH], files[i].launch);
        assert_true(fabs(best / 1e6 - files[i].best_ms) < 1e-3 * files[i].best_ms);
        arena_destroy(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache),    cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_gzip),     cmocka_unit_test(test_t4),
        cmocka_unit_test(test_t1),       cmocka_unit_test(test_bad),
        cmocka_unit_test(test_recorded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
