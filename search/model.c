/* Search by a learned ranker alone (TVM and Ansor search so; book 9.6): measure a few, rank a pool,
 * measure what ranks first, learn. It says how often its ranking was right, and where it is no
 * better than a guess it draws at random instead. */
#include <math.h>

#include "search/ranker.h"

static const struct search_option options[] = {
    {"initial", SEARCH_OPTION_INT, "10", 1, 1e6, NULL, "uniform draws before the model is asked"},
    {"kappa", SEARCH_OPTION_REAL, "0.25", 0, 100, NULL,
     "how much not knowing attracts: proposals minimise mean - kappa spread of the predicted rank"},
    {"round", SEARCH_OPTION_INT, "8", 1, 1e4, NULL, "proposals a round"},
    {"sure", SEARCH_OPTION_REAL, "0.55", 0, 1, NULL,
     "share of pairs ranked as measured below which half of a round is drawn at random"},
    RANKER_LEARNER,
    {0},
};

struct model {
    struct shuffle shuffle;
    struct ranker *ranker;
    int initial, round;
    double kappa, sure;
    uint64_t *proposal; /* scratch: a round */
};

static enum stax_status init(struct search *search)
{
    struct model *state = ARENA_NEW(search->arena, struct model);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->ranker = ranker_create(search);
    STAX_TRY(ranker_choose_learner(state->ranker, true)); /* measured better: README.md */
    state->initial = (int)search_int(search, "initial");
    state->round = (int)search_int(search, "round");
    state->proposal = ARENA_ARRAY(search->arena, uint64_t, state->round);
    state->kappa = search_real(search, "kappa");
    state->sure = search_real(search, "sure");
    search->state = state;
    return STAX_OK;
}

static void draw(struct search *search, int count)
{
    struct model *state = search->state;
    for (uint64_t config; count > 0 && shuffle_next(&state->shuffle, &config);)
        count -= batch_add_new(search, config);
}

static void advance(struct search *search)
{
    struct model *state = search->state;
    if (search->memo.count == 0) batch_add_seeds(search);
    if (search->memo.best < 0) {
        draw(search, state->initial);
        return;
    }
    ranker_fit(state->ranker);
    int drawn = ranker_agreement(state->ranker) < state->sure ? state->round / 2 : 0;
    draw(search, drawn);
    int wanted = state->round - search->batch.count;
    batch_add_all(search, ranker_propose(state->ranker, wanted, state->kappa, state->proposal),
                  state->proposal);
    if (search->batch.count == 0) /* the pool was all known */
        draw(search, state->round);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

static const char *claim(struct search *search, struct arena *arena)
{
    const struct model *state = search->state;
    double agreement = ranker_agreement(state->ranker);
    const char *lost = ranker_lost(state->ranker);
    if (isnan(agreement))
        return arena_printf(arena, "the model is unsure: too little was measured to judge it%s",
                            lost);
    return arena_printf(
        arena,
        "the model is %s: of its last proposals %.0f %% of the pairs were ranked as measured%s",
        agreement < state->sure ? "unsure" : "sure", 100 * agreement, lost);
}

const struct search_ops search_model = {
    .name = "model",
    .summary = "a ranker learned on the run proposes what to measure; says when it is unsure",
    .source = "Chen, Guestrin 2016; Geurts, Ernst, Wehenkel 2006; book 9.6 [28, 49]",
    .options = options,
    .init = init,
    .ask = ask,
    .claim = claim,
};
