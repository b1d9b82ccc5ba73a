/* Descents in three neighbourhoods: first improvement in near steps, in any single parameter, and
 * in the values that constraints allow only with other parameters (a form and its split). The start
 * is the best of the candidates and a few random configurations; a local optimum is left for the
 * best of as many fresh ones or, with leave=shake, for the best changed in a growing number of
 * parameters (variable neighbourhood search, Hansen & Mladenovic 2001). A baseline of the published
 * comparisons. */
#include <math.h>

#include "search/moves.h"

/* Measured on four recorded and 12 made-up landscapes (README; mean scores): 0.68 and 0.61; start=3
 * 0.63 and 0.60, start=12 0.68 and 0.56; leave=shake 0.67 and 0.59. Without the third neighbourhood
 * the same there, but on red_fused, where it leads from form to form, -0.25 for 0.45. */
static const struct search_option options[] = {
    {"start", SEARCH_OPTION_INT, "5", 1, 1e6, NULL, "configurations a start is the best of"},
    {"leave", SEARCH_OPTION_CHOICE, "draw", 0, 0, "draw|shake",
     "what follows a local optimum: a fresh start, or the best with parameters changed"},
    {"shake", SEARCH_OPTION_INT, "3", 1, 64, NULL,
     "parameters changed first when shaken; one more after every eight failures"},
    {0},
};

enum { MORE = 8 }; /* shakes without an improvement before one more parameter is changed; chosen */

struct local {
    struct moves moves;
    struct shuffle shuffle;
    uint64_t at, tried; /* the present configuration; the move being measured */
    uint64_t *list;     /* moves not tried yet, in random order */
    int listed, room;
    enum { STEPS, SINGLES, TIED } stage; /* what is being tried */
    struct pair {
        int param, value;
    } * pair; /* values not tried yet that need other parameters to change, in random order */
    int pairs;
    int from; /* first record of the present start */
    enum { NOTHING, START, MOVE } asked;
    bool shakes;
    int failures;
};

static enum stax_status init(struct search *search)
{
    struct local *state = ARENA_NEW(search->arena, struct local);
    state->moves = moves_make(search->problem.space, search->arena);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->pair = ARENA_ARRAY(search->arena, struct pair,
                              space_neighbours_most(search->problem.space) + 1);
    state->shakes = search_is(search, "leave", "shake");
    search->state = state;
    return STAX_OK;
}

static void draw(struct search *search, int64_t count)
{
    struct local *state = search->state;
    state->asked = START;
    for (uint64_t config; count > 0 && shuffle_next(&state->shuffle, &config);)
        count -= batch_add_new(search, config);
}

/* Lists the neighbours of the present configuration in random order. */
static void list(struct search *search, enum space_neighbours kind)
{
    struct local *state = search->state;
    const uint64_t *near;
    state->listed = moves_all(&state->moves, state->at, kind, &near);
    if (state->listed > state->room) {
        state->room = 2 * state->listed;
        state->list = ARENA_ARRAY(search->arena, uint64_t, state->room);
    }
    for (int i = 0; i < state->listed; i++) {
        int j = (int)rng_below(&search->rng, (uint64_t)i + 1);
        state->list[i] = state->list[j];
        state->list[j] = near[i];
    }
}

/* The values that no single change leads to. */
static void list_tied(struct search *search)
{
    struct local *state = search->state;
    struct moves *moves = &state->moves;
    uint64_t rank;
    state->pairs = 0;
    space_unrank(moves->space, state->at, moves->values);
    for (int i = 0; i < moves->params; i++) {
        int from = moves->values[i];
        for (int v = 0; v < space_param(moves->space, i)->count; v++) {
            moves->values[i] = v;
            if (v == from || space_rank(moves->space, moves->values, &rank, NULL)) continue;
            int j = (int)rng_below(&search->rng, (uint64_t)state->pairs + 1);
            state->pair[state->pairs++] = state->pair[j];
            state->pair[j] = (struct pair){i, v};
        }
        moves->values[i] = from;
    }
}

static void move_to(struct search *search, uint64_t config)
{
    struct local *state = search->state;
    state->at = config;
    state->stage = STEPS;
    list(search, SPACE_STEP);
}

/* The best, changed in some parameters, is the next start. */
static void shake(struct search *search)
{
    struct local *state = search->state;
    uint64_t best = search->memo.record[search->memo.best].config;
    int count = (int)search_int(search, "shake") + state->failures++ / MORE;
    for (int t = 0; t < MORE; t++) {
        uint64_t config = moves_shake(&state->moves, best, count, &search->rng);
        if (batch_add_new(search, config)) {
            state->asked = START;
            return;
        }
    }
    draw(search, 1); /* everything near is known */
}

static void leave(struct search *search)
{
    struct local *state = search->state;
    state->from = search->memo.count;
    if (state->shakes)
        shake(search);
    else
        draw(search, search_int(search, "start"));
}

/* Descends from the fastest of a start that was measured; false when all of it failed. */
static bool begin(struct search *search)
{
    struct local *state = search->state;
    const struct memo *memo = &search->memo;
    int first = -1;
    for (int i = state->from; i < memo->count; i++)
        if (isfinite(memo->record[i].time_ns) &&
            (first < 0 || memo->record[i].time_ns < memo->record[first].time_ns))
            first = i;
    if (first < 0) return false;
    if (first == memo->best) state->failures = 0;
    move_to(search, memo->record[first].config);
    return true;
}

/* Takes the move just measured if it is faster. */
static void decide(struct search *search)
{
    struct local *state = search->state;
    const struct memo *memo = &search->memo;
    if (memo_time(memo, state->tried) >= memo_time(memo, state->at)) return;
    if (memo->record[memo->best].config == state->tried) state->failures = 0;
    move_to(search, state->tried);
}

/* The next move of the present stage; false at its end. */
static bool next(struct search *search)
{
    struct local *state = search->state;
    if (state->stage != TIED) {
        if (state->listed == 0) return false;
        state->tried = state->list[--state->listed];
        return true;
    }
    while (state->pairs > 0) {
        struct pair pair = state->pair[--state->pairs];
        if (moves_set(&state->moves, state->at, pair.param, pair.value, &search->rng,
                      &state->tried))
            return true;
    }
    return false;
}

/* Goes through what is known to the next configuration to measure; at a local optimum adds nothing.
 */
static void descend(struct search *search)
{
    struct local *state = search->state;
    state->asked = MOVE;
    for (;;) {
        while (next(search)) {
            if (batch_add_new(search, state->tried)) return;
            if (memo_time(&search->memo, state->tried) < memo_time(&search->memo, state->at))
                move_to(search, state->tried);
        }
        if (state->stage == TIED) return;
        if (state->stage++ == STEPS)
            list(search, SPACE_ANY);
        else
            list_tied(search);
    }
}

static void advance(struct search *search)
{
    struct local *state = search->state;
    if (state->asked == NOTHING) {
        batch_add_seeds(search);
        draw(search, search_int(search, "start") - search->batch.count);
        return;
    }
    if (state->asked == START && !begin(search)) {
        draw(search, 1);
        return;
    }
    if (state->asked == MOVE) decide(search);
    descend(search);
    if (search->batch.count == 0) leave(search);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_local = {
    .name = "local",
    .summary =
        "descents in steps and single parameters from screened starts, until the budget ends",
    .source = "Hansen & Mladenovic 2001",
    .options = options,
    .init = init,
    .ask = ask,
};
