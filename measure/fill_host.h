/* Filling, comparing and digesting buffers on the host, over all its threads for large ones. */
#ifndef STAX_MEASURE_FILL_HOST_H
#define STAX_MEASURE_FILL_HOST_H

#include <stdint.h>

#include "base/job.h"
#include "measure/backend.h"

/* Calls `part` for consecutive ranges of [0, count), each of at least `grain`, from as many threads
 * as may run. */
void host_parallel(int64_t count, int64_t grain, void (*part)(void *data, int64_t from, int64_t to),
                   void *data);
int host_threads(void); /* that this process may use at once */

void host_fill(const struct job_buffer *buffer, void *to);
void host_compare(enum dtype dtype, int64_t elements, const void *out, const double *reference,
                  const double *bound, struct comparison *comparison);
double host_element(enum dtype dtype, const void *from); /* the value of one element */
/* Index of the first byte that is not `byte`, or -1. */
int64_t host_find_other(const void *from, int byte, int64_t bytes);

#endif
