/* Kernel Tuner caches: a header, then one entry a configuration with its parameters by name (docs
 * of Kernel Tuner 1.4, "cache files"). A failed configuration has a text where its objective
 * belongs, or an `__error__`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "results/import_json.h"

static const double MS = 1e6; /* ns: the writers' unit */

static const char *problem_text(const json_t *problem, struct arena *arena)
{
    if (json_is_string(problem)) return json_string_value(problem);
    struct text out = text_make(arena);
    for (size_t i = 0; i < json_array_size(problem); i++) {
        const json_t *size = json_array_get(problem, i);
        if (json_is_string(size))
            text_printf(&out, "%s%s", i ? "x" : "", json_string_value(size));
        else
            text_printf(&out, "%s%.17g", i ? "x" : "", json_number_value(size));
    }
    if (json_is_number(problem)) text_printf(&out, "%.17g", json_number_value(problem));
    return text_string(&out);
}

static const char *failure_of(const json_t *entry, const char *objective)
{
    const json_t *error = json_object_get(entry, "__error__");
    const json_t *places[] = {error, json_object_get(entry, objective),
                              json_object_get(entry, "time")};
    for (size_t i = 0; i < STAX_COUNT(places); i++) {
        if (json_is_string(places[i])) return json_string_value(places[i]);
    }
    if (error && !json_is_null(error)) return "__error__";
    double time = import_number(entry, "time", NAN);
    return time >= 1e19 ? "the time is a mark of failure"
                        : NULL; /* older writers mark failures by 1e20 */
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return n ? sum / n : NAN;
}

/* What an entry holds beside its parameters and the keys of the format. */
static void read_metrics(const json_t *entry, const json_t *params, struct arena *arena,
                         struct recording_row *row)
{
    static const char *const known[] = {"time",           "times",          "compile_time",
                                        "strategy_time",  "framework_time", "verification_time",
                                        "benchmark_time", "timestamp"};
    struct recording_metric *metric = ARENA_ARRAY(arena, struct recording_metric,
                                                  json_object_size(entry));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        bool other = !json_object_get(params, key);
        for (size_t i = 0; i < STAX_COUNT(known) && other; i++) other = strcmp(key, known[i]) != 0;
        if (other) import_metric(key, value, metric, &row->metrics);
    }
    row->metric = metric;
}

static struct recording_row read_entry(const json_t *entry, const char *objective,
                                       const json_t *params, struct arena *arena)
{
    struct recording_row row = {.message = "", .time_ns = INFINITY};
    row.compile_s = import_number(entry, "compile_time", 0) / 1e3;
    row.verify_s = import_number(entry, "verification_time", 0) / 1e3;
    row.benchmark_s = import_number(entry, "benchmark_time", 0) / 1e3;
    row.framework_s = import_number(entry, "framework_time", 0) / 1e3;
    row.strategy_s = import_number(entry, "strategy_time", 0) / 1e3;
    row.overhead_s = row.framework_s + row.strategy_s;
    row.time_unix_ns = import_time(import_string(entry, "timestamp"));
    const json_t *times = json_object_get(entry, "times");
    double *samples = ARENA_ARRAY(arena, double, json_array_size(times));
    for (size_t i = 0; i < json_array_size(times); i++) {
        const json_t *time = json_array_get(times, i);
        if (json_is_number(time)) samples[row.samples++] = json_number_value(time) * MS;
    }
    row.sample_ns = samples;
    const char *failure = failure_of(entry, objective);
    double time = import_number(entry, "time", NAN) * MS;
    if (isnan(time)) time = mean(samples, row.samples);
    if (failure) {
        row.outcome = import_outcome(failure);
        row.message = failure;
        row.samples = 0;
    } else if (isnan(time)) {
        row.outcome = OUTCOME_SKIPPED;
        row.message = "no time was recorded";
    } else {
        row.time_ns = time;
    }
    import_own_failure(import_string(entry, "outcome"), import_string(entry, "message"), &row);
    read_metrics(entry, params, arena, &row);
    return row;
}

/* The parameters in the order of tune_params_keys, which names each of tune_params once. */
static enum stax_status read_names(const char *path, const json_t *root, const json_t *params,
                                   struct import_table *table)
{
    const json_t *keys = json_object_get(root, "tune_params_keys");
    const char *key;
    json_t *value;
    int p = 0;
    if (keys && !json_is_array(keys))
        STAX_RETURN(STAX_FORMAT, "%s: tune_params_keys is not a list of names", path);
    json_object_foreach((json_t *)params, key, value)
    {
        size_t i = 0;
        while (i < json_array_size(keys) &&
               strcmp(key, json_is_string(json_array_get(keys, i))
                               ? json_string_value(json_array_get(keys, i))
                               : "") != 0)
            i++;
        if (keys && i == json_array_size(keys))
            STAX_RETURN(STAX_FORMAT, "%s: tune_params_keys lacks `%s` of tune_params", path, key);
        if (!json_is_array(value))
            STAX_RETURN(STAX_FORMAT, "%s: tune_params: `%s` is not a list of values", path, key);
        table->names[p++] = key;
    }
    for (p = 0; p < (int)json_array_size(keys); p++) {
        key = json_string_value(json_array_get(keys, (size_t)p));
        if (!key)
            STAX_RETURN(STAX_FORMAT, "%s: tune_params_keys holds something that is no name", path);
        if (!json_object_get(params, key))
            STAX_RETURN(STAX_FORMAT, "%s: tune_params_keys names `%s`, which tune_params lacks",
                        path, key);
        if (p == table->params)
            STAX_RETURN(STAX_FORMAT, "%s: tune_params_keys names a parameter twice", path);
        table->names[p] = key;
    }
    return STAX_OK;
}

/* Does this part of a key say this value? Numbers are compared as such: writers
 * print them in many ways, some in single precision. */
static bool says(const char *part, size_t length, const struct value *value)
{
    enum { LONGEST = 64 }; /* of a number in a key (chosen) */
    char number[LONGEST], *end;
    if (value->kind == VALUE_TEXT)
        return strlen(value->text) == length && strncmp(part, value->text, length) == 0;
    if (length == 0 || length >= LONGEST) return false;
    memcpy(number, part, length);
    number[length] = '\0';
    bool truth = value->kind == VALUE_BOOL || (value->kind == VALUE_INT && value->i >> 1 == 0);
    if (truth && strcasecmp(number, value->i ? "true" : "false") == 0)
        return true; /* True is the same value as 1 */
    double wanted = value->kind == VALUE_FLOAT ? value->f : (double)value->i;
    double found = strtod(number, &end);
    return *end == '\0' && fabs(found - wanted) <= 1e-6 * fabs(wanted);
}

/* Is the key that of the last row: its values in order, joined by commas? Keys with lists, whose
 * texts have commas of their own, are not judged. */
static bool key_fits(const char *key, const struct import_table *table)
{
    const int *index = &table->index[(table->rows - 1) * (uint64_t)table->params];
    for (int p = 0; p < table->params; p++)
        if (table->values[p][index[p]].kind == VALUE_LIST) return true;
    for (int p = 0; p < table->params; p++) {
        const struct value *value = &table->values[p][index[p]];
        size_t length = strcspn(key, ",");
        if (value->kind == VALUE_TEXT && strncmp(key, value->text, strlen(value->text)) == 0)
            length = strlen(value->text); /* may hold commas */
        if (!says(key, length, value)) return false;
        key += length;
        if (*key != (p + 1 < table->params ? ',' : '\0')) return false;
        key += *key == ',';
    }
    return true;
}

static enum stax_status read_entries(const char *path, const json_t *root,
                                     struct import_table *table, struct recording *recording)
{
    struct import_oddity no_time = {0}, outside = {0}, unlike = {0};
    const json_t *params = json_object_get(root, "tune_params");
    const char *objective = recording->objective[0] ? recording->objective : "time", *key;
    struct arena *arena = table->arena;
    int *declared = arena_copy(arena, table->value_count, (size_t)table->params * sizeof *declared);
    json_t *value;
    json_object_foreach(json_object_get(root, "cache"), key, value)
    {
        struct recording_row row = read_entry(value, objective, params, arena);
        const char *entry = arena_printf(arena, "entry \"%s\"", key);
        STAX_TRY(import_check_row(path, entry, &row, &no_time, arena));
        if (!import_table_row(table, value, &row))
            STAX_RETURN(STAX_FORMAT, "%s: %s lacks one of the parameters", path, entry);
        const int *index = &table->index[(table->rows - 1) * (uint64_t)table->params];
        bool inside = true;
        for (int p = 0; p < table->params; p++) inside = inside && index[p] < declared[p];
        if (!inside) import_odd(&outside, entry);
        if (!key_fits(key, table)) import_odd(&unlike, entry);
    }
    import_warn(recording, &no_time, IMPORT_NO_TIME, arena);
    import_warn(recording, &outside, "a value that tune_params lacks, so the space gets it too",
                arena);
    import_warn(recording, &unlike,
                "the key is not what the parameters of the entry say, which count", arena);
    return STAX_OK;
}

enum stax_status import_cache(const char *path, const json_t *root, uint64_t repeated,
                              struct arena *arena, struct recording *recording)
{
    recording->format = "Kernel Tuner cache";
    recording->device = import_string(root, "device_name");
    recording->kernel = import_string(root, "kernel_name");
    recording->objective = import_string(root, "objective");
    recording->problem = problem_text(json_object_get(root, "problem_size"), arena);
    const json_t *params = json_object_get(root, "tune_params");
    if (!json_is_object(params))
        STAX_RETURN(STAX_FORMAT, "%s: a Kernel Tuner cache without tune_params", path);
    struct import_table table;
    import_table_start(&table, (int)json_object_size(params), arena);
    table.repeated = repeated;
    STAX_TRY(read_names(path, root, params, &table));
    for (int p = 0; p < table.params; p++) {
        const json_t *list = json_object_get(params, table.names[p]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            struct value one;
            if (import_value(json_array_get(list, i), arena, &one))
                import_table_value(&table, p, &one);
        }
    }
    STAX_TRY(read_entries(path, root, &table, recording));
    return import_table_finish(&table, path, recording);
}
