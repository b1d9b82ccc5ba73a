/* Copies of a database run by run: compacting, renewing, merging, saving what a damaged file still holds. */
#ifndef STAX_RESULTS_COPY_H
#define STAX_RESULTS_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct copy_report {
    uint64_t copied, present, damaged; /* runs; `present` were in the target before */
};

/* Makes `to`, which must not exist, from the runs of `from`. `finalised`: compressed, for keeping. With a report, runs that cannot be
 * read are left out and counted; without one they are an error. */
enum stax_status copy_file(const char *from, const char *to, bool finalised, struct copy_report *report);

#endif
