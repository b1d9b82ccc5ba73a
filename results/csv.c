/* Trials as CSV (RFC 4180): one row a trial, one column a parameter; see results.h. The trial's own
 * columns come from record.def, so that a new one shows up by itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/db.h"

/* Where a column comes from. */
enum origin { FROM_RUN, FROM_PARAM, FROM_TRIAL };
struct csv_column {
    const char *name;
    enum origin origin;
    int index; /* in run_columns, params or record_columns */
};

struct csv {
    struct arena *arena;
    struct text text;
    int params, capacity;
    const char **param; /* the names of all runs in the order of their first appearance */
    int columns;
    struct csv_column *column;
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

static void all_columns(struct csv *csv)
{
    size_t most = STAX_COUNT(run_columns) + (size_t)csv->params + END_trials - FIRST_trials;
    csv->column = ARENA_ARRAY(csv->arena, struct csv_column, most);
    for (int i = 0; i < (int)STAX_COUNT(run_columns); i++)
        csv->column[csv->columns++] = (struct csv_column){run_columns[i], FROM_RUN, i};
    for (int i = 0; i < csv->params; i++) {
        const char *name = csv->param[i];
        if (name_taken(name)) name = arena_printf(csv->arena, "param_%s", name);
        csv->column[csv->columns++] = (struct csv_column){name, FROM_PARAM, i};
    }
    for (int i = FIRST_trials; i < END_trials; i++) {
        if (shown(&record_columns[i]))
            csv->column[csv->columns++] = (struct csv_column){record_columns[i].name, FROM_TRIAL,
                                                              i};
    }
}

/* Keeps the named columns ("XBLOCK,median_ns"), in the order named. */
static enum stax_status pick_columns(struct csv *csv, const char *names)
{
    struct csv_column *picked = ARENA_ARRAY(csv->arena, struct csv_column, strlen(names) + 1);
    int count = 0;
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < csv->columns && found < 0; i++) {
            const char *name = csv->column[i].name;
            if (strlen(name) == length && !strncmp(name, at, length)) found = i;
        }
        if (found < 0) {
            struct text list = text_make(csv->arena);
            for (int i = 0; i < csv->columns; i++)
                text_printf(&list, "%s%s", i ? ", " : "", csv->column[i].name);
            STAX_RETURN(STAX_USAGE, "no column is called \"%.*s\"; there are %s", (int)length, at,
                        text_string(&list));
        }
        picked[count++] = csv->column[found];
        at += length + (at[length] == ',');
    }
    csv->column = picked;
    csv->columns = count;
    return STAX_OK;
}

static void put_head(struct csv *csv)
{
    for (int i = 0; i < csv->columns; i++) {
        if (i) text_add(&csv->text, ",");
        put_cell(csv, csv->column[i].name);
    }
    text_add(&csv->text, "\n");
}

static void put_trial(struct csv *csv, const struct batch *batch, uint64_t run,
                      const struct trials_row *trial, const char **cells)
{
    const struct runs_row *of = BATCH_ROWS(batch, runs);
    const struct kernels_row *kernel = BATCH_ROWS(batch, kernels);
    char number[24], seed[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)run);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)of->seed);
    const char *const texts[STAX_COUNT(run_columns)] = {
        number, kernel->name, kernel->problem, of->device_name, of->strategy, seed};
    for (int i = 0; i < csv->params; i++) cells[i] = "";
    const struct config_values_row *value = BATCH_ROWS(batch, config_values) + trial->values;
    for (int i = 0; i < trial->values_count; i++, value++) {
        cells[find_param(csv, BATCH_ROWS(batch, params)[value->param].name)] = value->value_text;
    }
    for (int i = 0; i < csv->columns; i++) {
        const struct csv_column *column = &csv->column[i];
        if (i) text_add(&csv->text, ",");
        switch (column->origin) {
        case FROM_RUN: put_cell(csv, texts[column->index]); break;
        case FROM_PARAM: put_cell(csv, cells[column->index]); break;
        case FROM_TRIAL:
            put_member(csv, &record_columns[column->index],
                       (const char *)trial + record_columns[column->index].at);
            break;
        }
    }
    text_add(&csv->text, "\n");
}

static enum stax_status put_runs(struct csv *csv, struct view *view, uint64_t first, uint64_t end,
                                 const char *columns)
{
    struct batch *batch = ARENA_ARRAY(view->arena, struct batch, end - first);
    for (uint64_t run = first; run < end; run++) {
        STAX_TRY(view_run(view, run, view->arena, &batch[run - first]));
        collect_params(csv, &batch[run - first]);
    }
    all_columns(csv);
    if (columns) STAX_TRY(pick_columns(csv, columns));
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
    return db_csv_columns(db, run, NULL, arena, text);
}

enum stax_status db_csv_columns(struct db *db, uint64_t run, const char *columns,
                                struct arena *arena, const char **text)
{
    struct view view;
    struct csv csv = {.arena = arena, .text = text_make(arena)};
    STAX_TRY(view_open(db, &view));
    uint64_t first = 0;
    enum stax_status status = run == UINT64_MAX ? STAX_OK : view_find(&view, run, &first);
    if (status == STAX_OK)
        status = put_runs(&csv, &view, first, run == UINT64_MAX ? view.runs : first + 1, columns);
    view_close(&view);
    if (status == STAX_OK) *text = text_string(&csv.text);
    return status;
}
