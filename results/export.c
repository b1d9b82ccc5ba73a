/* Kernel Tuner caches and T4 results; see export.h. Their words for failures are fewer than ours:
 * an entry whose outcome or message its word does not say carries both beside it, where readers of
 * the format take them for metrics. */
#include "results/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "results/import_json.h"
#include "results/rows.h"

/* Outcome by outcome: Kernel Tuner's word (its class names) and T4's (enum `invalidity`). */
static const struct {
    const char *cache, *t4;
} words[OUTCOME_COUNT] = {
    [OUTCOME_OK] = {"", "correct"},
    [OUTCOME_CONSTRAINT] = {"InvalidConfig", "constraints"},
    [OUTCOME_COMPILE] = {"CompilationFailedConfig", "compile"},
    [OUTCOME_SPILL] = {"CompilationFailedConfig", "compile"},
    [OUTCOME_RESOURCE] = {"RuntimeFailedConfig", "runtime"},
    [OUTCOME_LAUNCH] = {"RuntimeFailedConfig", "runtime"},
    [OUTCOME_FAULT] = {"RuntimeFailedConfig", "runtime"},
    [OUTCOME_TIMEOUT] = {"RuntimeFailedConfig", "timeout"},
    [OUTCOME_WRONG] = {"RuntimeFailedConfig", "correctness"},
    [OUTCOME_UNSTABLE] = {"RuntimeFailedConfig", "runtime"},
    [OUTCOME_SKIPPED] = {"InvalidConfig", "constraints"},
};

/* ---- numbers ---- */

static double ns_of(double ms)
{
    return ms * 1e6;
}

static double s_of(double ms)
{
    return ms / 1e3;
}

static double same(double value)
{
    return value;
}

/* The shortest number near `guess` that `read`, the arithmetic of the reader, takes for `value`. A
 * fraction or exponent is always there: Kernel Tuner tells times from marks by their type. */
static void put_number(struct text *text, double value, double guess, double (*read)(double))
{
    char digits[40];
    if (!isfinite(value)) { /* no JSON, but what Python writes and reads */
        text_add(text, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    double near[] = {guess, nextafter(guess, INFINITY), nextafter(guess, -INFINITY)};
    for (int precision = 15; precision <= 17; precision++) {
        for (size_t i = 0; i < STAX_COUNT(near); i++) {
            snprintf(digits, sizeof digits, "%.*g", precision, near[i]);
            if (read(strtod(digits, NULL)) == value) goto found;
        }
    }
    snprintf(digits, sizeof digits, "%.17g", guess);
found:
    text_add(text, digits);
    if (!strpbrk(digits, ".e")) text_add(text, ".0");
}

static void put_ns(struct text *text, double ns)
{
    put_number(text, ns, ns / 1e6, ns_of);
}

static void put_s(struct text *text, double s)
{
    put_number(text, s, s * 1e3, s_of);
}

static void put_samples(struct text *text, const struct recording_row *row)
{
    text_add(text, "[");
    for (int i = 0; i < row->samples; i++) {
        if (i) text_add(text, ", ");
        put_ns(text, row->sample_ns[i]);
    }
    text_add(text, "]");
}

/* As Python prints an aware datetime in UTC, to the microsecond. */
static char *timestamp(int64_t unix_ns, struct arena *arena)
{
    int64_t us = (unix_ns + 500) / 1000;
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    char day[32] = "";
    if (gmtime_r(&seconds, &tm)) strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
    return arena_printf(arena, "%s.%06d+00:00", day, (int)(us % 1000000));
}

/* ---- what both formats share ---- */

struct place {
    int64_t time_unix_ns;
    uint64_t config;
};

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->time_unix_ns != y->time_unix_ns) return x->time_unix_ns < y->time_unix_ns ? -1 : 1;
    return x->config < y->config ? -1 : x->config > y->config;
}

static const struct place *places(const struct recording *recording, struct arena *arena)
{
    struct place *place = ARENA_ARRAY(arena, struct place, recording->rows);
    for (uint64_t i = 0; i < recording->rows; i++)
        place[i] = (struct place){recording->row[i].time_unix_ns, i};
    qsort(place, recording->rows, sizeof *place, by_time);
    return place;
}

static bool known_word(const char *text)
{
    static const char *const others[] = {"ErrorConfig"};
    for (int i = OUTCOME_OK + 1; i < OUTCOME_COUNT; i++)
        if (!strcmp(text, words[i].cache)) return true;
    return !strcmp(text, others[0]);
}

/* The word of a failure; `*more` when it does not say all: outcome and message follow it. */
static const char *failure_word(const struct recording_row *row, bool t4, bool *more)
{
    const char *word = known_word(row->message) ? row->message : words[row->outcome].cache;
    const char *read = t4 ? words[row->outcome].t4 : word; /* what its outcome is read from */
    *more = import_outcome(read) != row->outcome || strcmp(word, row->message) != 0;
    return word;
}

static void put_config(struct text *text, const struct space *space, uint64_t config)
{
    for (int p = 0; p < space_params(space); p++) {
        if (p) text_add(text, ", ");
        json_put_text(text, space_param(space, p)->name);
        text_add(text, ": ");
        json_put_value(text, space_value(space, config, p));
    }
}

/* ---- Kernel Tuner ---- */

static void put_text_member(struct text *text, const char *name, const char *value)
{
    text_printf(text, "\"%s\": ", name);
    json_put_text(text, value);
    text_add(text, ",\n");
}

/* "4096x2048" is a list of sizes; anything else stays a text. */
static void put_problem(struct text *text, const char *problem)
{
    bool sizes = problem[0] && problem[strspn(problem, "0123456789x")] == '\0' &&
                 problem[0] != 'x' && problem[strlen(problem) - 1] != 'x' && !strstr(problem, "xx");
    text_add(text, "\"problem_size\": ");
    if (!sizes) {
        json_put_text(text, problem);
    } else {
        text_add(text, "[");
        for (const char *c = problem; *c; c++) {
            if (*c == 'x')
                text_add(text, ", ");
            else
                text_add_n(text, c, 1);
        }
        text_add(text, "]");
    }
    text_add(text, ",\n");
}

static void put_params(struct text *text, const struct space *space)
{
    text_add(text, "\"tune_params_keys\": [");
    for (int p = 0; p < space_params(space); p++) {
        if (p) text_add(text, ", ");
        json_put_text(text, space_param(space, p)->name);
    }
    text_add(text, "],\n\"tune_params\": {\n");
    for (int p = 0; p < space_params(space); p++) {
        const struct param *param = space_param(space, p);
        struct value list = {.kind = VALUE_LIST, .items = param->values, .count = param->count};
        json_put_text(text, param->name);
        text_add(text, ": ");
        json_put_value(text, &list);
        text_add(text, p + 1 < space_params(space) ? ",\n" : "\n");
    }
    text_add(text, "},\n");
}

static void put_entry(struct text *text, const struct recording *recording, uint64_t config,
                      struct arena *scratch)
{
    const struct recording_row *row = &recording->row[config];
    struct text key = text_make(scratch);
    for (int p = 0; p < space_params(recording->space); p++) {
        if (p) text_add(&key, ",");
        text_add(&key, value_text(space_value(recording->space, config, p), scratch));
    }
    json_put_text(text, text_string(&key));
    text_add(text, ": {");
    put_config(text, recording->space, config);
    text_add(text, ", \"time\": ");
    bool more = false;
    if (row->outcome == OUTCOME_OK)
        put_ns(text, row->time_ns);
    else
        json_put_text(text, failure_word(row, false, &more));
    if (row->samples) {
        text_add(text, ", \"times\": ");
        put_samples(text, row);
    }
    const struct {
        const char *name;
        double s;
    } cost[] = {{"compile_time", row->compile_s},
                {"verification_time", row->verify_s},
                {"benchmark_time", row->benchmark_s},
                {"strategy_time", row->strategy_s},
                {"framework_time", row->framework_s}};
    for (size_t i = 0; i < STAX_COUNT(cost); i++) {
        text_printf(text, ", \"%s\": ", cost[i].name);
        put_s(text, cost[i].s);
    }
    for (int i = 0; i < row->metrics; i++) {
        text_add(text, ", ");
        json_put_text(text, row->metric[i].name);
        text_add(text, ": ");
        put_number(text, row->metric[i].value, row->metric[i].value, same);
    }
    if (more) {
        text_printf(text, ", \"outcome\": \"%s\", \"message\": ", outcome_table[row->outcome].name);
        json_put_text(text, row->message);
    }
    if (row->time_unix_ns)
        text_printf(text, ", \"timestamp\": \"%s\"", timestamp(row->time_unix_ns, scratch));
    text_add(text, "}");
}

const char *export_cache(const struct recording *recording, struct arena *arena)
{
    struct text text = text_make(arena);
    struct arena *scratch = arena_create();
    text_add(&text, "{\n");
    put_text_member(&text, "device_name", recording->device);
    put_text_member(&text, "kernel_name", recording->kernel);
    put_problem(&text, recording->problem);
    put_params(&text, recording->space);
    put_text_member(&text, "objective", recording->objective[0] ? recording->objective : "time");
    text_add(&text, "\"cache\": {\n");
    const struct place *place = places(recording, scratch);
    for (uint64_t i = 0; i < recording->rows; i++) {
        if (i) text_add(&text, ",\n");
        struct arena *own = arena_create();
        put_entry(&text, recording, place[i].config, own);
        arena_destroy(own);
    }
    text_add(&text, "}\n}"); /* just so: Kernel Tuner knows a closed file by these three bytes */
    arena_destroy(scratch);
    return text_string(&text);
}

/* ---- T4 ---- */

static void put_measurement(struct text *text, const char *name, const char *unit)
{
    text_add(text, "{\"name\": ");
    json_put_text(text, name);
    text_printf(text, ", \"unit\": \"%s\", \"value\": ", unit);
}

static void put_measurements(struct text *text, const struct recording_row *row)
{
    bool more = false;
    text_add(text, "\"measurements\": [");
    put_measurement(text, "time", "ms");
    if (row->outcome == OUTCOME_OK)
        put_ns(text, row->time_ns);
    else
        json_put_text(text, failure_word(row, true, &more));
    for (int i = 0; i < row->metrics; i++) {
        text_add(text, "}, ");
        put_measurement(text, row->metric[i].name, "");
        put_number(text, row->metric[i].value, row->metric[i].value, same);
    }
    if (more) {
        text_add(text, "}, ");
        put_measurement(text, "outcome", "");
        json_put_text(text, outcome_table[row->outcome].name);
        text_add(text, "}, ");
        put_measurement(text, "message", "");
        json_put_text(text, row->message);
    }
    text_add(text, "}]");
}

static void put_result(struct text *text, const struct recording *recording, uint64_t config,
                       struct arena *scratch)
{
    const struct recording_row *row = &recording->row[config];
    text_add(text, "{");
    if (row->time_unix_ns)
        text_printf(text, "\"timestamp\": \"%s\", ", timestamp(row->time_unix_ns, scratch));
    text_add(text, "\"configuration\": {");
    put_config(text, recording->space, config);
    text_add(text, "}, \"times\": {");
    const struct {
        const char *name;
        double s;
    } cost[] = {{"compilation", row->compile_s},
                {"benchmark", row->benchmark_s},
                {"framework", row->framework_s},
                {"search_algorithm", row->strategy_s},
                {"validation", row->verify_s}};
    for (size_t i = 0; i < STAX_COUNT(cost); i++) {
        text_printf(text, "\"%s\": ", cost[i].name);
        put_s(text, cost[i].s);
        text_add(text, ", ");
    }
    text_add(text, "\"runtimes\": ");
    put_samples(text, row);
    text_printf(text, "}, \"invalidity\": \"%s\", \"correctness\": %d, ", words[row->outcome].t4,
                row->outcome == OUTCOME_OK);
    put_measurements(text, row);
    text_add(text, ", \"objectives\": [");
    json_put_text(text, recording->objective[0] ? recording->objective : "time");
    text_add(text, "]}");
}

const char *export_t4(const struct recording *recording, struct arena *arena)
{
    struct text text = text_make(arena);
    struct arena *scratch = arena_create();
    text_add(&text, "{\"schema_version\": \"1.0.0\",\n\"metadata\": {\"timeunit\": "
                    "\"milliseconds\"},\n\"results\": [\n");
    const struct place *place = places(recording, scratch);
    for (uint64_t i = 0; i < recording->rows; i++) {
        if (i) text_add(&text, ",\n");
        struct arena *own = arena_create();
        put_result(&text, recording, place[i].config, own);
        arena_destroy(own);
    }
    text_add(&text, "\n]}");
    arena_destroy(scratch);
    return text_string(&text);
}
