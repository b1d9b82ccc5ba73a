/* Opening and making a database; see results.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "results/copy.h"
#include "results/db.h"

enum stax_status db_default_path(struct arena *arena, const char **path)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/') {
        *path = arena_printf(arena, "%s/stax-tune/results.h5", data);
    } else if (home && home[0]) {
        *path = arena_printf(arena, "%s/.local/share/stax-tune/results.h5", home);
    } else {
        STAX_RETURN(STAX_USAGE,
                    "neither XDG_DATA_HOME nor HOME is set: name a database with --db FILE");
    }
    return STAX_OK;
}

static enum stax_status make_folders(const char *path, struct arena *arena)
{
    char *folder = arena_text(arena, path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST && access(folder, X_OK) != 0) {
            STAX_RETURN(STAX_IO, "cannot create the folder %s: %s; name another database with --db",
                        folder, strerror(errno));
        }
        *slash = '/';
    }
    return STAX_OK;
}

static enum stax_status sync_folder(const char *path, struct arena *arena)
{
    char *folder = arena_text(arena, path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[1] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* not every file system can; the file itself is synced */
        close(fd);
    }
    return STAX_OK;
}

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* Under a temporary name first, and never over anything. */
static enum stax_status create_locked(struct db *db, struct arena *scratch)
{
    if (exists(db->path)) return STAX_OK; /* another process was faster */
    const char *fresh = arena_printf(scratch, "%s.new", db->path);
    unlink(fresh); /* of a crash: whoever creates holds the lock */
    enum stax_status status = h5_create(fresh, false);
    if (status == STAX_OK &&
        renameat2(AT_FDCWD, fresh, AT_FDCWD, db->path, RENAME_NOREPLACE) != 0) {
        /* EINVAL: a file system that cannot; the lock and the look above have to do */
        bool made = errno == EEXIST || (errno == EINVAL && rename(fresh, db->path) == 0);
        if (!made) status = status_set(STAX_IO, "cannot create %s: %s", db->path, strerror(errno));
    }
    if (status != STAX_OK) {
        char why[1024];
        snprintf(why, sizeof why, "%s", status_message());
        unlink(fresh);
        return status_set(status, "%s; name another database with --db", why);
    }
    unlink(fresh);
    return sync_folder(db->path, scratch);
}

static enum stax_status create_file(struct db *db)
{
    struct arena *scratch = arena_create();
    int lock = -1;
    enum stax_status status = make_folders(db->path, scratch);
    if (status == STAX_OK) status = db_lock(db, LOCK_EX, &lock);
    if (status == STAX_OK) status = create_locked(db, scratch);
    db_unlock(lock);
    arena_destroy(scratch);
    return status;
}

enum stax_status db_renew(struct db *db)
{
    struct arena *scratch = arena_create();
    const char *fresh = arena_printf(scratch, "%s.new", db->path);
    unlink(fresh);
    log_write(LOG_INFO, "%s is rewritten with the columns of this version", db->path);
    enum stax_status status = copy_file(db->path, fresh);
    if (status == STAX_OK && rename(fresh, db->path) != 0) {
        status = status_set(STAX_IO, "cannot replace %s: %s", db->path, strerror(errno));
    }
    if (status == STAX_OK)
        status = sync_folder(db->path, scratch);
    else
        unlink(fresh);
    arena_destroy(scratch);
    return status;
}

/* Refuses what is no database before anything is made beside it. */
static enum stax_status look(struct db *db)
{
    struct h5file *file;
    STAX_TRY(h5_open(db->path, false, db->wait_ms, &file));
    return h5_close(file);
}

static enum stax_status open_db(struct db *db, bool create)
{
    enum stax_status status = look(db);
    if (status == STAX_NOTFOUND && create && !exists(db->path)) {
        STAX_TRY(create_file(db));
        status = look(db);
    }
    STAX_TRY(status);
    status = db_fold(db);
    if (status != STAX_OK)
        log_write(LOG_WARNING, "%s", status_message()); /* what is there can still be read */
    return rec_index_load(db);
}

static void close_db(void *data)
{
    struct db *db = data;
    arena_destroy(db->arena);
    db->arena = NULL;
}

enum stax_status db_open(const char *path, bool create, struct arena *arena, struct db **out)
{
    if (!path) STAX_TRY(db_default_path(arena, &path));
    if (!path[0]) STAX_RETURN(STAX_USAGE, "the database has an empty name: give --db a file");
    struct db *db = ARENA_NEW(arena, struct db);
    *db = (struct db){.path = arena_text(arena, path),
                      .lock_path = arena_printf(arena, "%s.lock", path),
                      .wait_ms = DB_WAIT_MS,
                      .arena = arena_create()};
    arena_defer(arena, close_db, db);
    enum stax_status status = open_db(db, create);
    if (status == STAX_LIMIT) status = STAX_IO; /* its lock was held for too long */
    if (status != STAX_OK)
        db_close(db);
    else
        *out = db;
    return status;
}

const char *db_path(const struct db *db)
{
    return db->path;
}

void db_close(struct db *db)
{
    if (db && db->arena) close_db(db);
}
