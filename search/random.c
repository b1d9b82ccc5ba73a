/* Uniform random search with the quantile guarantee of proposition 9.3.
 *
 * The population is the constraint-valid configurations. A draw that fails counts and is not drawn
 * again, since the proof needs uniform draws, not successful ones. The claim is made of the draws
 * completed. */
#include <stdio.h>

#include "search/strategy.h"

enum { CHUNK = 64 }; /* draws planned at once; chosen: more than any session keeps in flight */

static const struct search_option options[] = {
    {"replacement", SEARCH_OPTION_CHOICE, "no", 0, 0, "no|yes",
     "may a configuration be drawn twice (the book's proof lets it; the bound without is tighter)"},
    {"draws", SEARCH_OPTION_CHOICE, "book", 0, 0, "book|exact|hypergeometric|budget",
     "how many: ceil(ln(1/d)/q), ceil(ln d/ln(1-q)), the least without replacement, or all that "
     "the "
     "budget allows"},
    {0},
};

struct random {
    struct shuffle shuffle;
    struct rng rng;
    bool replacement;
    uint64_t target, drawn; /* drawn: of batches before this one all are told */
    uint64_t in_batch;      /* draws of the present batch, repeats included */
};

static enum stax_status init(struct search *search)
{
    struct random *state = ARENA_NEW(search->arena, struct random);
    const struct search_problem *problem = &search->problem;
    double delta = 1 - problem->confidence;
    state->replacement = search_is(search, "replacement", "yes");
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->rng = search->draws;
    if (search_is(search, "draws", "budget"))
        state->target = UINT64_MAX;
    else if (search_is(search, "draws", "exact"))
        state->target = stats_draws_exact(problem->quantile, delta);
    else if (search_is(search, "draws", "hypergeometric") && !state->replacement)
        state->target = stats_draws_without(search->size, problem->quantile, delta);
    else if (search_is(search, "draws", "hypergeometric"))
        STAX_RETURN(STAX_USAGE, "random.draws=hypergeometric holds without replacement only: drop "
                                "random.replacement=yes or choose draws=exact");
    else
        state->target = stats_draws_book(problem->quantile, delta);
    if (!state->replacement && state->target > search->size) state->target = search->size;
    search->state = state;
    return STAX_OK;
}

static void advance(struct search *search)
{
    struct random *state = search->state;
    /* With replacement a long row of repeats asks nothing new: only an exhausted space ends it. */
    while (search->batch.count == 0 && state->drawn + state->in_batch < state->target) {
        if ((uint64_t)search->memo.count == search->size && state->target == UINT64_MAX) return;
        state->drawn += state->in_batch;
        state->in_batch = 0;
        while (state->in_batch < CHUNK && state->drawn + state->in_batch < state->target) {
            uint64_t config;
            if (state->replacement)
                config = rng_below(&state->rng, search->size);
            else if (!shuffle_next(&state->shuffle, &config))
                break;
            state->in_batch++;
            batch_add_new(search, config);
        }
        if (state->in_batch == 0) return;
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

/* Draws whose answers are all in; those of an unfinished batch that are repeats do not count yet.
 */
static uint64_t completed(const struct search *search)
{
    const struct random *state = search->state;
    const struct batch *batch = &search->batch;
    return state->drawn + (batch->told == batch->count ? state->in_batch : (uint64_t)batch->told);
}

static const char *claim(struct search *search, struct arena *arena)
{
    const struct random *state = search->state;
    double q = search->problem.quantile, delta = 1 - search->problem.confidence;
    uint64_t draws = completed(search);
    double with = stats_certificate(draws, q);
    double without = stats_certificate_without(search->size, draws, q);
    char same[64] = "";
    if (!state->replacement) snprintf(same, sizeof same, ", %.4f if drawn with replacement", with);
    return arena_printf(
        arena,
        "best of %llu uniform draws from %llu valid configurations: among the fastest %g %% with "
        "probability >= %.4f%s, if times are exact (N by the book %llu, exact %llu, without "
        "replacement %llu)",
        (unsigned long long)draws, (unsigned long long)search->size, 100 * q,
        state->replacement ? with : without, same, (unsigned long long)stats_draws_book(q, delta),
        (unsigned long long)stats_draws_exact(q, delta),
        (unsigned long long)stats_draws_without(search->size, q, delta));
}

const struct search_ops search_random = {
    .name = "random",
    .summary = "uniform draws: in the best q with probability 1 - d, whatever the times look like",
    .source = "book 9.6, proposition 9.3",
    .options = options,
    .cold = true,
    .init = init,
    .ask = ask,
    .claim = claim,
};
