/* Every valid configuration once: candidates first, then the rest, by default in random order so
 * that a drifting clock does not favour a corner of the space and a spent budget leaves a uniform
 * sample. */
#include "search/strategy.h"

enum { CHUNK = 256 }; /* asks planned at once; chosen: more than any session keeps in flight */

static const struct search_option options[] = {
    {"order", SEARCH_OPTION_CHOICE, "random", 0, 0, "random|rank", "order of the configurations"},
    {0},
};

struct exhaustive {
    struct shuffle shuffle;
    uint64_t rank;
    bool random, begun;
};

static enum stax_status init(struct search *search)
{
    struct exhaustive *state = ARENA_NEW(search->arena, struct exhaustive);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->random = search_is(search, "order", "random");
    search->state = state;
    return STAX_OK;
}

static bool next(struct search *search, uint64_t *config)
{
    struct exhaustive *state = search->state;
    if (state->random) return shuffle_next(&state->shuffle, config);
    *config = state->rank;
    return state->rank++ < search->size;
}

static void advance(struct search *search)
{
    struct exhaustive *state = search->state;
    if (!state->begun) batch_add_seeds(search);
    state->begun = true;
    for (uint64_t config; search->batch.count < CHUNK && next(search, &config);)
        batch_add_new(search, config);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

static const char *claim(struct search *search, struct arena *arena)
{
    unsigned long long told = (unsigned long long)search->memo.told;
    unsigned long long size = (unsigned long long)search->size;
    if (told == size)
        return arena_printf(arena,
                            "all %llu valid configurations were measured: the best is the "
                            "optimum of this space",
                            size);
    return arena_printf(arena, "%llu of %llu valid configurations were measured", told, size);
}

const struct search_ops search_exhaustive = {
    .name = "exhaustive",
    .summary = "all valid configurations: the optimum, if the budget lasts",
    .source = "book 9.6, definition 9.2",
    .options = options,
    .init = init,
    .ask = ask,
    .claim = claim,
};
