/* Tables and columns as arrays, and row work that needs nothing but the columns; see record.h. */
#include "results/record.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/device.h"
#include "base/trial.h"

const struct record_table_row record_tables[TABLE_COUNT] = {
#define TABLE(name, chunk, about) \
    {#name, about, chunk, sizeof(struct name##_row), FIRST_##name, END_##name - FIRST_##name},
#define COLUMN(table, kind, name, of, unit, about)
#define END(table)
#include "results/record.def"
#undef TABLE
#undef COLUMN
#undef END
};

const struct record_column record_columns[COLUMN_COUNT] = {
#define TABLE(name, chunk, about)
#define COLUMN(table, kind, name, of, unit, about) \
    {#name, unit, about, TABLE_##table, KIND_##kind, of, offsetof(struct table##_row, name)},
#define END(table)
#include "results/record.def"
#undef TABLE
#undef COLUMN
#undef END
};

const size_t record_kind_bytes[KIND_COUNT] = {
    [KIND_BOOL] = 1, [KIND_I32] = 4, [KIND_I64] = 8,  [KIND_U64] = 8,
    [KIND_F32] = 4,  [KIND_F64] = 8, [KIND_HEX] = 16, [KIND_TEXT] = sizeof(char *),
    [KIND_ENUM] = 1, [KIND_REF] = 8,
};

const char *const *record_enum_names(enum record_enum which, int *count)
{
    static const char *const device_kinds[] = {[DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda"};
    static const char *outcomes[OUTCOME_COUNT];
    switch (which) {
    case ENUM_OUTCOME:
        for (int i = 0; i < OUTCOME_COUNT; i++) outcomes[i] = outcome_table[i].name;
        *count = OUTCOME_COUNT;
        return outcomes;
    case ENUM_TIMER: *count = TIMER_COUNT; return timer_names;
    case ENUM_L2: *count = L2_COUNT; return l2_names;
    case ENUM_STAGE: *count = STAGE_COUNT; return stage_names;
    default: *count = (int)STAX_COUNT(device_kinds); return device_kinds;
    }
}

struct batch rec_batch_make(struct arena *arena)
{
    return (struct batch){.arena = arena};
}

void record_clear(enum record_table table, void *row)
{
    const struct record_table_row *of = &record_tables[table];
    memset(row, 0, of->row_bytes);
    for (int i = 0; i < of->count; i++) {
        const struct record_column *column = &record_columns[of->first + i];
        char *member = (char *)row + column->at;
        switch (column->kind) {
        case KIND_I32: *(int32_t *)(void *)member = -1; break;
        case KIND_I64:
        case KIND_REF: *(int64_t *)(void *)member = -1; break;
        case KIND_F32: *(float *)(void *)member = NAN; break;
        case KIND_F64: *(double *)(void *)member = NAN; break;
        case KIND_TEXT: *(const char **)(void *)member = ""; break;
        default: break; /* zero is the missing value */
        }
    }
}

static void make_room(struct batch *batch, enum record_table table, uint64_t count)
{
    if (count <= batch->capacity[table]) return;
    uint64_t capacity = batch->capacity[table] ? batch->capacity[table] : 8; /* chosen */
    while (capacity < count) capacity *= 2;
    batch->rows[table] = arena_grow(batch->arena, batch->rows[table], batch->count[table], capacity,
                                    record_tables[table].row_bytes);
    batch->capacity[table] = capacity;
}

void *rec_batch_add(struct batch *batch, enum record_table table)
{
    make_room(batch, table, batch->count[table] + 1);
    char *row = (char *)batch->rows[table] + batch->count[table]++ * record_tables[table].row_bytes;
    record_clear(table, row);
    return row;
}

void *rec_batch_reserve(struct batch *batch, enum record_table table, uint64_t count)
{
    size_t each = record_tables[table].row_bytes;
    batch->count[table] = 0;
    batch->capacity[table] = count;
    batch->rows[table] = arena_array(batch->arena, count, each);
    for (uint64_t i = 0; i < count; i++) record_clear(table, (char *)batch->rows[table] + i * each);
    batch->count[table] = count;
    return batch->rows[table];
}

void rec_batch_settle(struct batch *batch)
{
    struct runs_row *run = BATCH_ROWS(batch, runs);
    run->kernel = 0;
    run->params = run->trials = run->values = run->samples = run->pairs = run->counters = 0;
    run->params_count = (int64_t)batch->count[TABLE_params];
    run->trials_count = (int64_t)batch->count[TABLE_trials];
    run->values_count = (int64_t)batch->count[TABLE_config_values];
    run->samples_count = (int64_t)batch->count[TABLE_samples];
    run->pairs_count = (int64_t)batch->count[TABLE_pairs];
    run->counters_count = (int64_t)batch->count[TABLE_counters];
}

static void pack_member(struct text *text, enum record_kind kind, const void *member)
{
    switch (kind) {
    case KIND_TEXT: {
        const char *string = *(const char *const *)member;
        text_put_string(text, string ? string : "");
        break;
    }
    case KIND_F32: {
        uint32_t bits; /* bit for bit: a NaN keeps its payload */
        memcpy(&bits, member, sizeof bits);
        text_put_u32(text, bits);
        break;
    }
    case KIND_I32: text_put_u32(text, (uint32_t) * (const int32_t *)member); break;
    case KIND_F64: text_put_f64(text, *(const double *)member); break;
    case KIND_I64:
    case KIND_REF:
    case KIND_U64: text_put_u64(text, *(const uint64_t *)member); break;
    case KIND_HEX:
        text_put_u64(text, ((const struct hash128 *)member)->low);
        text_put_u64(text, ((const struct hash128 *)member)->high);
        break;
    default: text_add_n(text, member, 1); break;
    }
}

static void unpack_member(struct reader *reader, enum record_kind kind, struct arena *arena,
                          void *member)
{
    switch (kind) {
    case KIND_TEXT: {
        const char *string = reader_string(reader, arena);
        *(const char **)member = string ? string : "";
        break;
    }
    case KIND_F32:
    case KIND_I32: {
        uint32_t bits = reader_u32(reader);
        memcpy(member, &bits, sizeof bits);
        break;
    }
    case KIND_F64:
    case KIND_I64:
    case KIND_REF:
    case KIND_U64: {
        uint64_t bits = reader_u64(reader);
        memcpy(member, &bits, sizeof bits);
        break;
    }
    case KIND_HEX:
        ((struct hash128 *)member)->low = reader_u64(reader);
        ((struct hash128 *)member)->high = reader_u64(reader);
        break;
    default:
        if (reader->bad || reader->at >= reader->length) {
            reader->bad = 1;
            *(uint8_t *)member = 0;
        } else {
            *(uint8_t *)member = reader->bytes[reader->at++];
        }
        break;
    }
}

static void pack_columns(struct text *text, enum record_table table, const void *row)
{
    const struct record_table_row *of = &record_tables[table];
    for (int i = 0; i < of->count; i++) {
        const struct record_column *column = &record_columns[of->first + i];
        pack_member(text, column->kind, (const char *)row + column->at);
    }
}

bool record_value_good(const struct record_column *column, const void *member)
{
    int count = 2;
    if (column->kind == KIND_ENUM) record_enum_names((enum record_enum)column->of, &count);
    return (column->kind != KIND_ENUM && column->kind != KIND_BOOL) ||
           *(const uint8_t *)member < count;
}

void record_pack(struct text *text, enum record_table table, const void *row)
{
    text_put_u32(text, table);
    pack_columns(text, table, row);
}

uint64_t rec_batch_check(const struct batch *batch)
{
    enum { FLUSH_BYTES = 1 << 16 }; /* chosen: bounds the scratch text */
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    uint64_t hash = 0;
    for (int table = 0; table < TABLE_COUNT; table++) {
        const char *row = batch->rows[table];
        size_t each = record_tables[table].row_bytes;
        for (uint64_t i = 0; i < batch->count[table]; i++, row += each) {
            struct runs_row run;
            if (table == TABLE_runs) {
                run = *(const struct runs_row *)(const void *)row;
                run.check = 0;
            }
            record_pack(&text, (enum record_table)table,
                        table == TABLE_runs ? (const void *)&run : row);
            if (text.length < FLUSH_BYTES) continue;
            hash = hash_bytes(text.bytes, text.length, hash);
            text.length = 0;
        }
    }
    hash = hash_bytes(text_string(&text), text.length, hash);
    arena_destroy(scratch);
    return hash ? hash : 1; /* 0 says: not recorded */
}

void record_layout_put(struct text *text)
{
    text_put_u32(text, TABLE_COUNT);
    for (int table = 0; table < TABLE_COUNT; table++) {
        const struct record_table_row *of = &record_tables[table];
        text_put_string(text, of->name);
        text_put_u32(text, (uint32_t)of->count);
        for (int i = 0; i < of->count; i++) {
            text_put_string(text, record_columns[of->first + i].name);
            text_put_u32(text, record_columns[of->first + i].kind);
        }
    }
}

static int find_table(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (!strcmp(record_tables[i].name, name)) return i;
    }
    return -1;
}

static int find_column(int table, const char *name, uint32_t kind)
{
    if (table < 0) return -1;
    const struct record_table_row *of = &record_tables[table];
    for (int i = of->first; i < of->first + of->count; i++) {
        if (!strcmp(record_columns[i].name, name) && record_columns[i].kind == kind) return i;
    }
    return -1;
}

enum stax_status record_layout_get(struct reader *reader, struct arena *arena,
                                   struct record_layout *layout)
{
    uint32_t tables = reader_u32(reader);
    if (reader->bad || tables > reader->length) goto bad;
    layout->tables = (int)tables;
    layout->table = arena_array(arena, tables, sizeof *layout->table);
    for (uint32_t t = 0; t < tables; t++) {
        const char *name = reader_string(reader, arena);
        uint32_t columns = reader_u32(reader);
        if (reader->bad || !name || columns > reader->length) goto bad;
        layout->table[t].table = find_table(name);
        layout->table[t].columns = (int)columns;
        layout->table[t].column = ARENA_ARRAY(arena, int, columns);
        layout->table[t].kind = ARENA_ARRAY(arena, uint8_t, columns);
        for (uint32_t c = 0; c < columns; c++) {
            const char *column = reader_string(reader, arena);
            uint32_t kind = reader_u32(reader);
            if (reader->bad || !column || kind >= KIND_COUNT) goto bad;
            layout->table[t].column[c] = find_column(layout->table[t].table, column, kind);
            layout->table[t].kind[c] = (uint8_t)kind;
        }
    }
    return STAX_OK;
bad:
    STAX_RETURN(STAX_FORMAT, "its list of columns is damaged");
}

void *record_unpack(struct reader *reader, const struct record_layout *layout, struct batch *batch,
                    enum record_table *table)
{
    uint32_t number = reader_u32(reader);
    if (reader->bad || number >= (uint32_t)layout->tables) {
        reader->bad = 1;
        return NULL;
    }
    int known = layout->table[number].table;
    *table = known < 0 ? TABLE_COUNT : (enum record_table)known;
    char *row = known < 0 ? NULL : rec_batch_add(batch, *table);
    for (int i = 0; i < layout->table[number].columns; i++) {
        int column = layout->table[number].column[i];
        struct hash128 ignored; /* the largest member */
        void *member = &ignored;
        if (column >= 0) member = row + record_columns[column].at;
        unpack_member(reader, (enum record_kind)layout->table[number].kind[i], batch->arena,
                      member);
        if (column >= 0 && !record_value_good(&record_columns[column], member)) reader->bad = 1;
    }
    if (reader->bad && row) batch->count[*table]--;
    return reader->bad ? NULL : row;
}
