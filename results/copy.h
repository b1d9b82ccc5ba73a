/* Copies of a database run by run: renewing in place; merging, compacting and repairing are in
 * results.h. */
#ifndef STAX_RESULTS_COPY_H
#define STAX_RESULTS_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Makes `to`, which must not exist, in the live layout from all committed runs of `from`. */
enum stax_status copy_file(const char *from, const char *to);

/* Makes sure that `bytes` more fit into the file, before HDF5 finds out in the middle of a flush.
 * STAX_IO. */
enum stax_status copy_ask_space(const char *path, uint64_t bytes);

#endif
