/* Algorithm 9.2, coordinate descent, from the fastest of the candidates (or of a few random
 * configurations where there are none). One parameter is moved at a time; a move is taken when it
 * is faster by more than eps.
 *
 * Configurations once accepted are never accepted again, so the search ends whatever the noise does
 * (proposition 9.2 needs exact times for that). With eps=auto a move must beat eps > 2 eta/(1+eta),
 * eta the noise of the two medians, and is measured again, interleaved, before it is taken. */
#include <math.h>

#include "search/moves.h"

enum { CONFIRM_SAMPLES = 7 }; /* added to both sides of a confirmation; chosen */

static const double eps_book = 1e-3; /* book 9.6 */

static const struct search_option options[] = {
    {"eps", SEARCH_OPTION_REAL, "0.001", 0, 0.5, "auto",
     "least gain of a move; auto: from the measured noise, moves confirmed"},
    {"screen", SEARCH_OPTION_INT, "auto", 0, 1e6, "auto",
     "random configurations measured before the first start; auto: 20 where there are no "
     "candidates"},
    {"restarts", SEARCH_OPTION_INT, "0", 0, 1e6, "budget",
     "new descents after a local optimum, each from the best of 20 random ones"},
    {0},
};

enum {
    SCREEN = 20
}; /* measured: a start from the best of 20 scores 0.26 better than from one (docs) */

struct coordinate {
    struct moves moves;
    struct shuffle shuffle;
    struct table accepted;
    uint64_t at; /* the present configuration */
    double start_ns;
    uint64_t *list;   /* moves of the present parameter */
    int listed, next; /* next to look at */
    int param;
    bool descending, improved, confirming, automatic;
    double eps;
    int64_t restarts;
    int first;    /* place in the memo of the first record of this start */
    int taken;    /* accepted moves */
    bool optimal; /* the last descent ended by itself */
};

static enum stax_status init(struct search *search)
{
    struct coordinate *state = ARENA_NEW(search->arena, struct coordinate);
    state->moves = moves_make(search->problem.space, search->arena);
    state->list = ARENA_ARRAY(search->arena, uint64_t, moves_most(&state->moves));
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->accepted = table_make(search->arena);
    state->eps = search_real(search, "eps");
    state->automatic = isnan(state->eps);
    state->restarts = search_is(search, "restarts", "budget") ? INT64_MAX
                                                              : search_int(search, "restarts");
    search->state = state;
    return STAX_OK;
}

static void draw(struct search *search, int64_t count)
{
    struct coordinate *state = search->state;
    for (uint64_t config; count > 0 && shuffle_next(&state->shuffle, &config);)
        count -= batch_add_new(search, config);
}

/* The first start's configurations. */
static void seed(struct search *search)
{
    batch_add_seeds(search);
    if (!search_is(search, "screen", "auto")) draw(search, search_int(search, "screen"));
    if (search->batch.count == 0) draw(search, SCREEN);
}

/* Starts from the fastest record since `first`; false when nothing ran. */
static bool start(struct search *search)
{
    struct coordinate *state = search->state;
    int best = -1;
    for (int i = state->first; i < search->memo.count; i++) {
        const struct record *record = &search->memo.record[i];
        if (isfinite(record->time_ns) &&
            (best < 0 || record->time_ns < search->memo.record[best].time_ns))
            best = i;
    }
    if (best < 0) return false;
    state->at = search->memo.record[best].config;
    state->start_ns = search->memo.record[best].time_ns;
    table_put(&state->accepted, state->at, 1);
    state->descending = true;
    state->improved = state->optimal = false;
    state->param = -1;
    state->listed = state->next = state->taken = 0;
    return true;
}

static const struct record *record_of(const struct search *search, uint64_t config)
{
    return &search->memo.record[memo_find(&search->memo, config)];
}

/* Is a move from `here` to `there` a real gain, by the threshold in force? */
static bool gains(const struct coordinate *state, const struct record *there,
                  const struct record *here)
{
    double eps = state->eps;
    if (state->automatic) {
        double noise = fmax(isnan(here->noise) ? 0 : here->noise,
                            isnan(there->noise) ? 0 : there->noise);
        eps = fmax(eps_book, 2 * noise / (1 + noise)); /* book 9.6, after proposition 9.2 */
    }
    return there->time_ns < (1 - eps) * here->time_ns;
}

static void accept(struct coordinate *state, uint64_t config)
{
    state->at = config;
    table_put(&state->accepted, config, 1);
    state->improved = true;
    state->taken++;
}

/* Looks at the moves of the present parameter in order. Returns true when a confirmation has to be
 * measured first. */
static bool look(struct search *search)
{
    struct coordinate *state = search->state;
    for (; state->next < state->listed; state->next++) {
        uint64_t config = state->list[state->next], seen;
        const struct record *there = record_of(search, config);
        const struct record *here = record_of(search, state->at);
        bool gain = !table_get(&state->accepted, config, &seen) && gains(state, there, here);
        if (gain && state->automatic && !state->confirming) {
            state->confirming = true;
            batch_add(search, state->at, here->samples + CONFIRM_SAMPLES);
            batch_add(search, config, there->samples + CONFIRM_SAMPLES);
            return true;
        }
        state->confirming = false;
        if (gain) accept(state, config);
    }
    return false;
}

/* The next parameter's moves; false when a whole sweep changed nothing. */
static bool turn(struct search *search)
{
    struct coordinate *state = search->state;
    if (++state->param == state->moves.params) {
        if (!state->improved) return false;
        state->param = 0;
        state->improved = false;
    }
    state->listed = moves_step(&state->moves, state->at, state->param, state->list,
                               moves_most(&state->moves));
    state->next = 0;
    for (int i = 0; i < state->listed; i++) batch_add_new(search, state->list[i]);
    return true;
}

static void descend(struct search *search)
{
    struct coordinate *state = search->state;
    while (search->batch.count == 0) {
        if (look(search)) return;
        if (!turn(search)) {
            state->descending = false;
            state->optimal = true;
            return;
        }
    }
}

static void advance(struct search *search)
{
    struct coordinate *state = search->state;
    if (search->memo.count == 0) {
        seed(search);
        return;
    }
    if (!state->descending && !start(search)) {
        draw(search, 1); /* nothing ran yet: go on until something does or all were tried */
        return;
    }
    descend(search);
    if (search->batch.count == 0 && state->restarts-- > 0) {
        state->first = search->memo.count;
        draw(search, SCREEN);
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

static const char *claim(struct search *search, struct arena *arena)
{
    const struct coordinate *state = search->state;
    if (!state->optimal) return NULL;
    return arena_printf(
        arena,
        "local optimum after %d accepted moves: no step of one parameter from %s is "
        "faster by more than %s",
        state->taken, space_config_text(search->problem.space, state->at, arena),
        state->automatic ? "the measured noise" : arena_printf(arena, "%g %%", 100 * state->eps));
}

const struct search_ops search_coordinate = {
    .name = "coordinate",
    .summary = "coordinate descent to a local optimum, one parameter at a time",
    .source = "book 9.6, algorithm 9.2, proposition 9.2",
    .options = options,
    .init = init,
    .ask = ask,
    .claim = claim,
};
