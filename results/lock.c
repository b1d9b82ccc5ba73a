/* The database's lock file and the files beside the database; see db.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "results/db.h"

static const int RETRY_MS = 20; /* chosen */
static const char JOURNAL_MARK[] = ".journal.";
enum { UUID_DIGITS = 32 };

static bool take_lock(int fd, int how, int wait_ms)
{
    for (int waited = 0; flock(fd, how | LOCK_NB) != 0; waited += RETRY_MS) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= wait_ms) return false;
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
    }
    return true;
}

enum stax_status db_lock(struct db *db, int how, int *fd)
{
    *fd = open(db->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0 && how == LOCK_SH) *fd = open(db->lock_path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 && how == LOCK_SH) return STAX_OK;
    if (*fd < 0) {
        STAX_RETURN(STAX_IO,
                    "cannot create %s: %s; name a database in a folder you can write with --db",
                    db->lock_path, strerror(errno));
    }
    if (take_lock(*fd, how, db->wait_ms)) return STAX_OK;
    close(*fd);
    *fd = -1;
    STAX_RETURN(STAX_LIMIT, "%s is held by another stax-tune", db->lock_path);
}

void db_unlock(int fd)
{
    if (fd >= 0) close(fd);
}

/* Splits a path; `folder` gets "." where there is none. */
static const char *split(const char *path, struct arena *arena, const char **folder)
{
    const char *slash = strrchr(path, '/');
    *folder = !slash          ? "."
              : slash == path ? "/"
                              : arena_text_n(arena, path, (size_t)(slash - path));
    return slash ? slash + 1 : path;
}

static bool is_journal(const char *name, const char *base, bool leftover)
{
    size_t length = strlen(base), mark = strlen(JOURNAL_MARK);
    if (strncmp(name, base, length) || strncmp(name + length, JOURNAL_MARK, mark)) return false;
    name += length + mark;
    return strspn(name, "0123456789abcdef") == UUID_DIGITS &&
           !strcmp(name + UUID_DIGITS, leftover ? ".new" : "");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum stax_status db_journals(const struct db *db, bool leftovers, struct arena *arena,
                             const char ***paths, int *count)
{
    const char *folder;
    const char *base = split(db->path, arena, &folder);
    *count = 0;
    *paths = NULL;
    DIR *open_folder = opendir(folder);
    if (!open_folder)
        STAX_RETURN(STAX_IO, "cannot read the folder %s: %s", folder, strerror(errno));
    int capacity = 0;
    for (struct dirent *entry; (entry = readdir(open_folder));) {
        if (!is_journal(entry->d_name, base, leftovers)) continue;
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 8;
            *paths = arena_grow(arena, *paths, (size_t)*count, (size_t)capacity, sizeof **paths);
        }
        (*paths)[(*count)++] = arena_printf(arena, "%s/%s", folder, entry->d_name);
    }
    closedir(open_folder);
    if (*count) qsort(*paths, (size_t)*count, sizeof **paths, by_name);
    return STAX_OK;
}

char *db_journal_path(const struct db *db, struct hash128 uuid, struct arena *arena)
{
    char hex[33];
    hash128_hex(uuid, hex);
    return arena_printf(arena, "%s%s%s", db->path, JOURNAL_MARK, hex);
}

bool db_is_hdf5(const char *path)
{
    char head[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool hdf5 = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
                !memcmp(head, "\x89HDF\r\n\x1a\n", 8);
    if (fd >= 0) close(fd);
    return hdf5;
}
