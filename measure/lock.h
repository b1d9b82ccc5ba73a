/* One session at a time works on a GPU: two lock files by UUID, so that waiting is in turn.
 *
 * Whoever waits for the device holds the queue's lock, and whoever wants the device again must pass
 * the queue first. */
#ifndef STAX_MEASURE_LOCK_H
#define STAX_MEASURE_LOCK_H

#include <stdbool.h>

struct device_lock {
    int queue, device; /* descriptors, -1: none */
};

/* False when somebody else holds it and `wait` is false, or when no lock file can be made. */
bool lock_take(struct device_lock *lock, const char *uuid, bool wait);
void lock_release(struct device_lock *lock);

#endif
