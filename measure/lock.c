/* flock on files in $XDG_RUNTIME_DIR or /tmp, which ends with its process; see lock.h. */
#include "measure/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_lock(const char *uuid, const char *which)
{
    char path[512];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder || folder[0] != '/' || access(folder, W_OK) != 0) folder = "/tmp";
    snprintf(path, sizeof path, "%s/stax-tune-%s.%s", folder, uuid, which);
    /* Without O_CREAT first: in a sticky folder the kernel refuses it for a file that another user
     * made. */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0)
        fchmod(fd,
               0666); /* other users share the device; fails where they made it, which is fine */
    return fd;
}

static bool take(int fd, bool wait)
{
    int state;
    do {
        state = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
    } while (state != 0 && errno == EINTR);
    return state == 0;
}

bool lock_take(struct device_lock *lock, const char *uuid, bool wait)
{
    *lock = (struct device_lock){open_lock(uuid, "queue"), open_lock(uuid, "lock")};
    bool good = lock->queue >= 0 && lock->device >= 0 && take(lock->queue, wait) &&
                take(lock->device, wait);
    if (lock->queue >= 0) close(lock->queue);
    lock->queue = -1;
    if (good) return true;
    lock_release(lock);
    return false;
}

void lock_release(struct device_lock *lock)
{
    if (lock->queue >= 0) close(lock->queue);
    if (lock->device >= 0) close(lock->device);
    *lock = (struct device_lock){-1, -1};
}
