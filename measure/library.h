/* Opening shared libraries at run time, so that one program starts everywhere. */
#ifndef STAX_MEASURE_LIBRARY_H
#define STAX_MEASURE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Tries each name of the NULL-terminated list on the loader's path, then in lib64, lib and
 * extras/CUPTI/lib64 of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. NULL when none opens; *why is
 * then one line that names what was sought. *path is where it was found. Libraries are never
 * closed: threads of theirs may still run. */
void *library_open(const char *const *names, struct arena *arena, const char **path,
                   const char **why);
/* The GNU build id of the library that holds `symbol`, in hex; "" where it has none. */
const char *library_build_id(const void *symbol, struct arena *arena);

#endif
