/* Recordings and T1 files that say what cannot be: refused with one line that names the place, or
 * read with a warning. */
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

#include "results/import.h"

static struct arena *arena;
static char path[] = "/tmp/stax_refuse_XXXXXX";

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

static void put(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void check_message(enum stax_status status, const char *text, const char *part)
{
    if (status != STAX_FORMAT || !strstr(status_message(), part) ||
        !strstr(status_message(), path) || strchr(status_message(), '\n'))
        fail_msg("%s: status %d, \"%s\" has no \"%s\"", text, (int)status, status_message(), part);
}

static struct recording *import(const char *text)
{
    struct recording *recording;
    put(text);
    if (import_recording(path, arena, &recording) != STAX_OK)
        fail_msg("%s: %s", text, status_message());
    return recording;
}

static void import_refused(const char *text, const char *part)
{
    struct recording *recording;
    put(text);
    check_message(import_recording(path, arena, &recording), text, part);
}

/* The one warning of a recording. */
static void check_warning(const struct recording *recording, const char *wanted)
{
    assert_int_equal(recording->warnings, 1);
    assert_string_equal(recording->warning[0], wanted);
}

static const char *t4(const char *metadata, const char *runtimes, const char *more)
{
    return arena_printf(arena,
                        "{%s\"results\": [{\"configuration\": {\"a\": 1}, \"times\": "
                        "{\"compilation\": 4, \"runtimes\": [%s]}, \"invalidity\": \"correct\", "
                        "\"measurements\": []}%s]}",
                        metadata, runtimes, more);
}

static void test_unit(void **state)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"seconds", 1e9},
                 {"second", 1e9},
                 {"Seconds", 1e9},
                 {"s", 1e9},
                 {"milliseconds", 1e6},
                 {"Millisecond", 1e6},
                 {"ms", 1e6},
                 {"MS", 1e6},
                 {"miliseconds", 1e6},
                 {"microseconds", 1e3},
                 {"microsecond", 1e3},
                 {"us", 1e3},
                 {"nanoseconds", 1},
                 {"Nanosecond", 1},
                 {"ns", 1}};
    for (size_t i = 0; i < STAX_COUNT(units); i++) {
        const char *metadata = arena_printf(arena, "\"metadata\": {\"timeunit\": \"%s\"}, ",
                                            units[i].name);
        const struct recording *recording = import(t4(metadata, "2", ""));
        assert_true(recording->row[0].time_ns == 2 * units[i].ns);
        assert_true(fabs(recording->row[0].compile_s * 1e9 / (4 * units[i].ns) - 1) < 1e-12);
        assert_int_equal(recording->warnings, 0);
    }
    assert_true(import(t4("", "2", ""))->row[0].time_ns == 2e6);
    assert_true(import(t4("\"metadata\": {}, ", "2", ""))->row[0].time_ns == 2e6);
    static const char *const bad[] = {"\"parsecs\"", "\"minutes\"", "\"\"", "\"microns\"", "3"};
    for (size_t i = 0; i < STAX_COUNT(bad); i++) {
        const char *metadata = arena_printf(arena, "\"metadata\": {\"timeunit\": %s}, ", bad[i]);
        import_refused(t4(metadata, "2", ""),
                       "write seconds, milliseconds, microseconds or nanoseconds (s, ms, us, ns)");
    }
}

#define KEYS "\"tune_params_keys\": [\"a\", \"b\"], "
#define CACHE(keys, entries)                                                                 \
    "{" keys "\"tune_params\": {\"a\": [1, 2], \"b\": [0.5, \"x,y\"]}, \"cache\": {" entries \
    "\"2,0.5\": {\"a\": 2, \"b\": 0.5, \"time\": 7}}}"

static void test_times(void **state)
{
    static const char *const cases[][2] = {
        {CACHE(KEYS, "\"1,0.5\": {\"a\": 1, \"b\": 0.5, \"time\": -1.5}, "), "-1.5"},
        {CACHE(KEYS, "\"1,0.5\": {\"a\": 1, \"b\": 0.5, \"time\": 0}, "), "0"},
        {CACHE(KEYS, "\"1,0.5\": {\"a\": 1, \"b\": 0.5, \"time\": 2, \"times\": [5, -2]}, "), "-2"},
    };
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        const struct recording *recording = import(cases[i][0]);
        check_warning(recording, "entry \"1,0.5\": the recorded time is not above zero, so it "
                                 "counts as failed");
        assert_int_equal(recording->rows, 2);
        const struct recording_row *row = &recording->row[0];
        assert_int_equal(row->outcome, OUTCOME_FAULT);
        assert_true(isinf(row->time_ns) && row->samples == 0);
        assert_string_equal(
            row->message,
            arena_printf(arena, "the recorded time, %s ms, is not above zero", cases[i][1]));
        assert_int_equal(recording->row[1].outcome, OUTCOME_OK);
    }
    const struct recording *recording = import(t4("", "-2, 3",
                                                  ", {\"configuration\": {\"a\": 2}, \"times\": "
                                                  "{\"runtimes\": [1]}}"));
    check_warning(recording,
                  "result 1: the recorded time is not above zero, so it counts as failed");
    assert_int_equal(recording->row[0].outcome, OUTCOME_FAULT);
    import_refused(t4("", "0", ""), "no configuration here has a time");
    static const char *const costs[] = {"compile", "verification", "benchmark", "framework",
                                        "strategy"};
    for (size_t i = 0; i < STAX_COUNT(costs); i++) {
        import_refused(
            arena_printf(
                arena,
                CACHE(KEYS, "\"1,0.5\": {\"a\": 1, \"b\": 0.5, \"time\": 1, \"%s_time\": -2}, "),
                costs[i]),
            arena_printf(arena, "the %s time of entry \"1,0.5\" is negative, -0.002 s", costs[i]));
    }
    import_refused(
        t4("", "1", ", {\"configuration\": {\"a\": 2}, \"times\": {\"compilation\": -1}}"),
        "the compile time of result 2 is negative");
}

static void test_repeated(void **state)
{
#define ENTRY "\"%s\": {\"a\": 1, \"b\": 0.5, \"time\": %d}, "
    const char *text = arena_printf(arena, CACHE(KEYS, ENTRY ENTRY ENTRY), "1,0.5", 3, "1,0.5", 4,
                                    "1,0.50", 5);
    const struct recording *recording = import(text);
    check_warning(recording, "2 entries were dropped: a later one of the same configuration "
                             "replaces an earlier one");
    assert_true(recording->rows == 2 && recording->row[0].time_ns == 5e6);
    recording = import(t4("", "1",
                          ", {\"configuration\": {\"a\": 1}, \"times\": "
                          "{\"runtimes\": [2]}}"));
    check_warning(recording, "1 entry was dropped: a later one of the same configuration replaces "
                             "an earlier one");
    /* Cut off behind the second of two equal ones. */
    text = "{\"tune_params\": {\"a\": [1]}, \"cache\": {\"1\": {\"a\": 1, \"time\": 1}, \"1\": "
           "{\"a\": 1, \"time\": 2}, \"1\": {\"a\"";
    recording = import(text);
    assert_true(recording->cut_off && recording->row[0].time_ns == 2e6);
    assert_int_equal(recording->warnings, 1);
}

static void test_parameters(void **state)
{
    static const char *const refused[][2] = {
        {CACHE("\"tune_params_keys\": [\"a\"], ", ""), "tune_params_keys lacks `b`"},
        {CACHE("\"tune_params_keys\": [\"a\", \"b\", \"c\"], ", ""),
         "tune_params_keys names `c`, which tune_params lacks"},
        {CACHE("\"tune_params_keys\": [\"a\", \"b\", \"a\"], ", ""), "names a parameter twice"},
        {CACHE("\"tune_params_keys\": [\"a\", \"b\", 3], ", ""), "something that is no name"},
        {CACHE("\"tune_params_keys\": \"a b\", ", ""), "tune_params_keys is not a list"},
        {"{\"tune_params\": {\"a\": 1}, \"cache\": {\"1\": {\"a\": 1, \"time\": 1}}}",
         "`a` is not a list of values"},
    };
    for (size_t i = 0; i < STAX_COUNT(refused); i++) import_refused(refused[i][0], refused[i][1]);
    import_refused(t4("", "1", ", {\"configuration\": {\"a\": 1, \"b\": 2}, \"times\": {}}"),
                   "result 2 has a parameter that the first lacks");
    check_warning(import(CACHE(KEYS, "\"3,0.5\": {\"a\": 3, \"b\": 0.5, \"time\": 1}, "
                                     "\"4,0.5\": {\"a\": 4, \"b\": 0.5, \"time\": 1}, ")),
                  "2 entries, the first entry \"3,0.5\": a value that tune_params lacks, so the "
                  "space gets it too");
    static const char unlike[] = ": the key is not what the parameters of the entry say, which "
                                 "count";
    static const struct {
        const char *key;
        bool fits;
    } keys[] = {{"1,x,y", true}, {"1.0,x,y", true}, {"True,x,y", true}, {"2,x,y", false},
                {"1,x", false},  {"1,x,y,", false}, {"x,y,1", false},   {"", false}};
    for (size_t i = 0; i < STAX_COUNT(keys); i++) {
        const struct recording *recording = import(arena_printf(
            arena, CACHE(KEYS, "\"%s\": {\"a\": 1, \"b\": \"x,y\", \"time\": 1}, "), keys[i].key));
        assert_int_equal(recording->warnings, keys[i].fits ? 0 : 1);
        if (!keys[i].fits)
            check_warning(recording, arena_printf(arena, "entry \"%s\"%s", keys[i].key, unlike));
    }
}

#define T1(type, values, rest)                                               \
    "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"x\"" type \
    ", \"Values\": " values "}]" rest "}}"
#define TYPE(name) ", \"Type\": \"" name "\""

static void test_t1(void **state)
{
    static const char *const refused[][2] = {
        {T1("", "[1]", ", \"Conditions\": {\"x\": 1}"), "ConfigurationSpace.Conditions is not a"},
        {T1("", "[1]", ", \"Conditions\": \"x > 2\""), "expected objects with an Expression"},
        {T1("", "[1]", ", \"Conditions\": [{\"Expression\": 3}]"), "condition 1 has no Expression"},
        {T1(TYPE("wibble"), "[1]", ""),
         "`x`: Type \"wibble\" is none: write int, uint, float, bool or string"},
        {T1(", \"Type\": 3", "[1]", ""), "write int, uint, float, bool or string"},
        {T1(TYPE("int"), "[1, 1.5]", ""), "`x`: the Type is int, but Values has 1.5"},
        {T1(TYPE("int"), "\"[4 / 2]\"", ""), "the Type is int, but Values has 2.0"},
        {T1(TYPE("int"), "\"[1, 'a']\"", ""), "the Type is int, but Values has a"},
        {T1(TYPE("uint"), "[1, -1]", ""), "the Type is uint, but Values has -1"},
        {T1(TYPE("float"), "[1.5, \"a\"]", ""), "the Type is float, but Values has a"},
        {T1(TYPE("bool"), "[0, 2]", ""), "the Type is bool, but Values has 2"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": []}, \"KernelSpecification\": 3}",
         "KernelSpecification is not an object"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": []}, \"KernelSpecification\": "
         "{\"KernelName\": 3}}",
         "KernelSpecification.KernelName is not a text"},
    };
    struct t1 t1;
    for (size_t i = 0; i < STAX_COUNT(refused); i++) {
        put(refused[i][0]);
        check_message(import_t1(path, arena, &t1), refused[i][0], refused[i][1]);
    }
    static const char *const taken[] = {
        T1("", "[1, 2]", ", \"Conditions\": [\"x >= 1\"]"),
        T1(TYPE("int"), "\"[1, 2]\"", ""),
        T1(TYPE("uint"), "[0, 1]", ""),
        T1(TYPE("float"), "[1, 1.5]", ""),
        T1(TYPE("bool"), "[0, 1]", ""),
        T1(TYPE("bool"), "[true, false]", ""),
        T1(TYPE("string"), "\"['a', 'b']\"", ""),
        T1(TYPE("string"), "[16, 32]", ""),
    };
    for (size_t i = 0; i < STAX_COUNT(taken); i++) {
        put(taken[i]);
        if (import_t1(path, arena, &t1) != STAX_OK) fail_msg("%s: %s", taken[i], status_message());
        assert_int_equal(space_count(t1.space), 2);
    }
}

/* Nothing to warn about in what was published. */
static void test_recorded(void **state)
{
    static const char *const files[] = {
        "convolution-A100.json.gz",  "convolution-A100.t4.json.gz",  "convolution-A4000.json.gz",
        "dedispersion-A100.json.gz", "dedispersion-A100.t4.json.gz", "dedispersion-A4000.json.gz"};
    const char *folder = getenv("STAX_SPACES_DIR");
    if (!folder) {
        print_message("skipped: STAX_SPACES_DIR does not say where the recorded spaces are\n");
        skip();
    }
    for (size_t i = 0; i < STAX_COUNT(files); i++) {
        struct arena *own = arena_create();
        struct recording *recording;
        if (import_recording(arena_printf(own, "%s/%s", folder, files[i]), own, &recording) !=
            STAX_OK)
            fail_msg("%s", status_message());
        assert_int_equal(recording->warnings, 0);
        assert_int_equal(recording->rows, files[i][0] == 'c' ? 4362 : 11130);
        arena_destroy(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_repeated), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_t1),       cmocka_unit_test(test_recorded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
