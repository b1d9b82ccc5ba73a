/* Temporary folders that carry their session's process id, so that those of the killed can be told
 * and removed. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/pool.h"

static void remove_below(const char *path, struct arena *arena)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        const char *inner = arena_printf(arena, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            remove_below(inner, arena);
        else
            unlink(inner);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

void folder_remove(const char *path)
{
    struct arena *scratch = arena_create();
    remove_below(path, scratch);
    arena_destroy(scratch);
}

static void sweep_dead(const char *root, struct arena *arena)
{
    DIR *dir = opendir(root);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int pid;
        struct stat info;
        if (sscanf(entry->d_name, "stax-tune-%d-", &pid) != 1 || entry->d_type != DT_DIR) continue;
        const char *path = arena_printf(arena, "%s/%s", root, entry->d_name);
        if (lstat(path, &info) != 0 || info.st_uid != getuid()) continue;
        if (kill(pid, 0) != 0 && errno == ESRCH) folder_remove(path);
    }
    if (dir) closedir(dir);
}

enum stax_status folder_make_temporary(struct arena *arena, const char **path)
{
    const char *root = getenv("TMPDIR");
    if (!root || root[0] != '/') root = "/tmp";
    sweep_dead(root, arena);
    char *temp = arena_printf(arena, "%s/stax-tune-%d-XXXXXX", root, (int)getpid());
    if (!mkdtemp(temp))
        STAX_RETURN(STAX_IO, "cannot make a folder in %s: %s", root, strerror(errno));
    *path = temp;
    return STAX_OK;
}
