/* A genetic algorithm whose crossover and mutation stay inside the valid configurations; a baseline
 * of the published comparisons. Parents are chosen by rank, so only the order of the times matters.
 */
#include <math.h>
#include <stdlib.h>

#include "search/moves.h"

/* Population 20, mutation 1 in 5: the best of 108 settings in "Tuning the Tuner" (arXiv
 * 2509.26300). */
static const struct search_option options[] = {
    {"population", SEARCH_OPTION_INT, "20", 2, 1e5, NULL, "configurations a generation"},
    {"mutation", SEARCH_OPTION_INT, "5", 1, 1e5, NULL, "one parameter in this many mutates"},
    {"crossover", SEARCH_OPTION_CHOICE, "uniform", 0, 0, "uniform|single_point",
     "how two parents are mixed"},
    {0},
};

enum {
    CHILD_TRIES = 20, /* crossovers tried before a parent is mutated instead; chosen */
    STALE = 20, /* children without anything new before a random configuration enters; chosen */
};

struct member {
    double time_ns;
    uint64_t config;
    int place;
};

struct genetic {
    struct moves moves;
    struct shuffle shuffle;
    struct member *member; /* the generation, in the order bred */
    int members, population, mutation;
    int *child, *mother, *father;
    bool single_point;
};

static enum stax_status init(struct search *search)
{
    struct genetic *state = ARENA_NEW(search->arena, struct genetic);
    int params = space_params(search->problem.space);
    state->moves = moves_make(search->problem.space, search->arena);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->population = (int)search_int(search, "population");
    state->mutation = (int)search_int(search, "mutation");
    state->single_point = search_is(search, "crossover", "single_point");
    state->member = ARENA_ARRAY(search->arena, struct member, 2 * state->population);
    state->child = ARENA_ARRAY(search->arena, int, params);
    state->mother = ARENA_ARRAY(search->arena, int, params);
    state->father = ARENA_ARRAY(search->arena, int, params);
    search->state = state;
    return STAX_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return x->place - y->place;
}

/* Times of the generation are in: the fastest half of parents and children live on. */
static void select_parents(struct search *search)
{
    struct genetic *state = search->state;
    for (int i = 0; i < state->members; i++) {
        state->member[i].time_ns = memo_time(&search->memo, state->member[i].config);
        state->member[i].place = i;
    }
    qsort(state->member, (size_t)state->members, sizeof *state->member, by_time);
    int kept = 0;
    for (int i = 0; i < state->members && kept < state->population; i++)
        if (isfinite(state->member[i].time_ns) &&
            (kept == 0 || state->member[i].config != state->member[kept - 1].config))
            state->member[kept++] = state->member[i];
    state->members = kept;
}

/* Rank selection: linear, the first twice as likely as the middle. */
static int parent(struct search *search, int parents)
{
    int a = (int)rng_below(&search->rng, (uint64_t)parents);
    int b = (int)rng_below(&search->rng, (uint64_t)parents);
    return a < b ? a : b;
}

static bool breed(struct search *search, int parents, uint64_t *config)
{
    struct genetic *state = search->state;
    const struct space *space = search->problem.space;
    int params = state->moves.params;
    for (int t = 0; t < CHILD_TRIES; t++) {
        space_unrank(space, state->member[parent(search, parents)].config, state->mother);
        space_unrank(space, state->member[parent(search, parents)].config, state->father);
        int cut = (int)rng_below(&search->rng, (uint64_t)params + 1);
        for (int i = 0; i < params; i++) {
            bool mother = state->single_point ? i < cut : rng_below(&search->rng, 2) == 0;
            state->child[i] = mother ? state->mother[i] : state->father[i];
            if (rng_below(&search->rng, (uint64_t)state->mutation) == 0)
                state->child[i] = (int)rng_below(&search->rng,
                                                 (uint64_t)space_param(space, i)->count);
        }
        if (space_rank(space, state->child, config, NULL)) return true;
    }
    *config = moves_shake(&state->moves, state->member[parent(search, parents)].config, 1,
                          &search->rng);
    return false;
}

static void add_random(struct search *search)
{
    struct genetic *state = search->state;
    for (uint64_t config; shuffle_next(&state->shuffle, &config);)
        if (batch_add_new(search, config)) {
            state->member[state->members++].config = config;
            return;
        }
}

static void advance(struct search *search)
{
    struct genetic *state = search->state;
    if (search->memo.count == 0) {
        batch_add_seeds(search);
        for (int i = 0; i < search->batch.count && state->members < state->population; i++)
            state->member[state->members++].config = search->batch.ask[i].config;
        while (state->members < state->population && (uint64_t)search->memo.count < search->size)
            add_random(search);
        return;
    }
    select_parents(search);
    int parents = state->members, stale = 0;
    while (state->members < parents + state->population &&
           (uint64_t)search->memo.count < search->size) {
        uint64_t config;
        if (parents == 0 || stale > STALE) {
            stale = 0;
            add_random(search);
            continue;
        }
        breed(search, parents, &config);
        if (batch_add_new(search, config))
            state->member[state->members++].config = config;
        else
            stale++;
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_genetic = {
    .name = "genetic",
    .summary = "a genetic algorithm inside the valid configurations, until the budget ends",
    .source = "Holland 1975; settings of arXiv 2509.26300",
    .options = options,
    .init = init,
    .ask = ask,
};
