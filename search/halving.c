/* Successive halving: one bracket, from many configurations with few samples to few with many. */
#include "search/strategy.h"

static const struct search_option options[] = {
    {"configs", SEARCH_OPTION_INT, "81", 1, 1e6, NULL, "configurations of the first rung"},
    {"first", SEARCH_OPTION_INT, "1", 1, 1e6, NULL, "timed samples of the first rung"},
    {"eta", SEARCH_OPTION_INT, "3", 2, 64, NULL, "one in eta survives a rung"},
    {"samples", SEARCH_OPTION_INT, "81", 1, 1e6, NULL, "timed samples of the last rung"},
    {"keep", SEARCH_OPTION_CHOICE, "cut", 0, 0, "cut|noise",
     "noise: also keep what lies within the noise of the cut"},
    {0},
};

struct halving {
    struct bracket bracket;
    struct shuffle shuffle;
    int eta, samples;
    bool begun, keep_noise;
};

static enum stax_status init(struct search *search)
{
    struct halving *state = ARENA_NEW(search->arena, struct halving);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->eta = (int)search_int(search, "eta");
    state->samples = (int)search_int(search, "samples");
    state->bracket.fidelity = (int)search_int(search, "first");
    state->keep_noise = search_is(search, "keep", "noise");
    if (state->bracket.fidelity > state->samples)
        STAX_RETURN(STAX_USAGE, "halving.first=%d is more than halving.samples=%d: lower first",
                    state->bracket.fidelity, state->samples);
    search->state = state;
    return STAX_OK;
}

static void advance(struct search *search)
{
    struct halving *state = search->state;
    struct bracket *bracket = &state->bracket;
    if (!state->begun) {
        state->begun = true;
        int count = (int)search_int(search, "configs");
        if (search->problem.budget_configs < (uint64_t)count)
            count = (int)search->problem.budget_configs;
        bracket_seed(search, count, bracket);
        bracket_draw(search, &state->shuffle, count, state->samples, bracket);
        bracket_ask(search, bracket);
        return;
    }
    while (search->batch.count == 0 && bracket->fidelity < state->samples) {
        bracket_cut(search, bracket, state->eta, state->keep_noise);
        bracket->fidelity *= state->eta;
        if (bracket->fidelity > state->samples) bracket->fidelity = state->samples;
        bracket_ask(search, bracket);
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_halving = {
    .name = "halving",
    .summary = "many configurations timed a little, one in eta timed eta times more, and so on",
    .source = "Jamieson & Talwalkar 2016; book 9.6 [54]",
    .options = options,
    .init = init,
    .ask = ask,
};
