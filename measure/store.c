/* A list in order of use; there are tens of buffers, never thousands. See store.h. */
#include "measure/store.h"

#include <string.h>

#include "base/status.h"

enum { GUARD_BYTE = 0xa5 }; /* neither of the poison patterns, no small number in any type */

struct store {
    const struct backend_ops *ops;
    struct backend *backend;
    struct arena *arena;
    struct stored *first; /* also those released, whose base is 0: their memory is reused */
    int64_t limit_bytes, held_bytes;
    uint64_t clock;
};

static int64_t whole_bytes(int64_t bytes)
{
    return bytes + 2 * (int64_t)GUARD_BYTES;
}

struct store *store_create(const struct backend_ops *ops, struct backend *backend,
                           int64_t limit_bytes, struct arena *arena)
{
    struct store *store = ARENA_NEW(arena, struct store);
    *store = (struct store){
        .ops = ops, .backend = backend, .arena = arena, .limit_bytes = limit_bytes};
    return store;
}

static void release(struct store *store, struct stored *stored)
{
    store->ops->release(store->backend, stored->base, whole_bytes(stored->bytes));
    store->held_bytes -= whole_bytes(stored->bytes);
    *stored = (struct stored){.next = stored->next};
}

static bool release_oldest(struct store *store)
{
    struct stored *oldest = NULL;
    for (struct stored *at = store->first; at; at = at->next) {
        if (at->base && at->holds == 0 && (!oldest || at->used < oldest->used)) oldest = at;
    }
    if (!oldest) return false;
    release(store, oldest);
    return true;
}

static struct stored *free_row(struct store *store)
{
    for (struct stored *at = store->first; at; at = at->next) {
        if (!at->base) return at;
    }
    struct stored *fresh = ARENA_NEW(store->arena, struct stored);
    fresh->next = store->first;
    store->first = fresh;
    return fresh;
}

bool store_mend(struct store *store, struct stored *stored, struct verdict *verdict)
{
    return store->ops->set(store->backend, stored->base, GUARD_BYTE, GUARD_BYTES, verdict) &&
           store->ops->set(store->backend, stored->address + (uint64_t)stored->bytes, GUARD_BYTE,
                           GUARD_BYTES, verdict);
}

struct stored *store_hold(struct store *store, struct hash128 key, int64_t bytes,
                          struct verdict *verdict)
{
    store->clock++;
    for (struct stored *at = store->first; at; at = at->next) {
        if (!at->base || !hash128_equal(at->key, key)) continue;
        STAX_CHECK(at->bytes == bytes);
        at->holds++;
        at->used = store->clock;
        return at;
    }
    while (store->held_bytes + whole_bytes(bytes) > store->limit_bytes && release_oldest(store))
        continue;
    uint64_t base = 0;
    while (!store->ops->allocate(store->backend, whole_bytes(bytes), &base)) {
        if (release_oldest(store)) continue;
        verdict_set(verdict, OUTCOME_RESOURCE,
                    "no room for a buffer of %lld bytes beside %lld bytes in use", (long long)bytes,
                    (long long)store->held_bytes);
        return NULL;
    }
    struct stored *stored = free_row(store);
    *stored = (struct stored){.key = key,
                              .address = base + GUARD_BYTES,
                              .bytes = bytes,
                              .holds = 1,
                              .base = base,
                              .used = store->clock,
                              .next = stored->next};
    store->held_bytes += whole_bytes(bytes);
    if (store_mend(store, stored, verdict)) return stored;
    stored->holds = 0;
    release(store, stored);
    return NULL;
}

void store_let_go(struct stored *stored)
{
    STAX_CHECK(stored->holds > 0);
    stored->holds--;
}

bool store_check_guards(struct store *store, const struct stored *stored, int64_t *offset,
                        struct verdict *verdict)
{
    int64_t before, after;
    uint64_t end = stored->address + (uint64_t)stored->bytes;
    if (!store->ops->all(store->backend, stored->base, GUARD_BYTE, GUARD_BYTES, &before, verdict) ||
        !store->ops->all(store->backend, end, GUARD_BYTE, GUARD_BYTES, &after, verdict))
        return false;
    *offset = before >= 0 ? before - GUARD_BYTES : after >= 0 ? stored->bytes + after : STORE_WHOLE;
    return true;
}

void store_clear(struct store *store)
{
    for (struct stored *at = store->first; at; at = at->next) {
        if (at->base) release(store, at);
    }
}
