/* CUPTI activity records: start and end of each kernel by the device's own clock, in nanoseconds.
 *
 * Opened before the driver is initialised. Records are collected per batch: begin, launch, wait for
 * the stream, take. Any doubt about a batch (a record missing, dropped, or without a time) fails
 * the whole batch. */
#ifndef STAX_MEASURE_ACTIVITY_H
#define STAX_MEASURE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct activity_kernel {
    uint64_t start_ns, end_ns;
    uint64_t name; /* hash_string of the kernel's name; CUPTI keeps names by function handle, so a
                      kernel of a module loaded where another was unloaded may bear its name */
    uint32_t shape[6];    /* grid x y z, block x y z */
    uint32_t correlation; /* grows with each launch */
};

/* STAX_UNSUPPORTED with one line: no library, or who holds the subscription. *note: "CUPTI 13.0
 * (path)". `enable` false: only looks. */
enum stax_status activity_open(bool enable, struct arena *arena, const char **note);
/* Starts a batch: what was launched before, `launched` kernels in this process, is waited for and
 * forgotten. */
void activity_begin(uint64_t launched);
/* The records of a batch in the order of launches. NULL with a reason unless exactly `kernels` good
 * ones came. */
const struct activity_kernel *activity_take(int kernels, const char **why);

#endif
