/* Reading rows of the HDF5 file; see h5.h. Nothing from the file is trusted: types, counts,
 * references and text ranges are checked before they are used. */
#include <stdio.h>
#include <string.h>

#include "results/h5.h"

enum { WINDOW_BYTES = 1 << 18 }; /* chosen: texts of one run lie together */

/* Reads `count` elements of a dataset into `data` as `memory`; the file's type must be of the class
 * and size. */
static enum stax_status read_part(struct h5file *file, const char *table, const char *name,
                                  hid_t memory_type, bool raw, uint64_t begin, uint64_t count,
                                  void *data)
{
    hid_t dataset;
    STAX_TRY(h5_open_column(file, table, name, begin + count, &dataset));
    hsize_t start = begin, length = count;
    hid_t own = H5Dget_type(dataset), space = H5Dget_space(dataset),
          memory = H5Screate_simple(1, &length, NULL);
    bool fits = own >= 0 && H5Tget_class(own) == H5Tget_class(memory_type) &&
                H5Tget_size(own) == H5Tget_size(memory_type);
    /* an enum by its numbers: its file type may have names unknown here */
    bool good = fits &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &length, NULL) >= 0 &&
                H5Dread(dataset, raw ? own : memory_type, memory, space, H5P_DEFAULT, data) >= 0;
    enum stax_status status = STAX_OK;
    if (!fits)
        status = status_set(STAX_FORMAT, "%s: %s/%s has another type: the file is damaged",
                            file->path, table, name);
    else if (!good)
        status = h5_error(file->path, "read %s/%s", table, name);
    H5Sclose(memory);
    H5Sclose(space);
    if (own >= 0) H5Tclose(own);
    H5Dclose(dataset);
    return status;
}

static enum stax_status load_texts(struct h5file *file)
{
    uint64_t count = file->rows[TABLE_texts];
    const char *table = record_tables[TABLE_texts].name;
    uint64_t *offset = ARENA_ARRAY(file->arena, uint64_t, count),
             *length = ARENA_ARRAY(file->arena, uint64_t, count);
    if (count) {
        STAX_TRY(read_part(file, table, "offset", H5T_STD_U64LE, false, 0, count, offset));
        STAX_TRY(read_part(file, table, "length", H5T_STD_U64LE, false, 0, count, length));
    }
    file->text_offset = offset;
    file->text_length = length;
    file->text = ARENA_ARRAY(file->arena, const char *, count);
    return STAX_OK;
}

static enum stax_status read_text(struct h5file *file, int64_t id, const char **text)
{
    *text = "";
    if (id == -1) return STAX_OK;
    if (!file->text_offset) STAX_TRY(load_texts(file));
    if (id < 0 || (uint64_t)id >= file->rows[TABLE_texts]) {
        STAX_RETURN(STAX_FORMAT, "%s: a row names text %lld, which does not exist", file->path,
                    (long long)id);
    }
    if (file->text[id]) {
        *text = file->text[id];
        return STAX_OK;
    }
    uint64_t offset = file->text_offset[id], length = file->text_length[id];
    if (offset > file->text_bytes || length > file->text_bytes - offset) {
        STAX_RETURN(STAX_FORMAT, "%s: text %lld lies outside /texts", file->path, (long long)id);
    }
    if (!file->window || offset < file->window_at ||
        offset + length > file->window_at + file->window_bytes) {
        uint64_t bytes = length > WINDOW_BYTES ? length : WINDOW_BYTES;
        if (bytes > file->text_bytes - offset) bytes = file->text_bytes - offset;
        if (!file->window || bytes > WINDOW_BYTES) {
            file->window = arena_alloc(file->arena, bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES);
        }
        file->window_bytes = 0;
        STAX_TRY(read_part(file, record_tables[TABLE_texts].name, H5_TEXT_BYTES, H5T_STD_U8LE,
                           false, offset, bytes, file->window));
        file->window_at = offset;
        file->window_bytes = bytes;
    }
    file->text[id] = arena_text_n(file->arena, file->window + (offset - file->window_at), length);
    *text = file->text[id];
    return STAX_OK;
}

static bool read_digits(const char *digits, struct hash128 *hash)
{
    uint64_t half[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        char c = digits[i];
        int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value < 0) return false;
        half[i / 16] = half[i / 16] << 4 | (uint64_t)value;
    }
    *hash = (struct hash128){.high = half[0], .low = half[1]};
    return true;
}

static enum stax_status from_disk(struct h5file *file, const struct record_column *column,
                                  const char *data, struct arena *arena, void *member)
{
    if (column->kind == KIND_TEXT) {
        int64_t id;
        const char *text;
        memcpy(&id, data, sizeof id);
        STAX_TRY(read_text(file, id, &text));
        *(const char **)member = text[0] ? arena_text(arena, text) : "";
        return STAX_OK;
    }
    if (column->kind == KIND_HEX) {
        if (read_digits(data, member)) return STAX_OK;
    } else {
        memcpy(member, data, record_kind_bytes[column->kind]);
        if (record_value_good(column, member)) return STAX_OK;
    }
    STAX_RETURN(STAX_FORMAT,
                "%s: /%s/%s holds a value that it cannot have: the file is damaged or newer than "
                "this version",
                file->path, record_tables[column->table].name, column->name);
}

/* A column that a file of an older minor version lacks keeps its missing value. */
static bool lacks(struct h5file *file, const struct record_column *column)
{
    char path[128];
    snprintf(path, sizeof path, "/%s/%s", record_tables[column->table].name, column->name);
    return file->minor < RECORD_SCHEMA_MINOR && H5Lexists(file->id, path, H5P_DEFAULT) <= 0;
}

enum stax_status h5_read_column(struct h5file *file, int index, uint64_t begin, uint64_t count,
                                struct arena *arena, void *member, size_t stride)
{
    const struct record_column *column = &record_columns[index];
    const struct record_table_row *of = &record_tables[column->table];
    STAX_CHECK(begin <= file->rows[column->table] && count <= file->rows[column->table] - begin);
    if (count == 0 || lacks(file, column)) return STAX_OK;
    size_t each = column->kind == KIND_HEX    ? 32
                  : column->kind == KIND_TEXT ? 8
                                              : record_kind_bytes[column->kind];
    struct arena *scratch = arena_create();
    char *data = arena_array(scratch, count, each);
    hid_t type = h5_disk_type(column);
    bool raw = column->kind == KIND_ENUM || column->kind == KIND_BOOL;
    enum stax_status status = read_part(file, of->name, column->name, type, raw, begin, count,
                                        data);
    H5Tclose(type);
    for (uint64_t i = 0; status == STAX_OK && i < count; i++) {
        status = from_disk(file, column, data + i * each, arena, (char *)member + i * stride);
    }
    arena_destroy(scratch);
    return status;
}

enum stax_status h5_read_rows(struct h5file *file, enum record_table table, uint64_t begin,
                              uint64_t count, struct arena *arena, void *rows)
{
    const struct record_table_row *of = &record_tables[table];
    for (uint64_t i = 0; i < count; i++) record_clear(table, (char *)rows + i * of->row_bytes);
    for (int i = of->first; i < of->first + of->count; i++) {
        STAX_TRY(h5_read_column(file, i, begin, count, arena, (char *)rows + record_columns[i].at,
                                of->row_bytes));
    }
    return STAX_OK;
}

static enum stax_status read_slice(struct h5file *file, struct batch *batch,
                                   enum record_table table, int64_t begin, int64_t count)
{
    uint64_t rows = file->rows[table];
    if (begin < 0 || count < 0 || (uint64_t)begin > rows ||
        (uint64_t)count > rows - (uint64_t)begin) {
        STAX_RETURN(STAX_FORMAT, "%s: a run names rows of /%s that do not exist", file->path,
                    record_tables[table].name);
    }
    rec_batch_reserve(batch, table, (uint64_t)count);
    return h5_read_rows(file, table, (uint64_t)begin, (uint64_t)count, batch->arena,
                        batch->rows[table]);
}

/* References from rows of the file to rows of the batch. */
static enum stax_status make_relative(struct h5file *file, struct batch *batch,
                                      const int64_t base[TABLE_COUNT])
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        const struct record_column *column = &record_columns[c];
        if (column->kind != KIND_REF || column->table == TABLE_runs) continue;
        char *member = (char *)batch->rows[column->table] + column->at;
        for (uint64_t i = 0; i < batch->count[column->table];
             i++, member += record_tables[column->table].row_bytes) {
            int64_t *row = (int64_t *)(void *)member;
            if (*row < 0) continue;
            *row -= base[column->of];
            /* one past the end: the first of no rows */
            if (*row < 0 || (uint64_t)*row > batch->count[column->of]) {
                STAX_RETURN(STAX_FORMAT, "%s: /%s/%s points outside its run", file->path,
                            record_tables[column->table].name, column->name);
            }
        }
    }
    return STAX_OK;
}

static enum stax_status check_ranges(struct h5file *file, const struct batch *batch)
{
    const struct trials_row *trial = BATCH_ROWS(batch, trials);
    for (uint64_t i = 0; i < batch->count[TABLE_trials]; i++, trial++) {
        int64_t samples = (int64_t)batch->count[TABLE_samples],
                values = (int64_t)batch->count[TABLE_config_values];
        if (trial->samples < 0 || trial->samples_count < 0 ||
            trial->samples_count > samples - trial->samples || trial->values < 0 ||
            trial->values_count < 0 || trial->values_count > values - trial->values) {
            STAX_RETURN(STAX_FORMAT, "%s: a trial names rows that do not exist", file->path);
        }
    }
    const struct config_values_row *value = BATCH_ROWS(batch, config_values);
    for (uint64_t i = 0; i < batch->count[TABLE_config_values]; i++, value++) {
        if (value->param >= 0 && (uint64_t)value->param < batch->count[TABLE_params]) continue;
        STAX_RETURN(STAX_FORMAT, "%s: a value names a parameter that does not exist", file->path);
    }
    return STAX_OK;
}

enum stax_status h5_read_run(struct h5file *file, uint64_t number, struct arena *arena,
                             struct batch *batch)
{
    *batch = rec_batch_make(arena);
    STAX_TRY(read_slice(file, batch, TABLE_runs, (int64_t)number, 1));
    struct runs_row *run = BATCH_ROWS(batch, runs);
    const struct {
        enum record_table table;
        int64_t begin, count;
    } parts[] = {
        {TABLE_kernels, run->kernel, 1},
        {TABLE_params, run->params, run->params_count},
        {TABLE_trials, run->trials, run->trials_count},
        {TABLE_config_values, run->values, run->values_count},
        {TABLE_samples, run->samples, run->samples_count},
        {TABLE_pairs, run->pairs, run->pairs_count},
        {TABLE_counters, run->counters, run->counters_count},
    };
    int64_t base[TABLE_COUNT] = {[TABLE_runs] = (int64_t)number};
    for (size_t i = 0; i < STAX_COUNT(parts); i++) {
        base[parts[i].table] = parts[i].begin;
        STAX_TRY(read_slice(file, batch, parts[i].table, parts[i].begin, parts[i].count));
    }
    rec_batch_settle(batch);
    STAX_TRY(make_relative(file, batch, base));
    STAX_TRY(check_ranges(file, batch));
    if (file->minor != RECORD_SCHEMA_MINOR) run->check = 0; /* over other columns than these */
    if (run->check && run->check != rec_batch_check(batch)) {
        STAX_RETURN(STAX_FORMAT, "%s: run %llu does not match its checksum: the file is damaged",
                    file->path, (unsigned long long)number);
    }
    return STAX_OK;
}
