/* Artifacts: compiled programs as files, with what the compiler said in a trailer.
 *
 * The binary comes first, so that dlopen and the driver read the file as it is; the trailer and its
 * checksum come last. One folder holds them by key (source, options, architecture, compiler); a
 * file appears whole, by rename, or not at all. The same folder keeps reference results and
 * measured ceilings. */
#ifndef STAX_MEASURE_CACHE_H
#define STAX_MEASURE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/trial.h"

struct artifact {
    const unsigned char *binary;
    size_t length;
    struct compile_facts facts;
    const char *log;
};

/* Key of what a compiler makes from a program; `compiler` names its version and what -march=native
 * means. */
struct hash128 cache_program_key(const char *source, const char *options, const char *arch,
                                 const char *compiler);
const char *cache_path(struct arena *arena, const char *folder, struct hash128 key,
                       const char *ending);

enum stax_status artifact_write(const char *path, const struct artifact *artifact);
/* STAX_NOTFOUND: no such file. STAX_FORMAT: it is damaged. The bytes live in `arena`. */
enum stax_status artifact_read(const char *path, struct arena *arena, struct artifact *artifact);

/* Any small blob under the same guarantees. */
enum stax_status cache_write(const char *path, const void *bytes, size_t length);
enum stax_status cache_read(const char *path, struct arena *arena, const void **bytes,
                            size_t *length);

enum stax_status cache_make_folder(const char *path); /* with its parents */
/* Removes the files longest unused until at most `limit` bytes are left. */
void cache_prune(const char *folder, int64_t limit_bytes);
/* $XDG_CACHE_HOME/stax-tune or ~/.cache/stax-tune; "" when neither can be known. */
const char *cache_default_folder(struct arena *arena);

#endif
