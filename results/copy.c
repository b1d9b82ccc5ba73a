/* Copies of a database run by run; see copy.h and results.h. */
#include "results/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "results/db.h"

enum stax_status copy_ask_space(const char *path, uint64_t bytes)
{
    struct stat info;
    struct rlimit limit;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot write %s: %s", path, strerror(errno));
    bool fits = fstat(fd, &info) == 0;
    int error = fits ? 0 : errno;
    if (fits && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)info.st_size + bytes > limit.rlim_cur) {
        fits = false;
        error = EFBIG;
    }
    if (fits && fallocate(fd, FALLOC_FL_KEEP_SIZE, info.st_size, (off_t)bytes) != 0 &&
        errno != EOPNOTSUPP && errno != ENOSYS) {
        fits = false;
        error = errno;
    }
    if (ftruncate(fd, info.st_size) != 0 && fits) { /* hands the reserve back */
        fits = false;
        error = errno;
    }
    close(fd);
    if (fits) return STAX_OK;
    STAX_RETURN(
        STAX_IO,
        "cannot write %s: %s; free space: the journals stay and are added at the next start", path,
        strerror(error));
}

struct copy {
    struct h5file *target;
    struct hash128 *present; /* runs of the target */
    uint64_t present_count, present_capacity;
    struct arena *arena;
    struct db_copied *copied;
    bool lenient; /* damaged runs are left out */
};

static enum stax_status start_copy(struct copy *copy, const char *target)
{
    STAX_TRY(h5_open(target, true, DB_WAIT_MS, &copy->target));
    copy->present_count = copy->present_capacity = copy->target->rows[TABLE_runs];
    copy->present = ARENA_ARRAY(copy->arena, struct hash128, copy->present_count);
    return h5_read_column(copy->target, COLUMN_runs_uuid, 0, copy->present_count, copy->arena,
                          copy->present, sizeof *copy->present);
}

static bool is_present(struct copy *copy, struct hash128 uuid)
{
    for (uint64_t i = 0; i < copy->present_count; i++) {
        if (hash128_equal(copy->present[i], uuid)) return true;
    }
    if (copy->present_count == copy->present_capacity) {
        copy->present_capacity = copy->present_capacity ? 2 * copy->present_capacity
                                                        : 64; /* chosen */
        copy->present = arena_grow(copy->arena, copy->present, copy->present_count,
                                   copy->present_capacity, sizeof *copy->present);
    }
    copy->present[copy->present_count++] = uuid;
    return false;
}

static enum stax_status copy_batch(struct copy *copy, struct batch *batch)
{
    struct runs_row *run = BATCH_ROWS(batch, runs);
    if (is_present(copy, run->uuid)) {
        copy->copied->present++;
        return STAX_OK;
    }
    if (!run->check) run->check = rec_batch_check(batch); /* from a journal */
    STAX_TRY(copy_ask_space(copy->target->path, h5_append_bytes(batch)));
    STAX_TRY(h5_append(copy->target, batch));
    copy->copied->copied++;
    return STAX_OK;
}

static enum stax_status copy_run(struct copy *copy, struct h5file *source, uint64_t run)
{
    struct arena *scratch = arena_create();
    struct batch batch;
    enum stax_status status = h5_read_run(source, run, scratch, &batch);
    if (status == STAX_OK) {
        status = copy_batch(copy, &batch);
    } else if (copy->lenient) {
        log_write(LOG_WARNING, "run %llu is left out: %s", (unsigned long long)run,
                  status_message());
        copy->copied->damaged++;
        status = STAX_OK;
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status copy_rows(struct copy *copy, struct h5file *source)
{
    for (uint64_t run = 0; run < source->rows[TABLE_runs]; run++)
        STAX_TRY(copy_run(copy, source, run));
    return STAX_OK;
}

/* Closes the target; the first failure is the one that is told. */
static enum stax_status end_copy(struct copy *copy, enum stax_status status)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", status_message());
    enum stax_status closed = h5_close(copy->target);
    arena_destroy(copy->arena);
    return status != STAX_OK ? status_set(status, "%s", why) : closed;
}

static enum stax_status copy_h5(const char *from, const char *to, bool lenient,
                                struct db_copied *copied)
{
    struct h5file *source;
    struct copy copy = {.arena = arena_create(), .copied = copied, .lenient = lenient};
    enum stax_status status = h5_open(from, false, DB_WAIT_MS, &source);
    if (status != STAX_OK) return end_copy(&copy, status);
    status = start_copy(&copy, to);
    if (status == STAX_OK) status = copy_rows(&copy, source);
    status = end_copy(&copy, status);
    h5_close(source);
    return status;
}

enum stax_status copy_file(const char *from, const char *to)
{
    struct db_copied copied = {0};
    STAX_TRY(h5_create(to, false));
    return copy_h5(from, to, false, &copied);
}

/* Every run that is not live, in the file or in a journal. */
static enum stax_status copy_view(struct copy *copy, struct view *view)
{
    STAX_TRY(copy_rows(copy, view->file));
    for (uint64_t i = 0; i < view->runs - view->file_runs; i++) {
        if (view->journal_live[i])
            copy->copied->live++;
        else
            STAX_TRY(copy_batch(copy, &view->journal[i]));
    }
    return STAX_OK;
}

static enum stax_status copy_db(const char *from, const char *to, struct db_copied *copied)
{
    struct arena *arena = arena_create();
    struct db *db;
    struct view view;
    struct copy copy = {.arena = arena_create(), .copied = copied};
    enum stax_status status = db_open(from, false, arena, &db);
    bool viewed = false;
    if (status == STAX_OK) status = view_open(db, &view);
    viewed = status == STAX_OK;
    if (status == STAX_OK) status = start_copy(&copy, to);
    if (status == STAX_OK) status = copy_view(&copy, &view);
    status = end_copy(&copy, status);
    if (viewed) view_close(&view);
    arena_destroy(arena);
    return status;
}

enum stax_status db_merge(struct db *db, const char *from, struct db_copied *copied)
{
    struct stat own, other;
    int lock;
    *copied = (struct db_copied){0};
    if (stat(db->path, &own) == 0 && stat(from, &other) == 0 && own.st_dev == other.st_dev &&
        own.st_ino == other.st_ino) {
        STAX_RETURN(STAX_USAGE, "%s and %s are the same file: name another to merge from", db->path,
                    from);
    }
    STAX_TRY(db_fold(db));
    STAX_TRY(db_lock(db, LOCK_EX, &lock));
    enum stax_status status = db_writable(db);
    if (status == STAX_OK) status = copy_db(from, db->path, copied);
    db_unlock(lock);
    return status;
}

/* A new file under a temporary name, given its name when it is whole. */
static enum stax_status make_new(const char *from, const char *to, bool repair,
                                 struct db_copied *copied)
{
    *copied = (struct db_copied){0};
    if (access(to, F_OK) == 0) STAX_RETURN(STAX_USAGE, "%s exists: name a new file", to);
    struct arena *arena = arena_create();
    const char *fresh = arena_printf(arena, "%s.new", to);
    enum stax_status status = h5_create(fresh, !repair);
    bool made = status == STAX_OK;
    if (made) status = repair ? copy_h5(from, fresh, true, copied) : copy_db(from, fresh, copied);
    if (status == STAX_OK && renameat2(AT_FDCWD, fresh, AT_FDCWD, to, RENAME_NOREPLACE) != 0) {
        status = status_set(STAX_IO, "cannot create %s: %s", to, strerror(errno));
    }
    if (made && status != STAX_OK) unlink(fresh);
    arena_destroy(arena);
    return status;
}

enum stax_status db_compact(const char *from, const char *to, struct db_copied *copied)
{
    return make_new(from, to, false, copied);
}

enum stax_status db_repair(const char *from, const char *to, struct db_copied *copied)
{
    return make_new(from, to, true, copied);
}
