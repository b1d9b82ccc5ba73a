/* Successive halving: one bracket, from many configurations with few samples to few with many.
 * Which enter is up to a model, as in hyperband. */
#include "search/strategy.h"

static const struct search_option options[] = {
    {"configs", SEARCH_OPTION_INT, "81", 1, 1e6, NULL, "configurations of the first rung"},
    {"first", SEARCH_OPTION_INT, "1", 1, 1e6, NULL, "timed samples of the first rung"},
    {"eta", SEARCH_OPTION_INT, "3", 2, 64, NULL, "one in eta survives a rung"},
    {"samples", SEARCH_OPTION_INT, "81", 1, 1e6, NULL, "timed samples of the last rung"},
    {"draw", SEARCH_OPTION_CHOICE, "model", 0, 0, "model|uniform",
     "members after the first few: most by a model of what was measured, or all uniform"},
    {"keep", SEARCH_OPTION_CHOICE, "cut", 0, 0, "cut|noise",
     "noise: also keep what lies within the noise of the cut"},
    {0},
};

struct halving {
    struct bracket bracket;
    struct drawer drawer;
    int eta, samples;
    bool filled, keep_noise;
};

static enum stax_status init(struct search *search)
{
    struct halving *state = ARENA_NEW(search->arena, struct halving);
    state->eta = (int)search_int(search, "eta");
    state->samples = (int)search_int(search, "samples");
    state->keep_noise = search_is(search, "keep", "noise");
    state->drawer = drawer_make(search, state->samples);
    int configs = (int)search_int(search, "configs"), first = (int)search_int(search, "first");
    if (first > state->samples)
        STAX_RETURN(STAX_USAGE, "halving.first=%d is more than halving.samples=%d: lower first",
                    first, state->samples);
    if (search->problem.budget_configs < (uint64_t)configs)
        configs = (int)search->problem.budget_configs;
    state->bracket = bracket_make(search, configs, first);
    bracket_seed(search, &state->bracket);
    search->state = state;
    return STAX_OK;
}

static void advance(struct search *search)
{
    struct halving *state = search->state;
    struct bracket *bracket = &state->bracket;
    if (!state->filled) {
        bracket_fill(search, &state->drawer, bracket);
        if (search->batch.count > 0) return;
        state->filled = true;
    }
    while (search->batch.count == 0 && bracket->fidelity < state->samples)
        bracket_cut(search, bracket, state->eta, state->samples, state->keep_noise);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_halving = {
    .name = "halving",
    .summary = "many configurations timed a little, one in eta timed eta times more, and so on",
    .source = "Jamieson & Talwalkar 2016; Falkner, Klein, Hutter 2018; book 9.6 [54]",
    .options = options,
    .init = init,
    .ask = ask,
};
