/* Inside of an open database; shared by the files of results/ only. */
#ifndef STAX_RESULTS_DB_H
#define STAX_RESULTS_DB_H

#include "results/h5.h"
#include "results/journal.h"
#include "results/results.h"
#include "results/rows.h"

struct index; /* stored trials by job; index.c */

struct db {
    const char *path;
    const char *lock_path;
    int wait_ms;         /* for the lock and for other programs that hold the file */
    struct arena *arena; /* lives until db_close */
    struct index *index;
    struct hash128 *listed; /* identities of the runs as numbered by the last db_runs */
    uint64_t listed_count;
};

enum {
    DB_WAIT_MS = 10000
}; /* chosen: a fold takes milliseconds, a user's h5py session may be short */

/* ---- lock.c ---- */
/* Takes the database's lock (LOCK_SH or LOCK_EX of flock), waiting at most db->wait_ms. *fd is -1
 * with STAX_OK where a shared lock cannot be had because the folder is read-only: then nobody
 * writes either. STAX_LIMIT when others hold it for longer. */
enum stax_status db_lock(struct db *db, int how, int *fd);
void db_unlock(int fd);
/* The journals beside the database, sorted by name; with `leftovers` those of unfinished creation
 * instead. */
enum stax_status db_journals(const struct db *db, bool leftovers, struct arena *arena,
                             const char ***paths, int *count);
char *db_journal_path(const struct db *db, struct hash128 uuid, struct arena *arena);

/* ---- fold.c ---- */
/* Moves the journals of dead runs into the file, verifies and deletes them. A lock that others hold
 * is no error: the journals stay for the next time. Errors: STAX_IO for a full disk and the like;
 * the journals stay. */
enum stax_status db_fold(struct db *db);
/* Makes sure that the file can be appended to: a compressed or older one is rewritten. Needs the
 * lock. */
enum stax_status db_writable(struct db *db);
/* Replaces the file by a copy with the live layout and all columns of this version; needs the lock.
 */
enum stax_status db_renew(struct db *db);

/* ---- read.c: every run, wherever it is ---- */
struct view {
    struct db *db;
    struct arena *arena; /* of the view */
    int lock;
    struct h5file *file;      /* NULL when the file does not exist */
    uint64_t file_runs, runs; /* in the file; with journals that are not in it */
    struct batch *journal;    /* those */
    bool *journal_live;
};
enum stax_status view_open(struct db *db, struct view *view);
void view_close(struct view *view);
/* From a number that db_runs gave out to the run's place in this view. STAX_NOTFOUND. */
enum stax_status view_find(struct view *view, uint64_t number, uint64_t *run);
enum stax_status view_run(struct view *view, uint64_t run, struct arena *arena,
                          struct batch *batch);

/* ---- index.c ---- */
enum stax_status rec_index_load(struct db *db);
/* Adds the last trial of `batch`, kept in memory. */
void rec_index_add(struct db *db, const struct batch *batch);

#endif
