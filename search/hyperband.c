/* Hyperband (Li et al. 2018, algorithm 1): halving brackets from "many, barely measured" to "few,
 * fully measured", so that no guess about the noise is needed. Fidelity is the number of timed
 * samples.
 *
 * eta 3, R 81 gives the first rungs 81@1, 34@3, 15@9, 8@27, 5@81. The first bracket holds the
 * candidates. Members are drawn by a model of what was measured, as in BOHB (Falkner, Klein, Hutter
 * 2018), a few at a time. */
#include <math.h>

#include "search/strategy.h"

static const struct search_option options[] = {
    {"eta", SEARCH_OPTION_INT, "3", 2, 64, NULL, "one in eta survives a rung (paper: 3 or 4)"},
    {"samples", SEARCH_OPTION_INT, "81", 1, 1e6, NULL, "R, timed samples of the last rung"},
    {"rounds", SEARCH_OPTION_INT, "1", 0, 1e6, NULL,
     "passes over all brackets; 0: to the end of the budget or the space"},
    {"draw", SEARCH_OPTION_CHOICE, "model", 0, 0, "model|uniform",
     "members after the first few: most by a model of what was measured, or all uniform"},
    {"keep", SEARCH_OPTION_CHOICE, "cut", 0, 0, "cut|noise",
     "noise: also keep what lies within the noise of the cut"},
    {0},
};

struct hyperband {
    struct bracket bracket;
    struct drawer drawer;
    int eta, samples, brackets;
    int left; /* brackets of this round not begun */
    int64_t round, rounds;
    bool filling, keep_noise;
    double scale; /* of the bracket sizes, when a round needs more configurations than the budget
                     has */
    uint64_t drawn;
};

/* n = ceil((s_max + 1) / (s + 1) eta^s) configurations at R eta^-s samples. */
static int bracket_size(const struct hyperband *state, int s)
{
    return (int)ceil((double)state->brackets / (s + 1) * pow(state->eta, s) - 1e-9);
}

static int first_fidelity(const struct hyperband *state, int s)
{
    int fidelity = state->samples;
    while (s-- > 0) fidelity /= state->eta;
    return fidelity;
}

static enum stax_status init(struct search *search)
{
    struct hyperband *state = ARENA_NEW(search->arena, struct hyperband);
    state->eta = (int)search_int(search, "eta");
    state->samples = (int)search_int(search, "samples");
    state->rounds = search_int(search, "rounds");
    state->keep_noise = search_is(search, "keep", "noise");
    state->drawer = drawer_make(search, state->samples);
    for (int r = state->samples; r > 0; r /= state->eta) state->brackets++;
    state->left = state->brackets;
    double total = 0;
    for (int s = 0; s < state->brackets; s++) total += bracket_size(state, s);
    state->scale = fmin(1, (double)search->problem.budget_configs / total);
    search->state = state;
    return STAX_OK;
}

/* The next bracket's members; false when the search is over. */
static bool begin(struct search *search)
{
    struct hyperband *state = search->state;
    if (state->left == 0) {
        state->left = state->brackets;
        if (++state->round == state->rounds) return false;
    }
    uint64_t budget = search->problem.budget_configs;
    if (state->rounds == 0 && (uint64_t)search->memo.count >= budget) return false;
    int s = --state->left;
    double size = floor(bracket_size(state, s) * state->scale);
    int count = size < 1 ? 1 : (int)size;
    if (state->round == 0 && budget - state->drawn < (uint64_t)count)
        count = (int)(budget - state->drawn);
    state->bracket = bracket_make(search, count, first_fidelity(state, s));
    if (state->round == 0 && s == state->brackets - 1) bracket_seed(search, &state->bracket);
    return true;
}

static void advance(struct search *search)
{
    struct hyperband *state = search->state;
    struct bracket *bracket = &state->bracket;
    while (search->batch.count == 0) {
        if (state->filling) {
            state->drawn -= (uint64_t)bracket->count;
            state->filling = bracket_fill(search, &state->drawer, bracket);
            state->drawn += (uint64_t)bracket->count;
            if (bracket->count == 0 && state->round > 0) return; /* none can gain a sample */
        } else if (bracket->fidelity < state->samples && bracket->count > 0) {
            bracket_cut(search, bracket, state->eta, state->samples, state->keep_noise);
        } else {
            if (!begin(search)) return;
            state->filling = true;
        }
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_hyperband = {
    .name = "hyperband",
    .summary = "brackets of successive halving: samples go to what looks good, at several rates",
    .source = "Li et al. 2018; Falkner, Klein, Hutter 2018; book 9.6 [54]",
    .options = options,
    .init = init,
    .ask = ask,
};
