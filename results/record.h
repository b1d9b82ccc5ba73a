/* Rows of the database in memory, generated from record.def, and what is done with any row by its
 * columns alone: packing into a journal, hashing, defaults. HDF5 is in h5.h; what the columns mean
 * is known in rows.h.
 *
 * A batch is one whole run: one row of /runs, its kernel, its space and everything measured.
 * References are row numbers inside the batch; the file's own row numbers are added when it is
 * appended and taken off when it is read. */
#ifndef STAX_RESULTS_RECORD_H
#define STAX_RESULTS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

/* A file with another major number is refused, with a newer minor one read as far as its columns
 * are known. */
enum { RECORD_SCHEMA_MAJOR = 1, RECORD_SCHEMA_MINOR = 1 };

enum record_kind {
    KIND_BOOL,
    KIND_I32,
    KIND_I64,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KIND_HEX,
    KIND_TEXT,
    KIND_ENUM,
    KIND_REF,
    KIND_COUNT
};

enum record_enum { ENUM_OUTCOME, ENUM_TIMER, ENUM_L2, ENUM_STAGE, ENUM_DEVICE_KIND, ENUM_COUNT };

enum record_table {
#define TABLE(name, chunk, about) TABLE_##name,
#define COLUMN(table, kind, name, of, unit, about)
#define END(table)
#include "results/record.def"
#undef TABLE
#undef COLUMN
#undef END
    TABLE_COUNT
};

#define RECORD_TYPE_BOOL uint8_t
#define RECORD_TYPE_I32  int32_t
#define RECORD_TYPE_I64  int64_t
#define RECORD_TYPE_U64  uint64_t
#define RECORD_TYPE_F32  float
#define RECORD_TYPE_F64  double
#define RECORD_TYPE_HEX  struct hash128
#define RECORD_TYPE_TEXT const char *
#define RECORD_TYPE_ENUM uint8_t
#define RECORD_TYPE_REF  int64_t

#define TABLE(name, chunk, about)                  struct name##_row {
#define COLUMN(table, kind, name, of, unit, about) RECORD_TYPE_##kind name;
#define END(table) \
    }              \
    ;
#include "results/record.def"
#undef TABLE
#undef COLUMN
#undef END

struct record_column {
    const char *name, *unit, *about;
    enum record_table table;
    enum record_kind kind;
    int of;    /* KIND_ENUM: an enum record_enum; KIND_REF: an enum record_table */
    size_t at; /* offset in the row struct */
};

struct record_table_row {
    const char *name, *about;
    int chunk;
    size_t row_bytes;
    int first, count; /* columns in record_columns */
};

/* COLUMN_trials_job_hash is its index in record_columns; FIRST_ and END_ bound those of a table. */
enum {
#define TABLE(name, chunk, about)                  FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define COLUMN(table, kind, name, of, unit, about) COLUMN_##table##_##name,
#define END(table)                                 END_##table, LAST_##table = END_##table - 1,
#include "results/record.def"
#undef TABLE
#undef COLUMN
#undef END
    COLUMN_COUNT
};

extern const struct record_table_row record_tables[TABLE_COUNT];
extern const struct record_column record_columns[COLUMN_COUNT];
extern const size_t record_kind_bytes[KIND_COUNT]; /* of the member in memory */

/* Names of an enum in the order of its values. */
const char *const *record_enum_names(enum record_enum which, int *count);

struct batch {
    struct arena *arena;
    uint64_t count[TABLE_COUNT], capacity[TABLE_COUNT];
    void *rows[TABLE_COUNT];
};

struct batch rec_batch_make(struct arena *arena);
/* A new last row with every column missing. Pointers to earlier rows of that table become stale. */
void *rec_batch_add(struct batch *batch, enum record_table table);
/* Makes room for `count` rows of a table and sets its count; contents are missing values. */
void *rec_batch_reserve(struct batch *batch, enum record_table table, uint64_t count);
#define BATCH_ROWS(batch, table) ((struct table##_row *)(batch)->rows[TABLE_##table])
#define BATCH_ADD(batch, table)  ((struct table##_row *)rec_batch_add((batch), TABLE_##table))

/* Fills the references and counts of the batch's /runs row. */
void rec_batch_settle(struct batch *batch);
/* False for an enum or boolean that has no name here. */
bool record_value_good(const struct record_column *column, const void *member);
void record_clear(enum record_table table, void *row);
/* Hash of every row, texts by content; the /runs column `check` itself counts as 0. */
uint64_t rec_batch_check(const struct batch *batch);

/* Packing by the columns of `record.def`: u32 table, then each column. */
void record_pack(struct text *text, enum record_table table, const void *row);

/* The columns that a packed text has, in its writer's order: a writer of another version may know
 * others. */
struct record_layout {
    int tables;
    struct {
        int table; /* here, or -1 when unknown here */
        int columns;
        int *column; /* index in record_columns, or -1 when unknown here */
        uint8_t *kind;
    } * table;
};
void record_layout_put(struct text *text);
enum stax_status record_layout_get(struct reader *reader, struct arena *arena,
                                   struct record_layout *layout);
/* Unpacks one row onto the end of its table; columns that the writer lacked are missing. Sets
 * reader->bad when it does not fit. `table` gets TABLE_COUNT for a table unknown here. */
void *record_unpack(struct reader *reader, const struct record_layout *layout, struct batch *batch,
                    enum record_table *table);

#endif
