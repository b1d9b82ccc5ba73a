/* Simulated annealing over single-parameter moves inside the valid configurations; a baseline of
 * the published comparisons. Worse configurations are accepted with probability exp(-(t'/t - 1) /
 * T); failed ones never. */
#include <math.h>

#include "search/moves.h"

/* Measured on four recorded spaces (two kernels, two GPUs), budget by time: 0.02 and 0.99 score
 * 0.46, Kernel Tuner's 0.1 and 0.9975 score 0.21 with this move set. */
static const struct search_option options[] = {
    {"temperature", SEARCH_OPTION_REAL, "0.02", 1e-6, 1e6, NULL,
     "first temperature, relative time"},
    {"last", SEARCH_OPTION_REAL, "0.0001", 1e-9, 1e6, NULL, "temperature of the end of a schedule"},
    {"cooling", SEARCH_OPTION_REAL, "0.99", 0.01, 0.999999, NULL,
     "factor a step, where the budget has no number of configurations to stretch over"},
    {0},
};

enum {
    STUCK = 200
}; /* steps without anything new before a jump to a random configuration; chosen */

struct annealing {
    struct moves moves;
    struct shuffle shuffle;
    uint64_t at, tried;
    double temperature, last, cooling;
    bool started, pending;
    const uint64_t *near; /* neighbours of `listed` */
    uint64_t listed;
    int count;
};

static enum stax_status init(struct search *search)
{
    struct annealing *state = ARENA_NEW(search->arena, struct annealing);
    state->moves = moves_make(search->problem.space, search->arena);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->temperature = search_real(search, "temperature");
    state->last = search_real(search, "last");
    state->cooling = search_real(search, "cooling");
    if (state->last >= state->temperature)
        STAX_RETURN(STAX_USAGE, "annealing.last=%g is not below annealing.temperature=%g: lower it",
                    state->last, state->temperature);
    uint64_t budget = search->problem.budget_configs;
    if (budget < search->size && budget > 1)
        state->cooling = pow(state->last / state->temperature, 1 / (double)(budget - 1));
    search->state = state;
    return STAX_OK;
}

static bool jump(struct search *search)
{
    struct annealing *state = search->state;
    for (uint64_t config; shuffle_next(&state->shuffle, &config);)
        if (batch_add_new(search, config)) {
            state->tried = config;
            state->pending = true;
            return true;
        }
    return false;
}

/* Takes the move just measured, or leaves it. */
static void decide(struct search *search)
{
    struct annealing *state = search->state;
    double here = memo_time(&search->memo, state->at);
    double there = memo_time(&search->memo, state->tried);
    if (!isfinite(there)) return;
    if (there <= here || rng_unit(&search->rng) < exp(-(there / here - 1) / state->temperature))
        state->at = state->tried;
}

static void advance(struct search *search)
{
    struct annealing *state = search->state;
    if (search->memo.count == 0) {
        batch_add_seeds(search);
        if (search->batch.count == 0) jump(search);
        return;
    }
    if (search->memo.best < 0) {
        jump(search);
        return;
    }
    if (!state->started) {
        state->started = true;
        state->at = search->memo.record[search->memo.best].config;
    } else if (state->pending) {
        decide(search);
    }
    state->pending = false;
    for (int step = 0; step < STUCK; step++) {
        if (!state->near || state->listed != state->at) {
            state->count = moves_all(&state->moves, state->at, SPACE_ANY, &state->near);
            state->listed = state->at;
        }
        if (state->count == 0) break;
        state->tried = state->near[rng_below(&search->rng, (uint64_t)state->count)];
        state->temperature *= state->cooling;
        if (state->temperature < state->last) { /* the next schedule starts from the best */
            state->temperature = search_real(search, "temperature");
            state->at = search->memo.record[search->memo.best].config;
        }
        if (batch_add_new(search, state->tried)) {
            state->pending = true;
            return;
        }
        decide(search); /* known already: costs nothing */
    }
    jump(search);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_annealing = {
    .name = "annealing",
    .summary = "simulated annealing over single-parameter moves, until the budget ends",
    .source = "Kirkpatrick, Gelatt, Vecchi 1983",
    .options = options,
    .init = init,
    .ask = ask,
};
