/* T4 results 1.0.0: an array of measured configurations. The schema says `compilation_time`, the
 * writers say `compilation`; the benchmark time is often missing and then is the sum of the
 * samples. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "results/import_json.h"

/* ns of the document's time unit. Absent it is milliseconds, which the writers that leave it out
 * mean; "miliseconds" is what published files say. */
static enum stax_status unit_ns(const char *path, const json_t *root, double *ns)
{
    static const struct {
        const char *name[5];
        double ns;
    } units[] = {{{"milliseconds", "millisecond", "ms", "miliseconds", "milisecond"}, 1e6},
                 {{"seconds", "second", "s"}, 1e9},
                 {{"microseconds", "microsecond", "us"}, 1e3},
                 {{"nanoseconds", "nanosecond", "ns"}, 1}};
    const json_t *unit = json_object_get(json_object_get(root, "metadata"), "timeunit");
    *ns = units[0].ns;
    if (!unit) return STAX_OK;
    const char *text = json_is_string(unit) ? json_string_value(unit) : "";
    for (size_t u = 0; u < STAX_COUNT(units); u++) {
        for (size_t n = 0; n < STAX_COUNT(units[u].name) && units[u].name[n]; n++) {
            *ns = units[u].ns;
            if (strcasecmp(text, units[u].name[n]) == 0) return STAX_OK;
        }
    }
    STAX_RETURN(STAX_FORMAT,
                "%s: metadata.timeunit \"%s\" is no unit: write seconds, milliseconds, "
                "microseconds or nanoseconds (s, ms, us, ns)",
                path, text);
}

static double seconds(const json_t *times, const char *key, const char *other, double unit)
{
    double time = import_number(times, key, NAN);
    if (isnan(time) && other) time = import_number(times, other, NAN);
    return isnan(time) ? 0 : time / (1e9 / unit); /* ms: over 1000, as in caches */
}

/* The measurement called "time", or the first objective's. */
static const json_t *measurement(const json_t *result)
{
    const json_t *list = json_object_get(result, "measurements"), *found = NULL;
    const char *objective = json_string_value(
        json_array_get(json_object_get(result, "objectives"), 0));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = import_string(one, "name");
        if (strcmp(name, "time") == 0) return json_object_get(one, "value");
        if (objective && strcmp(name, objective) == 0) found = json_object_get(one, "value");
    }
    return found;
}

/* Other measurements; what our exports add there about a failure. */
static void read_measurements(const json_t *result, struct arena *arena, struct recording_row *row)
{
    const json_t *list = json_object_get(result, "measurements");
    const char *outcome = "", *message = "";
    struct recording_metric *metric = ARENA_ARRAY(arena, struct recording_metric,
                                                  json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = import_string(one, "name");
        if (strcmp(name, "outcome") == 0) outcome = import_string(one, "value");
        if (strcmp(name, "message") == 0) message = import_string(one, "value");
        if (strcmp(name, "time") != 0)
            import_metric(name, json_object_get(one, "value"), metric, &row->metrics);
    }
    row->metric = metric;
    import_own_failure(outcome, message, row);
}

static struct recording_row read_result(const json_t *result, double unit, struct arena *arena)
{
    struct recording_row row = {.message = "", .time_ns = INFINITY};
    const json_t *times = json_object_get(result, "times"),
                 *runs = json_object_get(times, "runtimes");
    double *samples = ARENA_ARRAY(arena, double, json_array_size(runs)), sum = 0;
    double spent = 0; /* by times that can be ones */
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (!json_is_number(run)) continue;
        double sample = json_number_value(run) * unit;
        samples[row.samples++] = sample;
        sum += sample;
        spent += fmax(sample, 0);
    }
    row.sample_ns = samples;
    row.compile_s = seconds(times, "compilation", "compilation_time", unit);
    row.verify_s = seconds(times, "validation", NULL, unit);
    row.benchmark_s = seconds(times, "benchmark", NULL, unit);
    if (!json_object_get(times, "benchmark")) row.benchmark_s = spent / 1e9;
    row.framework_s = seconds(times, "framework", NULL, unit);
    row.strategy_s = seconds(times, "search_algorithm", NULL, unit);
    row.overhead_s = row.framework_s + row.strategy_s;
    row.time_unix_ns = import_time(import_string(result, "timestamp"));

    const char *invalidity = import_string(result, "invalidity");
    const json_t *time = measurement(result);
    bool correct = invalidity[0] == '\0' || strcmp(invalidity, "correct") == 0;
    if (!correct || json_is_string(time)) {
        row.message = json_is_string(time) ? json_string_value(time) : invalidity;
        row.outcome = import_outcome(correct ? row.message : invalidity);
        row.samples = 0;
    } else if (json_is_number(time) || row.samples) {
        row.time_ns = json_is_number(time) ? json_number_value(time) * unit : sum / row.samples;
    } else {
        row.outcome = OUTCOME_SKIPPED;
        row.message = "no time was recorded";
    }
    read_measurements(result, arena, &row);
    return row;
}

enum stax_status import_t4(const char *path, const json_t *root, struct arena *arena,
                           struct recording *recording)
{
    const json_t *results = json_object_get(root, "results");
    json_t *first = json_object_get(json_array_get(results, 0), "configuration");
    recording->format = "T4";
    recording->objective = json_string_value(
        json_array_get(json_object_get(json_array_get(results, 0), "objectives"), 0));
    if (!recording->objective) recording->objective = "time";

    struct import_table table;
    import_table_start(&table, (int)json_object_size(first), arena);
    const char *key;
    json_t *value;
    int p = 0;
    json_object_foreach(first, key, value) table.names[p++] = key;
    double unit;
    STAX_TRY(unit_ns(path, root, &unit));
    struct import_oddity no_time = {0};
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const json_t *configuration = json_object_get(result, "configuration");
        struct recording_row row = read_result(result, unit, arena);
        const char *entry = arena_printf(arena, "result %zu", i + 1);
        STAX_TRY(import_check_row(path, entry, &row, &no_time, arena));
        if (!import_table_row(&table, configuration, &row))
            STAX_RETURN(STAX_FORMAT, "%s: %s lacks one of the parameters of the first", path,
                        entry);
        if (json_object_size(configuration) != (size_t)table.params)
            STAX_RETURN(STAX_FORMAT, "%s: %s has a parameter that the first lacks", path, entry);
    }
    import_warn(recording, &no_time, IMPORT_NO_TIME, arena);
    return import_table_finish(&table, path, recording);
}
