/* Appending a run to the HDF5 file; see h5.h. Order: columns, flush, sync, commit, flush, sync.
 * Without the first flush, 38 of 99 kills left a commit ahead of its data (measured). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "results/h5.h"

/* Texts by hash: those of the file and those being added. Open addressing, at most half full. */
struct text_map {
    struct arena *arena;
    uint64_t slots, used;
    struct hash128 *hash;
    int64_t *id;        /* -1: empty */
    struct batch fresh; /* rows of /texts to append */
    struct text bytes;  /* of these */
};

struct append {
    struct h5file *file;
    const struct batch *batch;
    struct arena *scratch;
    int64_t base[TABLE_COUNT];
    bool skip[TABLE_COUNT]; /* already in the file: the kernel, the space */
};

static int64_t *map_slot(struct text_map *map, struct hash128 hash)
{
    uint64_t slot = hash.low & (map->slots - 1);
    while (map->id[slot] >= 0 && !hash128_equal(map->hash[slot], hash))
        slot = (slot + 1) & (map->slots - 1);
    map->hash[slot] = hash;
    return &map->id[slot];
}

static void map_grow(struct text_map *map, uint64_t slots)
{
    uint64_t old_slots = map->slots;
    struct hash128 *old_hash = map->hash;
    int64_t *old_id = map->id;
    map->slots = slots;
    map->hash = ARENA_ARRAY(map->arena, struct hash128, slots);
    map->id = ARENA_ARRAY(map->arena, int64_t, slots);
    memset(map->id, 0xff, slots * sizeof *map->id);
    for (uint64_t i = 0; i < old_slots; i++) {
        if (old_id[i] >= 0) *map_slot(map, old_hash[i]) = old_id[i];
    }
}

static enum stax_status load_map(struct h5file *file)
{
    uint64_t count = file->rows[TABLE_texts], slots = 1024;
    while (slots < 4 * count) slots *= 2;
    struct text_map *map = ARENA_NEW(file->arena, struct text_map);
    *map = (struct text_map){.arena = file->arena};
    map_grow(map, slots);
    struct hash128 *hash = ARENA_ARRAY(file->arena, struct hash128, count);
    STAX_TRY(h5_read_column(file, COLUMN_texts_hash, 0, count, file->arena, hash, sizeof *hash));
    for (uint64_t i = 0; i < count; i++) *map_slot(map, hash[i]) = (int64_t)i;
    map->used = count;
    map->fresh = rec_batch_make(file->arena);
    map->bytes = text_make(file->arena);
    file->map = map;
    return STAX_OK;
}

static int64_t intern(struct h5file *file, const char *text)
{
    if (!text || !text[0]) return -1;
    struct text_map *map = file->map;
    size_t length = strlen(text);
    struct hash128 hash = hash128_bytes(text, length);
    if (2 * (map->used + 1) > map->slots) map_grow(map, 2 * map->slots);
    int64_t *id = map_slot(map, hash);
    if (*id >= 0) return *id;
    *id = (int64_t)(file->rows[TABLE_texts] + map->fresh.count[TABLE_texts]);
    map->used++;
    struct texts_row *row = BATCH_ADD(&map->fresh, texts);
    *row = (struct texts_row){
        .offset = file->text_bytes + map->bytes.length, .length = length, .hash = hash};
    text_add_n(&map->bytes, text, length);
    return *id;
}

/* Extends a dataset as far as needed and writes `count` elements from `begin`. */
static enum stax_status write_part(struct h5file *file, const char *table, const char *name,
                                   hid_t type, uint64_t begin, uint64_t count, const void *data)
{
    hid_t dataset;
    STAX_TRY(h5_open_column(file, table, name, begin, &dataset));
    hsize_t extent = 0, start = begin, length = count, need = begin + count;
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, &extent, NULL);
    H5Sclose(space);
    bool good = extent >= need ||
                H5Dset_extent(dataset, &need) >= 0; /* rows that a crash left are written over */
    space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, &length, NULL);
    good = good && H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &length, NULL) >= 0 &&
           H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, data) >= 0;
    enum stax_status status = good ? STAX_OK : h5_error(file->path, "write %s/%s", table, name);
    H5Sclose(memory);
    H5Sclose(space);
    if (H5Dclose(dataset) < 0 && status == STAX_OK)
        status = h5_error(file->path, "write %s/%s", table, name);
    return status;
}

static size_t disk_bytes(enum record_kind kind)
{
    return kind == KIND_HEX ? 32 : kind == KIND_TEXT ? 8 : record_kind_bytes[kind];
}

/* One member to what the file holds: texts to rows of /texts, references to rows of the file,
 * hashes to digits. */
static void to_disk(struct append *append, const struct record_column *column, const void *member,
                    char *out)
{
    if (column->kind == KIND_HEX) {
        char hex[33];
        hash128_hex(*(const struct hash128 *)member, hex);
        memcpy(out, hex, 32);
    } else if (column->kind == KIND_TEXT) {
        int64_t id = intern(append->file, *(const char *const *)member);
        memcpy(out, &id, sizeof id);
    } else if (column->kind == KIND_REF) {
        int64_t row = *(const int64_t *)member;
        if (row >= 0) row += append->base[column->of];
        memcpy(out, &row, sizeof row);
    } else {
        memcpy(out, member, record_kind_bytes[column->kind]);
    }
}

static enum stax_status write_column(struct append *append, const struct record_column *column,
                                     uint64_t count, const void *rows, uint64_t begin)
{
    const struct record_table_row *of = &record_tables[column->table];
    size_t each = disk_bytes(column->kind);
    char *data = arena_array(append->scratch, count, each);
    for (uint64_t i = 0; i < count; i++) {
        to_disk(append, column, (const char *)rows + i * of->row_bytes + column->at,
                data + i * each);
    }
    hid_t type = h5_disk_type(column);
    enum stax_status status = write_part(append->file, of->name, column->name, type, begin, count,
                                         data);
    H5Tclose(type);
    return status;
}

static enum stax_status write_table(struct append *append, enum record_table table,
                                    const struct batch *batch)
{
    const struct record_table_row *of = &record_tables[table];
    for (int i = of->first; batch->count[table] && i < of->first + of->count; i++) {
        STAX_TRY(write_column(append, &record_columns[i], batch->count[table], batch->rows[table],
                              append->file->rows[table]));
        arena_reset(append->scratch);
    }
    return STAX_OK;
}

/* The row of a table whose hash column equals `hash`, or -1. */
static enum stax_status find_hash(struct append *append, int column, struct hash128 hash,
                                  int64_t *row)
{
    uint64_t count = append->file->rows[record_columns[column].table];
    struct hash128 *all = ARENA_ARRAY(append->scratch, struct hash128, count);
    STAX_TRY(h5_read_column(append->file, column, 0, count, append->scratch, all, sizeof *all));
    *row = -1;
    for (uint64_t i = 0; i < count && *row < 0; i++) {
        if (hash128_equal(all[i], hash)) *row = (int64_t)i;
    }
    arena_reset(append->scratch);
    return STAX_OK;
}

static enum stax_status place(struct append *append)
{
    const struct batch *batch = append->batch;
    for (int i = 0; i < TABLE_COUNT; i++) append->base[i] = (int64_t)append->file->rows[i];
    int64_t kernel, space;
    STAX_TRY(
        find_hash(append, COLUMN_kernels_identity, BATCH_ROWS(batch, kernels)->identity, &kernel));
    if (kernel >= 0) append->base[TABLE_kernels] = kernel;
    append->skip[TABLE_kernels] = kernel >= 0;
    if (!batch->count[TABLE_params]) return STAX_OK;
    STAX_TRY(find_hash(append, COLUMN_params_space, BATCH_ROWS(batch, params)->space, &space));
    if (space >= 0) append->base[TABLE_params] = space;
    append->skip[TABLE_params] = space >= 0;
    return STAX_OK;
}

static enum stax_status write_rows(struct append *append)
{
    struct h5file *file = append->file;
    for (int table = 0; table < TABLE_texts; table++) {
        if (append->skip[table]) continue;
        STAX_TRY(write_table(append, (enum record_table)table, append->batch));
    }
    struct text_map *map = file->map; /* last: the columns above have filled it */
    STAX_TRY(write_table(append, TABLE_texts, &map->fresh));
    if (!map->bytes.length) return STAX_OK;
    return write_part(file, record_tables[TABLE_texts].name, H5_TEXT_BYTES, H5T_STD_U8LE,
                      file->text_bytes, map->bytes.length, map->bytes.bytes);
}

static enum stax_status flush(struct h5file *file)
{
    int *fd;
    if (H5Fflush(file->id, H5F_SCOPE_GLOBAL) < 0) return h5_error(file->path, "write it");
    if (H5Fget_vfd_handle(file->id, H5P_DEFAULT, (void **)&fd) < 0)
        return h5_error(file->path, "write it");
    if (fdatasync(*fd) != 0)
        STAX_RETURN(STAX_IO, "cannot write %s to disk: %s", file->path, strerror(errno));
    return STAX_OK;
}

static enum stax_status write_commit(struct append *append, struct h5_commit *commit)
{
    struct h5file *file = append->file;
    for (int i = 0; i < TABLE_COUNT; i++) {
        commit->rows[i] = file->rows[i];
        if (i != TABLE_texts && !append->skip[i]) commit->rows[i] += append->batch->count[i];
    }
    commit->rows[TABLE_texts] += file->map->fresh.count[TABLE_texts];
    commit->text_bytes = file->text_bytes + file->map->bytes.length;
    hid_t dataset;
    STAX_TRY(h5_open_column(file, NULL, "commit", 1, &dataset));
    hid_t type = h5_commit_type();
    bool good = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, commit) >= 0;
    H5Tclose(type);
    H5Dclose(dataset);
    return good ? STAX_OK : h5_error(file->path, "write /commit");
}

static enum stax_status append_run(struct append *append)
{
    struct h5file *file = append->file;
    struct h5_commit commit;
    if (!file->map) STAX_TRY(load_map(file));
    STAX_TRY(place(append));
    STAX_TRY(write_rows(append));
    STAX_TRY(flush(file));
    STAX_TRY(write_commit(append, &commit));
    STAX_TRY(flush(file));
    memcpy(file->rows, commit.rows, sizeof file->rows);
    file->text_bytes = commit.text_bytes;
    file->map->fresh = rec_batch_make(file->arena);
    file->map->bytes = text_make(file->arena);
    file->text_offset = NULL; /* read again when asked for */
    return STAX_OK;
}

enum stax_status h5_append(struct h5file *file, const struct batch *batch)
{
    STAX_CHECK(file->write && batch->count[TABLE_runs] == 1 && batch->count[TABLE_kernels] == 1);
    struct append append = {.file = file, .batch = batch, .scratch = arena_create()};
    enum stax_status status = append_run(&append);
    arena_destroy(append.scratch);
    return status;
}

uint64_t h5_append_bytes(const struct batch *batch)
{
    uint64_t bytes = 0;
    for (int table = 0; table < TABLE_COUNT; table++) {
        const struct record_table_row *of = &record_tables[table];
        for (int i = of->first; i < of->first + of->count; i++) {
            const struct record_column *column = &record_columns[i];
            /* whole chunks, and as much again for the index of the chunks (measured: under 2 KiB a
             * column) */
            uint64_t rows = batch->count[table] + 2 * (uint64_t)of->chunk;
            bytes += rows * disk_bytes(column->kind) + 4096;
            const char *member = (const char *)batch->rows[table] + column->at;
            for (uint64_t r = 0; column->kind == KIND_TEXT && r < batch->count[table];
                 r++, member += of->row_bytes) {
                const char *text = *(const char *const *)(const void *)member;
                if (text) bytes += strlen(text) + 8;
            }
        }
    }
    return bytes;
}
