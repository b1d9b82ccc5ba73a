/* Folding: journals of dead runs move into the HDF5 file. A journal is deleted only after the file
 * was opened again and the run read back equals it; a crash anywhere leaves the journal, and a run
 * that is already in the file is not added twice. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "results/copy.h"
#include "results/db.h"

struct folding {
    struct db *db;
    struct arena *arena;
    struct h5file *file; /* open for writing once something is to be appended */
    int count;           /* runs appended and not verified */
    struct folded {
        const char *path;
        struct hash128 uuid;
        uint64_t check;
        bool torn;
        int fd; /* its lock */
    } * folded;
};

/* What cannot be folded is kept under another name, and said. */
static void set_aside(const char *path, const char *why)
{
    char aside[4096]; /* PATH_MAX of Linux */
    snprintf(aside, sizeof aside, "%s.torn", path);
    bool moved = rename(path, aside) == 0;
    log_write(LOG_WARNING,
              "%s: %s; what could be read is in the database, the journal is kept as %s", path, why,
              moved ? aside : path);
}

static enum stax_status find_run(struct h5file *file, struct hash128 uuid, struct arena *arena,
                                 int64_t *run)
{
    uint64_t count = file->rows[TABLE_runs];
    struct hash128 *all = ARENA_ARRAY(arena, struct hash128, count);
    STAX_TRY(h5_read_column(file, COLUMN_runs_uuid, 0, count, arena, all, sizeof *all));
    *run = -1;
    for (uint64_t i = 0; i < count && *run < 0; i++) {
        if (hash128_equal(all[i], uuid)) *run = (int64_t)i;
    }
    return STAX_OK;
}

enum stax_status db_writable(struct db *db)
{
    struct h5file *file;
    STAX_TRY(h5_open(db->path, true, db->wait_ms, &file));
    bool good = !file->finalised && file->minor == RECORD_SCHEMA_MINOR,
         newer = file->minor > RECORD_SCHEMA_MINOR;
    STAX_TRY(h5_close(file));
    if (newer)
        STAX_RETURN(STAX_UNSUPPORTED, "%s is of a newer version: update stax-tune to add to it",
                    db->path);
    return good ? STAX_OK : db_renew(db);
}

static enum stax_status open_file(struct folding *folding)
{
    struct db *db = folding->db;
    if (folding->file) return STAX_OK;
    STAX_TRY(db_writable(db));
    return h5_open(db->path, true, db->wait_ms, &folding->file);
}

/* Remembers the journal for the end: `fd` keeps its lock until it is deleted. */
static void remember(struct folding *folding, struct folded folded)
{
    folding->folded = arena_grow(folding->arena, folding->folded, (size_t)folding->count,
                                 (size_t)folding->count + 1, sizeof *folding->folded);
    folding->folded[folding->count++] = folded;
}

static enum stax_status append_journal(struct folding *folding, const char *path, int fd,
                                       struct arena *scratch)
{
    struct batch batch;
    struct journal_report report;
    STAX_TRY(journal_read(path, scratch, &batch, &report));
    if (report.newer) {
        log_write(LOG_WARNING, "%s is of a newer version and is left alone: update stax-tune",
                  path);
        close(fd);
        return STAX_OK;
    }
    if (!batch.count[TABLE_runs]) {
        set_aside(path, report.torn ? report.torn : "it names no run");
        close(fd);
        return STAX_OK;
    }
    if (report.torn)
        log_write(LOG_WARNING, "%s: %s after %llu records", path, report.torn,
                  (unsigned long long)report.records);
    struct runs_row *run = BATCH_ROWS(&batch, runs);
    if (run->unfinished[0])
        log_write(LOG_WARNING, "a run of %s ended while it measured %s", run->strategy,
                  run->unfinished);
    run->check = rec_batch_check(&batch);
    STAX_TRY(open_file(folding));
    int64_t present;
    STAX_TRY(find_run(folding->file, run->uuid, scratch, &present));
    if (present < 0) {
        STAX_TRY(copy_ask_space(folding->db->path, h5_append_bytes(&batch)));
        STAX_TRY(h5_append(folding->file, &batch));
    }
    remember(folding, (struct folded){.path = path,
                                      .uuid = run->uuid,
                                      .check = run->check,
                                      .torn = report.torn != NULL,
                                      .fd = fd});
    return STAX_OK;
}

/* A dead journal is one whose lock can be had. */
static enum stax_status take_journal(struct folding *folding, const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return STAX_OK;
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return STAX_OK;
    }
    struct arena *scratch = arena_create();
    int before = folding->count;
    enum stax_status status = append_journal(folding, path, fd, scratch);
    if (status != STAX_OK && folding->count == before) close(fd);
    arena_destroy(scratch);
    return status;
}

static enum stax_status verify(struct folding *folding, struct h5file *file,
                               const struct folded *folded)
{
    struct arena *scratch = arena_create();
    struct batch batch;
    int64_t run = -1;
    enum stax_status status = find_run(file, folded->uuid, scratch, &run);
    if (status == STAX_OK && run >= 0) status = h5_read_run(file, (uint64_t)run, scratch, &batch);
    bool same = status == STAX_OK && run >= 0 && rec_batch_check(&batch) == folded->check;
    if (same && folded->torn)
        set_aside(folded->path, "its end is damaged");
    else if (same && unlink(folded->path) != 0 && errno != ENOENT) {
        status = status_set(STAX_IO, "cannot remove %s: %s", folded->path, strerror(errno));
    }
    if (status == STAX_OK && !same) {
        status = status_set(STAX_FORMAT, "%s: a run read back differs from its journal; %s is kept",
                            folding->db->path, folded->path);
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status verify_all(struct folding *folding)
{
    if (!folding->count) return STAX_OK;
    struct h5file *file;
    STAX_TRY(h5_open(folding->db->path, false, folding->db->wait_ms, &file));
    enum stax_status status = STAX_OK;
    for (int i = 0; i < folding->count && status == STAX_OK; i++)
        status = verify(folding, file, &folding->folded[i]);
    h5_close(file);
    return status;
}

/* Of runs that died before they began. Only old ones: a young one may be about to be locked. */
static void remove_leftovers(struct db *db, struct arena *arena)
{
    enum { OLD_S = 600 }; /* chosen: beginning a run takes milliseconds */
    const char **paths;
    int count;
    struct stat info;
    if (db_journals(db, true, arena, &paths, &count) != STAX_OK) return;
    for (int i = 0; i < count; i++) {
        if (stat(paths[i], &info) == 0 && time(NULL) - info.st_mtime > OLD_S) unlink(paths[i]);
    }
}

static enum stax_status fold_locked(struct db *db, struct arena *arena)
{
    struct folding folding = {.db = db, .arena = arena};
    const char **paths;
    int count;
    remove_leftovers(db, arena);
    STAX_TRY(db_journals(db, false, arena, &paths, &count));
    enum stax_status status = STAX_OK;
    for (int i = 0; i < count && status == STAX_OK; i++) status = take_journal(&folding, paths[i]);
    char why[1024]; /* closing after a failed write fails as well, and would say less */
    snprintf(why, sizeof why, "%s", status_message());
    enum stax_status closed = h5_close(folding.file);
    if (status != STAX_OK)
        status_set(status, "%s", why);
    else
        status = closed;
    if (status == STAX_OK) status = verify_all(&folding);
    for (int i = 0; i < folding.count; i++) close(folding.folded[i].fd);
    return status;
}

enum stax_status db_fold(struct db *db)
{
    struct arena *arena = arena_create();
    const char **paths;
    int count, lock = -1;
    enum stax_status status = db_journals(db, false, arena, &paths, &count);
    if (status == STAX_OK && count) {
        status = db_lock(db, LOCK_EX, &lock);
        if (status == STAX_OK) status = fold_locked(db, arena);
        if (status == STAX_LIMIT || status == STAX_UNSUPPORTED) {
            log_write(LOG_WARNING, "%s; the journals stay and are added at the next start",
                      status_message());
            status = STAX_OK;
        }
    }
    db_unlock(lock);
    arena_destroy(arena);
    return status;
}
