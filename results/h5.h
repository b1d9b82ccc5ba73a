/* The HDF5 file: creating, opening, appending a run, reading rows. Layout: record.def and
 * docs/database.md.
 *
 * Every object is made when the file is made; afterwards columns are only extended and written.
 * /commit holds the row counts that are whole, written after everything else has reached the disk;
 * nothing beyond them is ever read. */
#ifndef STAX_RESULTS_H5_H
#define STAX_RESULTS_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "results/record.h"

struct text_map; /* texts by hash, for storing each once */

struct h5file {
    const char *path;
    hid_t id;
    bool write;
    bool finalised;             /* a compressed copy: never appended to */
    int minor;                  /* of its schema */
    uint64_t rows[TABLE_COUNT]; /* committed */
    uint64_t text_bytes;        /* committed bytes of /texts/bytes */
    uint64_t file_bytes;
    struct arena *arena;                       /* of the open file: caches of texts */
    const uint64_t *text_offset, *text_length; /* of the committed texts, once loaded */
    const char **text;                         /* those read so far */
    char *window;                              /* the part of /texts/bytes read last */
    uint64_t window_at, window_bytes;
    struct text_map *map;
};

/* Writes an empty database to `path`, which must not exist, and syncs it. `finalised`: compressed,
 * for a copy to keep. STAX_IO. */
enum stax_status h5_create(const char *path, bool finalised);

/* Opens a database. STAX_NOTFOUND when absent; STAX_FORMAT when it is anything else than a database
 * this version can read, with what to do; STAX_IO when it cannot be read, or is locked by another
 * program for over `wait_ms`. */
enum stax_status h5_open(const char *path, bool write, int wait_ms, struct h5file **file);
/* NULL is allowed. STAX_IO when something could not be written. */
enum stax_status h5_close(struct h5file *file);

/* Appends one run and commits it. On failure the commit is unchanged; close the file then. */
enum stax_status h5_append(struct h5file *file, const struct batch *batch);
/* Bytes that appending may need at most, to be asked of the disk before. */
uint64_t h5_append_bytes(const struct batch *batch);

/* Reads one column of `count` rows from `begin` into members `stride` bytes apart. Texts live in
 * `arena`. */
enum stax_status h5_read_column(struct h5file *file, int column, uint64_t begin, uint64_t count,
                                struct arena *arena, void *member, size_t stride);
/* Reads whole rows, `count` structs of the table. */
enum stax_status h5_read_rows(struct h5file *file, enum record_table table, uint64_t begin,
                              uint64_t count, struct arena *arena, void *rows);
/* One run with everything it holds, references relative to the batch. STAX_FORMAT when it does not
 * match its check. */
enum stax_status h5_read_run(struct h5file *file, uint64_t run, struct arena *arena,
                             struct batch *batch);

/* ---- inside h5_*.c ---- */
/* "FILE: cannot <what>: <what HDF5 says>", STAX_IO. */
enum stax_status h5_error(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void h5_quiet(void); /* HDF5 prints nothing, runs nothing at exit */
hid_t h5_disk_type(const struct record_column *column); /* to be closed */
hid_t h5_commit_type(void);
struct h5_commit {
    uint64_t rows[TABLE_COUNT];
    uint64_t text_bytes;
};
void h5_commit_name(int index, char name[64]); /* index TABLE_COUNT: the bytes */
/* Opens /table/name and checks that it is one-dimensional with at least `rows` elements. */
enum stax_status h5_open_column(struct h5file *file, const char *table, const char *name,
                                uint64_t rows, hid_t *dataset);
#define H5_TEXT_BYTES \
    "bytes" /* the dataset of /texts that is no column: it has a length of its own */

#endif
