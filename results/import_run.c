/* Recordings as runs of the database, and runs as recordings; see results.h. Costs that trials keep
 * as float32, and what they have no column for, go to /counters in full. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "results/db.h"
#include "results/import_json.h"

/* The /counters of an imported trial that are fields of its row. */
static const struct {
    const char *name;
    size_t at;
} fields[] = {
    {"imported.time_ns", offsetof(struct recording_row, time_ns)},
    {"imported.compile_s", offsetof(struct recording_row, compile_s)},
    {"imported.verify_s", offsetof(struct recording_row, verify_s)},
    {"imported.benchmark_s", offsetof(struct recording_row, benchmark_s)},
    {"imported.framework_s", offsetof(struct recording_row, framework_s)},
    {"imported.strategy_s", offsetof(struct recording_row, strategy_s)},
};
static const char NO_SAMPLES[] = "imported.no_samples"; /* only one number was recorded */

struct trial import_trial(const struct recording_row *row, struct arena *arena)
{
    struct trial trial = {
        .outcome = row->outcome,
        .message = row->message,
        .log = "",
        .samples = row->samples,
        .timer = TIMER_RECORDED,
        .l2 = L2_WARM, /* not recorded; their kernels run back to back */
        .compile = {.seconds = row->compile_s,
                    .registers = -1,
                    .shared_bytes = -1,
                    .spill_bytes = -1,
                    .stack_bytes = -1},
        .measure_s = row->verify_s + row->benchmark_s,
        .error_ratio = NAN,
        .clock_mhz = NAN,
        .temperature_c = NAN,
        .verified = row->outcome == OUTCOME_OK,
        .time_unix_ns = row->time_unix_ns,
    };
    trial.span_ns = arena_copy(arena, row->sample_ns, (size_t)row->samples * sizeof(double));
    if (row->outcome == OUTCOME_OK && row->samples == 0) { /* only the mean was recorded */
        trial.samples = 1;
        trial.span_ns = arena_copy(arena, &row->time_ns, sizeof row->time_ns);
    }
    trial.sum_ns = trial.span_ns;
    return trial;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *import_kernel(const struct recording *recording, const char *path, struct arena *arena)
{
    const char *name = file_name(path);
    return recording->kernel[0] ? recording->kernel : arena_text_n(arena, name, strcspn(name, "."));
}

/* ---- into the database ---- */

static int counters_of(const struct recording_row *row, struct recording_metric *out)
{
    int count = 0;
    for (size_t i = 0; i < STAX_COUNT(fields); i++) {
        double value;
        memcpy(&value, (const char *)row + fields[i].at, sizeof value);
        if (value != 0 && isfinite(value))
            out[count++] = (struct recording_metric){fields[i].name, value};
    }
    if (row->outcome == OUTCOME_OK && row->samples == 0)
        out[count++] = (struct recording_metric){NO_SAMPLES, 1};
    for (int i = 0; i < row->metrics; i++) out[count++] = row->metric[i];
    return count;
}

static struct hash128 job_of(const struct recording *recording, uint64_t config)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_string(&text, recording->format);
    text_put_string(&text, recording->kernel);
    text_put_string(&text, recording->problem);
    text_put_string(&text, recording->device);
    text_put_string(&text, space_config_text(recording->space, config, scratch));
    struct hash128 hash = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return hash;
}

static enum stax_status add_rows(struct run *run, const struct recording *recording)
{
    for (uint64_t i = 0; i < recording->rows; i++) {
        const struct recording_row *row = &recording->row[i];
        struct arena *scratch = arena_create();
        struct trial trial = import_trial(row, scratch);
        size_t most = STAX_COUNT(fields) + 1 + (size_t)row->metrics;
        struct recording_metric *counter = ARENA_ARRAY(scratch, struct recording_metric, most);
        enum stax_status status = run_trial_counters(run, i, job_of(recording, i), trial.samples,
                                                     &trial, counters_of(row, counter), counter);
        arena_destroy(scratch);
        STAX_TRY(status);
    }
    return STAX_OK;
}

/* Best by the median, as for every run of ours, though the file's own objective may be a mean. */
static struct run_result result_of(const struct recording *recording, struct arena *arena)
{
    struct run_result result = {
        .complete = !recording->cut_off, .best_ns = INFINITY, .best_text = "", .default_ns = NAN};
    uint64_t best = 0;
    for (uint64_t i = 0; i < recording->rows; i++) {
        const struct recording_row *row = &recording->row[i];
        result.elapsed_s += row->compile_s + row->verify_s + row->benchmark_s + row->overhead_s;
        if (row->outcome != OUTCOME_OK) continue;
        double ns = row->samples ? stats_median(row->sample_ns, row->samples) : row->time_ns;
        if (!(ns < result.best_ns)) continue;
        result.best_ns = ns;
        result.has_best = true;
        best = i;
    }
    if (!result.has_best) return result;
    struct summary summary = stats_summary(recording->row[best].sample_ns,
                                           recording->row[best].samples, 0.95);
    result.best_low_ns = summary.low;
    result.best_high_ns = summary.high;
    result.best_config = space_config_hash(recording->space, best);
    result.best_text = space_config_text(recording->space, best, arena);
    return result;
}

static int64_t first_time(const struct recording *recording)
{
    int64_t first = 0;
    for (uint64_t i = 0; i < recording->rows; i++) {
        int64_t time = recording->row[i].time_unix_ns;
        if (time && (!first || time < first)) first = time;
    }
    return first; /* 0: now */
}

static enum stax_status content_key(const char *path, struct arena *arena, const char **key)
{
    struct arena *scratch = arena_create();
    char *text, hex[33];
    size_t length;
    bool cut_off;
    enum stax_status status = import_read_file(path, scratch, &text, &length, &cut_off);
    if (status == STAX_OK) {
        hash128_hex(hash128_bytes(text, length), hex);
        *key = arena_printf(arena, "imported %s", hex);
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status find_key(struct db *db, const char *key, struct arena *arena, bool *found,
                                 uint64_t *number)
{
    struct stored_run *runs;
    uint64_t count;
    *found = false;
    STAX_TRY(db_runs(db, arena, &runs, &count));
    for (uint64_t i = 0; i < count && !*found; i++) {
        *found = !strcmp(runs[i].info.key, key);
        *number = runs[i].id;
    }
    return STAX_OK;
}

static enum stax_status add_recording(struct db *db, const char *path, const char *key,
                                      const struct recording *recording, struct arena *arena)
{
    const char *name = file_name(path);
    const char *kernel = recording->kernel[0] ? recording->kernel
                                              : arena_text_n(arena, name, strcspn(name, "."));
    struct device_info device = {.kind = DEVICE_CUDA,
                                 .spec = "",
                                 .name = recording->device,
                                 .uuid = "",
                                 .arch = "",
                                 .driver = "",
                                 .compiler = "",
                                 .timer_note = recording->format};
    struct text settings = text_make(arena);
    text_add(&settings, "{\"file\": ");
    json_put_text(&settings, file_name(path));
    text_add(&settings, ", \"format\": ");
    json_put_text(&settings, recording->format);
    text_add(&settings, ", \"objective\": ");
    json_put_text(&settings, recording->objective);
    text_add(&settings, "}");
    const struct run_info info = {
        .kernel = kernel,
        .problem = recording->problem[0] ? arena_printf(arena, "%s %s", kernel, recording->problem)
                                         : kernel,
        .source_hash = hash128_bytes(key, strlen(key)),
        .device = &device,
        .timer = TIMER_RECORDED,
        .l2 = L2_WARM,
        .protocol = arena_printf(arena, "%s, as recorded", recording->format),
        .strategy = IMPORT_STRATEGY,
        .settings = text_string(&settings),
        .command = arena_printf(arena, "results import %s", path),
        .key = key,
        .space = recording->space,
        .started_unix_ns = first_time(recording),
    };
    struct run *run;
    STAX_TRY(run_begin(db, &info, arena, &run));
    STAX_TRY(add_rows(run, recording));
    struct run_result result = result_of(recording, arena);
    return run_end(run, &result);
}

enum stax_status db_import(struct db *db, const char *path, struct arena *arena,
                           struct db_imported *out)
{
    struct recording *recording;
    const char *key;
    bool found;
    *out = (struct db_imported){0};
    if (db_is_hdf5(path))
        STAX_RETURN(STAX_USAGE, "%s is a database: stax-tune results merge adds its runs", path);
    STAX_TRY(import_recording(path, arena, &recording));
    STAX_TRY(content_key(path, arena, &key));
    out->recording = recording;
    STAX_TRY(find_key(db, key, arena, &out->present, &out->run));
    if (out->present) return STAX_OK;
    STAX_TRY(add_recording(db, path, key, recording, arena));
    STAX_TRY(find_key(db, key, arena, &found, &out->run));
    return found ? STAX_OK
                 : status_set(STAX_INTERNAL, "%s: imported, but not found again", db_path(db));
}

/* ---- out of the database ---- */

struct candidate {
    const struct trials_row *row;
    uint64_t number; /* of the trial in its run */
};

/* Trials of one configuration together; that to keep first. */
static int by_config(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = memcmp(&x->row->config_hash, &y->row->config_hash, sizeof x->row->config_hash);
    if (order) return order;
    bool x_ok = x->row->outcome == OUTCOME_OK, y_ok = y->row->outcome == OUTCOME_OK;
    if (x_ok != y_ok) return x_ok ? -1 : 1;
    if (x->row->samples_count != y->row->samples_count)
        return x->row->samples_count > y->row->samples_count ? -1 : 1;
    return x->number > y->number ? -1 : 1;
}

static struct candidate *choose_trials(const struct batch *batch, struct arena *arena,
                                       uint64_t *count)
{
    uint64_t all = batch->count[TABLE_trials], used = 0;
    struct candidate *candidate = ARENA_ARRAY(arena, struct candidate, all);
    for (uint64_t i = 0; i < all; i++) {
        const struct trials_row *row = BATCH_ROWS(batch, trials) + i;
        if (row->outcome != OUTCOME_SKIPPED) candidate[used++] = (struct candidate){row, i};
    }
    qsort(candidate, used, sizeof *candidate, by_config);
    *count = 0;
    for (uint64_t i = 0; i < used; i++) {
        if (*count &&
            hash128_equal(candidate[*count - 1].row->config_hash, candidate[i].row->config_hash))
            continue;
        candidate[(*count)++] = candidate[i];
    }
    return candidate;
}

static enum stax_status indices_of(const struct batch *batch, const struct trials_row *trial,
                                   int *index)
{
    int params = (int)batch->count[TABLE_params];
    const struct config_values_row *value = BATCH_ROWS(batch, config_values) + trial->values;
    for (int p = 0; p < params; p++) {
        if (trial->values_count != params || value[p].param != p || value[p].value_index < 0 ||
            value[p].value_index >= BATCH_ROWS(batch, params)[p].values_count)
            STAX_RETURN(STAX_FORMAT, "a recorded configuration does not fit its space");
        index[p] = value[p].value_index;
    }
    return STAX_OK;
}

static void take_counter(const struct counters_row *counter, struct recording_row *row,
                         struct recording_metric *metric, struct arena *arena)
{
    for (size_t i = 0; i < STAX_COUNT(fields); i++) {
        if (strcmp(counter->name, fields[i].name) != 0) continue;
        memcpy((char *)row + fields[i].at, &counter->value, sizeof counter->value);
        return;
    }
    if (!strcmp(counter->name, NO_SAMPLES))
        row->samples = 0;
    else
        metric[row->metrics++] = (struct recording_metric){arena_text(arena, counter->name),
                                                           counter->value};
}

/* Facts of the compiler as metrics, for runs of ours. */
static void take_facts(const struct trials_row *trial, struct recording_row *row,
                       struct recording_metric *metric)
{
    const struct recording_metric facts[] = {{"registers", trial->registers},
                                             {"shared_bytes", (double)trial->shared_bytes},
                                             {"spill_bytes", (double)trial->spill_bytes}};
    for (size_t i = 0; i < STAX_COUNT(facts); i++)
        if (facts[i].value >= 0) metric[row->metrics++] = facts[i];
}

static struct recording_row row_of(const struct batch *batch, const struct candidate *candidate,
                                   uint64_t first_counter, uint64_t end_counter,
                                   struct arena *arena)
{
    enum { FACTS = 3 };
    const struct trials_row *trial = candidate->row;
    struct trial measured;
    rows_to_trial(trial, BATCH_ROWS(batch, samples) + trial->samples, arena, &measured);
    bool ok = trial->outcome == OUTCOME_OK;
    struct recording_row row = {.outcome = (enum outcome)trial->outcome,
                                .message = arena_text(arena, trial->message),
                                .time_ns = trial_time_ns(&measured),
                                .samples = ok ? measured.samples : 0,
                                .sample_ns = measured.span_ns,
                                .compile_s = trial->compile_s,
                                .benchmark_s = trial->measure_s,
                                .time_unix_ns = trial->time_unix_ns > 0 ? trial->time_unix_ns : 0};
    if (isnan(row.compile_s)) row.compile_s = 0;
    if (isnan(row.benchmark_s)) row.benchmark_s = 0;
    struct recording_metric *metric = ARENA_ARRAY(arena, struct recording_metric,
                                                  FACTS + end_counter - first_counter);
    if (trial->timer == TIMER_RECORDED)
        row.compile_s = row.benchmark_s = 0; /* the counters have them in full */
    for (uint64_t i = first_counter; i < end_counter; i++)
        take_counter(BATCH_ROWS(batch, counters) + i, &row, metric, arena);
    take_facts(trial, &row, metric);
    row.overhead_s = row.framework_s + row.strategy_s;
    row.metric = metric;
    return row;
}

/* first[t]: where the counters of trial t begin; they are stored trial by trial. */
static uint64_t *counters_by_trial(const struct batch *batch, struct arena *arena)
{
    uint64_t trials = batch->count[TABLE_trials], at = 0;
    uint64_t *first = ARENA_ARRAY(arena, uint64_t, trials + 1);
    for (uint64_t t = 0; t <= trials; t++) {
        while (at < batch->count[TABLE_counters] &&
               BATCH_ROWS(batch, counters)[at].trial < (int64_t)t)
            at++;
        first[t] = at;
    }
    return first;
}

/* Texts that an import wrote into the settings of its run. */
static const char *setting(const struct runs_row *run, const char *name, struct arena *arena)
{
    json_t *root = strcmp(run->strategy, IMPORT_STRATEGY) ? NULL
                                                          : json_loads(run->settings, 0, NULL);
    const char *text = arena_text(arena, import_string(root, name));
    json_decref(root);
    return text;
}

enum stax_status recording_from_run(const struct batch *batch, struct arena *scratch,
                                    struct arena *arena, struct recording *recording)
{
    const struct runs_row *run = BATCH_ROWS(batch, runs);
    const struct kernels_row *kernel = BATCH_ROWS(batch, kernels);
    uint64_t count, params = batch->count[TABLE_params];
    struct candidate *candidate = choose_trials(batch, scratch, &count);
    if (count == 0) STAX_RETURN(STAX_USAGE, "this run has no trials: there is nothing to export");
    int *index = ARENA_ARRAY(scratch, int, count *params);
    for (uint64_t i = 0; i < count; i++)
        STAX_TRY(indices_of(batch, candidate[i].row, index + i * params));
    bool imported = !strcmp(run->strategy, IMPORT_STRATEGY);
    size_t name = strlen(kernel->name);
    const char *problem = kernel->problem;
    if (imported && !strncmp(problem, kernel->name, name)) {
        problem += name;
        problem += *problem == ' ';
    }
    *recording = (struct recording){.format = "stax-tune",
                                    .device = arena_text(arena, run->device_name),
                                    .kernel = arena_text(arena, kernel->name),
                                    .problem = arena_text(arena, problem),
                                    .objective = setting(run, "objective", arena),
                                    .rows = count,
                                    .cut_off = !run->complete};
    if (!recording->objective[0]) recording->objective = "time";
    STAX_TRY(rows_to_space(batch, index, count, arena, &recording->space));
    if (space_count(recording->space) != count)
        STAX_RETURN(STAX_FORMAT, "the recorded configurations do not fit their space");
    recording->row = ARENA_ARRAY(arena, struct recording_row, count);
    const uint64_t *first = counters_by_trial(batch, scratch);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t config, trial = candidate[i].number;
        if (!space_rank(recording->space, index + i * params, &config, NULL))
            STAX_RETURN(STAX_FORMAT, "a recorded configuration does not fit its space");
        recording->row[config] = row_of(batch, &candidate[i], first[trial], first[trial + 1],
                                        arena);
    }
    return STAX_OK;
}

enum stax_status db_recording(struct db *db, uint64_t run, struct arena *arena,
                              struct recording **out)
{
    struct view view;
    struct batch batch;
    uint64_t number;
    struct recording *recording = ARENA_NEW(arena, struct recording);
    STAX_TRY(view_open(db, &view));
    enum stax_status status = view_find(&view, run, &number);
    if (status == STAX_OK) status = view_run(&view, number, view.arena, &batch);
    if (status == STAX_OK) {
        status = recording_from_run(&batch, view.arena, arena, recording);
        if (status != STAX_OK)
            status_prefix(status, "%s: run %llu", db_path(db), (unsigned long long)run);
    }
    view_close(&view);
    if (status == STAX_OK) *out = recording;
    return status;
}
