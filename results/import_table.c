/* Recorded rows, checked, into a space and its ranks; see import_json.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "results/import_json.h"

void import_odd(struct import_oddity *oddity, const char *entry)
{
    if (oddity->count++ == 0) oddity->first = entry;
}

void import_warn(struct recording *recording, const struct import_oddity *oddity, const char *what,
                 struct arena *arena)
{
    if (oddity->count == 0) return;
    int n = recording->warnings++;
    recording->warning = arena_grow(arena, recording->warning, (size_t)n, (size_t)n + 1,
                                    sizeof *recording->warning);
    recording->warning[n] = oddity->count == 1
                                ? arena_printf(arena, "%s: %s", oddity->first, what)
                                : arena_printf(arena, "%" PRIu64 " entries, the first %s: %s",
                                               oddity->count, oddity->first, what);
}

enum stax_status import_check_row(const char *path, const char *entry, struct recording_row *row,
                                  struct import_oddity *no_time, struct arena *arena)
{
    const struct {
        const char *name;
        double s;
    } costs[] = {{"compile", row->compile_s},
                 {"verification", row->verify_s},
                 {"benchmark", row->benchmark_s},
                 {"framework", row->framework_s},
                 {"strategy", row->strategy_s}};
    for (size_t i = 0; i < STAX_COUNT(costs); i++)
        if (costs[i].s < 0)
            STAX_RETURN(STAX_FORMAT,
                        "%s: the %s time of %s is negative, %g s: correct or remove it", path,
                        costs[i].name, entry, costs[i].s);
    if (row->outcome != OUTCOME_OK) return STAX_OK;
    double least = row->time_ns;
    for (int i = 0; i < row->samples; i++) least = fmin(least, row->sample_ns[i]);
    if (least > 0) return STAX_OK;
    import_odd(no_time, entry);
    row->outcome = OUTCOME_FAULT;
    row->message = arena_printf(arena, "the recorded time, %.17g ms, is not above zero",
                                least / 1e6);
    row->time_ns = INFINITY;
    row->samples = 0;
    return STAX_OK;
}

void import_table_start(struct import_table *table, int params, struct arena *arena)
{
    *table = (struct import_table){.arena = arena, .params = params};
    table->names = ARENA_ARRAY(arena, const char *, params);
    table->values = ARENA_ARRAY(arena, struct value *, params);
    table->value_count = ARENA_ARRAY(arena, int, params);
    table->value_capacity = ARENA_ARRAY(arena, int, params);
}

int import_table_value(struct import_table *table, int param, const struct value *value)
{
    int count = table->value_count[param];
    for (int i = 0; i < count; i++) {
        if (value_equal(&table->values[param][i], value)) return i;
    }
    if (count == table->value_capacity[param]) {
        int capacity = count ? 2 * count : 16;
        table->values[param] = arena_grow(table->arena, table->values[param], (size_t)count,
                                          (size_t)capacity, sizeof *value);
        table->value_capacity[param] = capacity;
    }
    table->values[param][count] = *value;
    return table->value_count[param]++;
}

bool import_table_row(struct import_table *table, const json_t *object,
                      const struct recording_row *row)
{
    size_t width = (size_t)table->params;
    if (table->rows == table->capacity) {
        uint64_t capacity = table->capacity ? 2 * table->capacity : 1024;
        table->index = arena_grow(table->arena, table->index, table->rows * width, capacity * width,
                                  sizeof *table->index);
        table->row = arena_grow(table->arena, table->row, table->rows, capacity,
                                sizeof *table->row);
        table->capacity = capacity;
    }
    for (int p = 0; p < table->params; p++) {
        struct value value;
        if (!import_value(json_object_get(object, table->names[p]), table->arena, &value))
            return false;
        table->index[table->rows * width + (size_t)p] = import_table_value(table, p, &value);
    }
    table->row[table->rows++] = *row;
    return true;
}

/* The space may keep values in another order than the table, and writes equal ones once. */
static void reorder(struct import_table *table, const struct space *space)
{
    for (int p = 0; p < table->params; p++) {
        const struct param *param = space_param(space, p);
        int *to = ARENA_ARRAY(table->arena, int, table->value_count[p]);
        for (int i = 0; i < table->value_count[p]; i++) {
            for (int v = 0; v < param->count; v++) {
                if (value_equal(&param->values[v], &table->values[p][i])) to[i] = v;
            }
        }
        for (uint64_t r = 0; r < table->rows; r++) {
            int *index = &table->index[r * (uint64_t)table->params + (uint64_t)p];
            *index = to[*index];
        }
    }
}

static void warn_of_repeats(const struct import_table *table, struct recording *recording)
{
    uint64_t more = table->rows - recording->rows + table->repeated;
    const struct import_oddity oddity = {more ? 1 : 0,
                                         arena_printf(table->arena, "%" PRIu64 " %s dropped", more,
                                                      more == 1 ? "entry was" : "entries were")};
    import_warn(recording, &oddity, "a later one of the same configuration replaces an earlier one",
                table->arena);
}

enum stax_status import_table_finish(struct import_table *table, const char *path,
                                     struct recording *recording)
{
    if (table->rows == 0) STAX_RETURN(STAX_FORMAT, "%s: no configuration is recorded here", path);
    struct space *space = space_create(recording->kernel[0] ? recording->kernel : path,
                                       table->arena);
    for (int p = 0; p < table->params; p++) {
        enum stax_status status = space_add_values(space, table->names[p], table->values[p],
                                                   table->value_count[p], false);
        if (status != STAX_OK) return status_prefix(status, "%s", path);
    }
    reorder(table, space);
    STAX_TRY(space_restrict_to(space, table->index, table->rows));
    STAX_TRY(space_finish(space));
    recording->space = space;
    recording->rows = space_count(space);
    warn_of_repeats(table, recording);
    recording->row = ARENA_ARRAY(table->arena, struct recording_row, recording->rows);
    for (uint64_t r = 0; r < table->rows;
         r++) { /* a later row of the same configuration replaces the earlier */
        uint64_t config;
        STAX_CHECK(space_rank(space, &table->index[r * (uint64_t)table->params], &config, NULL));
        recording->row[config] = table->row[r];
    }
    return STAX_OK;
}

enum stax_status import_recording(const char *path, struct arena *arena, struct recording **out)
{
    struct recording *recording = ARENA_NEW(arena, struct recording);
    recording->device = recording->kernel = recording->problem = recording->objective = "";
    const json_t *root;
    uint64_t repeated;
    STAX_TRY(import_parse(path, arena, &root, &recording->cut_off, &repeated));
    enum stax_status status;
    if (json_is_object(json_object_get(root, "cache"))) {
        status = import_cache(path, root, repeated, arena, recording);
    } else if (json_is_array(json_object_get(root, "results"))) {
        status = import_t4(path, root, arena, recording);
    } else {
        const char *hint = json_object_get(root, "ConfigurationSpace")
                               ? ": it is a T1 file, which describes a space"
                               : "";
        STAX_RETURN(
            STAX_FORMAT,
            "%s holds no recorded configurations, neither as a Kernel Tuner cache nor as T4%s",
            path, hint);
    }
    STAX_TRY(status);
    for (uint64_t i = 0; i < recording->rows; i++) {
        if (recording->row[i].outcome == OUTCOME_OK) {
            *out = recording;
            return STAX_OK;
        }
    }
    STAX_RETURN(STAX_FORMAT, "%s: no configuration here has a time", path);
}
