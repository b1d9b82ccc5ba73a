/* Device buffers that outlive a job: inputs, reference results, and the outputs that jobs of one
 * shape share.
 *
 * A buffer has a key; asking again gives the same memory. The least recently used that nobody holds
 * are released when the bound is passed or the device has no room. Guard zones of a fixed byte lie
 * round every buffer. */
#ifndef STAX_MEASURE_STORE_H
#define STAX_MEASURE_STORE_H

#include "base/hash.h"
#include "measure/backend.h"

struct store;

struct stored {
    struct hash128 key;
    uint64_t address; /* of the first element */
    int64_t bytes;
    bool filled;     /* the owner's mark: holds what its key says */
    uint64_t digest; /* of what it was filled with */
    /* the store's own */
    int holds;
    uint64_t base, used;
    struct stored *next;
};

struct store *store_create(const struct backend_ops *ops, struct backend *backend,
                           int64_t limit_bytes, struct arena *arena);
/* Gets and holds a buffer. RESOURCE with the bytes named where the device has no room. */
struct stored *store_hold(struct store *store, struct hash128 key, int64_t bytes,
                          struct verdict *verdict);
void store_let_go(struct stored *stored);
/* Are the guards of this buffer whole? *offset: the first bad byte, relative to the first element;
 * else STORE_WHOLE. */
#define STORE_WHOLE INT64_MIN
bool store_check_guards(struct store *store, const struct stored *stored, int64_t *offset,
                        struct verdict *verdict);
/* Lays the guards anew, after damage. */
bool store_mend(struct store *store, struct stored *stored, struct verdict *verdict);
void store_clear(struct store *store); /* releases everything; no buffer may be held */

#endif
