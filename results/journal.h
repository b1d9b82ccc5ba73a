/* The journal of one run: an append-only file beside the database, the truth while the run lives.
 *
 * File: magic and version, then records {u32 payload length, u32 kind, u64 XXH3 of kind and payload
 * seeded with the record's number}. The first record lists the columns of its writer (record.h), so
 * that another version can read it. A record is one write(); the file's flock, held by the run,
 * says that it is live. Reading stops at the first record that does not hold. */
#ifndef STAX_RESULTS_JOURNAL_H
#define STAX_RESULTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "results/record.h"

enum journal_kind {
    JOURNAL_LAYOUT = 1,
    JOURNAL_RUN = 2,   /* rows: runs, kernels, params */
    JOURNAL_START = 3, /* text of the configuration about to run, job hash, time */
    JOURNAL_TRIAL = 4, /* rows: trials, config_values, samples */
    JOURNAL_PAIR = 5,  /* row: pairs */
    JOURNAL_END = 6,   /* row: runs, with its result */
};

struct journal {
    const char *path;
    int fd;
    uint64_t records, bytes;
    int64_t synced_ns; /* monotonic */
    bool dirty;        /* written since then */
};

/* Creates <path>, locked, with its header, columns and `run` (the packed rows of JOURNAL_RUN): it
 * appears under its name only when all of that is in it. STAX_IO. The path must outlive the
 * journal. */
enum stax_status journal_create(const char *path, const struct text *run, struct journal *journal);
/* Appends one record. On failure (a full disk) the file is cut back to the records before. Synced
 * when the last sync is over 2 s old or `sync` is set. */
enum stax_status journal_append(struct journal *journal, enum journal_kind kind,
                                const struct text *payload, bool sync);
void journal_close(struct journal *journal); /* gives the lock up; the file stays */

struct journal_report {
    uint64_t records, valid_bytes, file_bytes;
    const char *torn; /* why reading stopped before the end of the file, or NULL */
    bool ended;       /* an end record was seen */
    bool newer;       /* written by a newer version: leave it alone */
};

/* Reads a journal into a batch of one run, up to the first bad record. A journal without its run
 * record gives an empty batch. STAX_IO when it cannot be read. */
enum stax_status journal_read(const char *path, struct arena *arena, struct batch *batch,
                              struct journal_report *report);

#endif
