/* A hash table of 64-bit keys and values, and the sparse shuffle on top of it. Open addressing,
 * linear probing, half full at most; old arrays stay in the arena, so twice the memory is the
 * bound. */
#include "search/strategy.h"

enum { FIRST_SLOTS = 64 };

struct table table_make(struct arena *arena)
{
    return (struct table){.arena = arena};
}

static uint64_t place(const struct table *table, uint64_t key)
{
    uint64_t slot = rng_mix(key) & (table->slots - 1);
    while (table->used[slot] && table->key[slot] != key) slot = (slot + 1) & (table->slots - 1);
    return slot;
}

bool table_get(const struct table *table, uint64_t key, uint64_t *value)
{
    if (table->slots == 0) return false;
    uint64_t slot = place(table, key);
    if (table->used[slot]) *value = table->value[slot];
    return table->used[slot];
}

static void grow(struct table *table)
{
    struct table old = *table;
    table->slots = old.slots ? 2 * old.slots : FIRST_SLOTS;
    table->key = ARENA_ARRAY(table->arena, uint64_t, table->slots);
    table->value = ARENA_ARRAY(table->arena, uint64_t, table->slots);
    table->used = ARENA_ARRAY(table->arena, bool, table->slots);
    for (uint64_t i = 0; i < old.slots; i++) {
        if (!old.used[i]) continue;
        uint64_t slot = place(table, old.key[i]);
        table->used[slot] = true;
        table->key[slot] = old.key[i];
        table->value[slot] = old.value[i];
    }
}

void table_put(struct table *table, uint64_t key, uint64_t value)
{
    if (2 * (table->count + 1) > table->slots) grow(table);
    uint64_t slot = place(table, key);
    table->count += !table->used[slot];
    table->used[slot] = true;
    table->key[slot] = key;
    table->value[slot] = value;
}

struct shuffle shuffle_make(uint64_t size, struct rng rng, struct arena *arena)
{
    return (struct shuffle){.swapped = table_make(arena), .size = size, .rng = rng};
}

bool shuffle_next(struct shuffle *shuffle, uint64_t *value)
{
    if (shuffle->drawn == shuffle->size) return false;
    uint64_t here = shuffle->drawn++;
    uint64_t there = here + rng_below(&shuffle->rng, shuffle->size - here);
    uint64_t at_here = here, at_there = there;
    table_get(&shuffle->swapped, here, &at_here);
    table_get(&shuffle->swapped, there, &at_there);
    table_put(&shuffle->swapped, there, at_here);
    *value = at_there;
    return true;
}
