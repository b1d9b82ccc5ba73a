/* Trials as CSV (RFC 4180): one row a trial, one column a parameter; see results.h. The trial's own
 * columns come from record.def, so that a new one shows up by itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/db.h"

struct csv {
    struct arena *arena;
    struct text text;
    int params, capacity;
    const char **param; /* the names of all runs in the order of their first appearance */
};

static void put_cell(struct csv *csv, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        text_add(&csv->text, cell);
        return;
    }
    text_add(&csv->text, "\"");
    for (; *cell; cell++) {
        if (*cell == '"') text_add(&csv->text, "\"");
        text_add_n(&csv->text, cell, 1);
    }
    text_add(&csv->text, "\"");
}

static bool shown(const struct record_column *column)
{
    return column->kind != KIND_REF;
}

static void put_member(struct csv *csv, const struct record_column *column, const void *member)
{
    char hex[33];
    int count;
    double real = column->kind == KIND_F32 ? (double)*(const float *)member : NAN;
    switch (column->kind) {
    case KIND_TEXT: put_cell(csv, *(const char *const *)member); break;
    case KIND_BOOL: text_add(&csv->text, *(const uint8_t *)member ? "1" : "0"); break;
    case KIND_ENUM:
        put_cell(csv,
                 record_enum_names((enum record_enum)column->of, &count)[*(const uint8_t *)member]);
        break;
    case KIND_HEX:
        hash128_hex(*(const struct hash128 *)member, hex);
        text_add(&csv->text, hex);
        break;
    case KIND_I32: text_printf(&csv->text, "%d", *(const int32_t *)member); break;
    case KIND_U64: text_printf(&csv->text, "%llu", *(const unsigned long long *)member); break;
    case KIND_F64: real = *(const double *)member; /* fall through */
    case KIND_F32:
        if (!isnan(real)) text_printf(&csv->text, "%.9g", real); /* 9 digits name a float exactly */
        break;
    default: text_printf(&csv->text, "%lld", *(const long long *)member); break;
    }
}

static int find_param(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->params; i++) {
        if (!strcmp(csv->param[i], name)) return i;
    }
    return -1;
}

static void collect_params(struct csv *csv, const struct batch *batch)
{
    const struct params_row *row = BATCH_ROWS(batch, params);
    for (uint64_t i = 0; i < batch->count[TABLE_params]; i++, row++) {
        if (find_param(csv, row->name) >= 0) continue;
        if (csv->params == csv->capacity) {
            csv->capacity = csv->capacity ? 2 * csv->capacity : 16;
            csv->param = arena_grow(csv->arena, csv->param, (size_t)csv->params,
                                    (size_t)csv->capacity, sizeof *csv->param);
        }
        csv->param[csv->params++] = arena_text(csv->arena, row->name);
    }
}

static const char *const run_columns[] = {"run", "kernel", "problem", "device", "strategy", "seed"};

/* A parameter that is called like another column gets a prefix. */
static bool name_taken(const char *name)
{
    for (size_t i = 0; i < STAX_COUNT(run_columns); i++) {
        if (!strcmp(run_columns[i], name)) return true;
    }
    for (int i = FIRST_trials; i < END_trials; i++) {
        if (shown(&record_columns[i]) && !strcmp(record_columns[i].name, name)) return true;
    }
    return false;
}

static void put_head(struct csv *csv)
{
    for (size_t i = 0; i < STAX_COUNT(run_columns); i++)
        text_printf(&csv->text, "%s%s", i ? "," : "", run_columns[i]);
    for (int i = 0; i < csv->params; i++) {
        text_add(&csv->text, name_taken(csv->param[i]) ? ",param_" : ",");
        put_cell(csv, csv->param[i]);
    }
    for (int i = FIRST_trials; i < END_trials; i++) {
        if (shown(&record_columns[i])) text_printf(&csv->text, ",%s", record_columns[i].name);
    }
    text_add(&csv->text, "\n");
}

static void put_trial(struct csv *csv, const struct batch *batch, uint64_t run,
                      const struct trials_row *trial, const char **cells)
{
    const struct runs_row *of = BATCH_ROWS(batch, runs);
    const struct kernels_row *kernel = BATCH_ROWS(batch, kernels);
    const char *texts[] = {kernel->name, kernel->problem, of->device_name, of->strategy};
    text_printf(&csv->text, "%llu", (unsigned long long)run);
    for (size_t i = 0; i < STAX_COUNT(texts); i++) {
        text_add(&csv->text, ",");
        put_cell(csv, texts[i]);
    }
    text_printf(&csv->text, ",%llu", (unsigned long long)of->seed);
    for (int i = 0; i < csv->params; i++) cells[i] = "";
    const struct config_values_row *value = BATCH_ROWS(batch, config_values) + trial->values;
    for (int i = 0; i < trial->values_count; i++, value++) {
        cells[find_param(csv, BATCH_ROWS(batch, params)[value->param].name)] = value->value_text;
    }
    for (int i = 0; i < csv->params; i++) {
        text_add(&csv->text, ",");
        put_cell(csv, cells[i]);
    }
    for (int i = FIRST_trials; i < END_trials; i++) {
        if (!shown(&record_columns[i])) continue;
        text_add(&csv->text, ",");
        put_member(csv, &record_columns[i], (const char *)trial + record_columns[i].at);
    }
    text_add(&csv->text, "\n");
}

static enum stax_status put_runs(struct csv *csv, struct view *view, uint64_t first, uint64_t end)
{
    struct batch *batch = ARENA_ARRAY(view->arena, struct batch, end - first);
    for (uint64_t run = first; run < end; run++) {
        STAX_TRY(view_run(view, run, view->arena, &batch[run - first]));
        collect_params(csv, &batch[run - first]);
    }
    put_head(csv);
    const char **cells = ARENA_ARRAY(view->arena, const char *, csv->params);
    for (uint64_t run = first; run < end; run++) {
        const struct batch *of = &batch[run - first];
        for (uint64_t i = 0; i < of->count[TABLE_trials]; i++) {
            put_trial(csv, of, run, BATCH_ROWS(of, trials) + i, cells);
        }
    }
    return STAX_OK;
}

enum stax_status db_csv(struct db *db, uint64_t run, struct arena *arena, const char **text)
{
    struct view view;
    struct csv csv = {.arena = arena, .text = text_make(arena)};
    STAX_TRY(view_open(db, &view));
    uint64_t first = 0;
    enum stax_status status = run == UINT64_MAX ? STAX_OK : view_find(&view, run, &first);
    if (status == STAX_OK)
        status = put_runs(&csv, &view, first, run == UINT64_MAX ? view.runs : first + 1);
    view_close(&view);
    if (status == STAX_OK) *text = text_string(&csv.text);
    return status;
}
