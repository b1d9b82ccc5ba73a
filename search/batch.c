/* Batches: a strategy plans when all it knows is told, and hands out what it planned piece by
 * piece. */
#include "search/strategy.h"

enum { FIRST_ASKS = 16 };

void batch_add(struct search *search, uint64_t config, int fidelity)
{
    struct batch *batch = &search->batch;
    if (batch->count == batch->capacity) {
        int capacity = batch->capacity ? 2 * batch->capacity : FIRST_ASKS;
        batch->ask = arena_grow(search->arena, batch->ask, (size_t)batch->count, (size_t)capacity,
                                sizeof *batch->ask);
        batch->capacity = capacity;
    }
    memo_add(&search->memo, config);
    batch->ask[batch->count++] = (struct ask){.config = config, .fidelity = fidelity};
}

bool batch_add_new(struct search *search, uint64_t config)
{
    if (memo_find(&search->memo, config) >= 0) return false;
    batch_add(search, config, FIDELITY_AUTO);
    return true;
}

void batch_add_all(struct search *search, int count, const uint64_t *config)
{
    for (int i = 0; i < count; i++) batch_add(search, config[i], FIDELITY_AUTO);
}

void batch_add_seeds(struct search *search)
{
    const struct search_problem *problem = &search->problem;
    for (int i = 0; i < problem->candidates; i++) batch_add_new(search, problem->candidate[i]);
    for (int i = 0; i < problem->warm; i++) batch_add_new(search, problem->warm_config[i]);
}

int batch_ask(struct search *search, struct ask *asks, int n, void (*advance)(struct search *))
{
    struct batch *batch = &search->batch;
    if (batch->asked == batch->count) {
        if (batch->told < batch->count) return SEARCH_WAIT;
        batch->count = batch->asked = batch->told = 0;
        advance(search);
        if (batch->count == 0) return SEARCH_DONE;
    }
    int given = batch->count - batch->asked < n ? batch->count - batch->asked : n;
    for (int i = 0; i < given; i++) asks[i] = batch->ask[batch->asked + i];
    batch->asked += given;
    return given;
}
