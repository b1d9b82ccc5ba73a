/* Recordings as other tuners' files: Kernel Tuner caches (as its release 1.4 reads them) and T4
 * results 1.0.0. Part of results.h; what maps to what: docs/formats.md.
 *
 * What came from such a file reads back as it is; another double can differ in its last bit, since
 * these formats count milliseconds. Configurations come in the order they were measured in, as far
 * as times are known, else in the order of the space.
 */
#ifndef STAX_RESULTS_EXPORT_H
#define STAX_RESULTS_EXPORT_H

#include "base/arena.h"
#include "results/import.h"

/* The whole file, without a newline at its end: Kernel Tuner appends to a cache. */
const char *export_cache(const struct recording *recording, struct arena *arena);
const char *export_t4(const struct recording *recording, struct arena *arena);

#endif
