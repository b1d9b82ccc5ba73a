/* Variable neighbourhood search (Hansen & Mladenovic 2001): first improvement in near steps, then
 * in any single parameter; at a local optimum the best is shaken in a growing number of parameters
 * and descended again. The start is the best of the candidates and a few random configurations. A
 * baseline of the published comparisons. */
#include <math.h>

#include "search/moves.h"

static const struct search_option options[] = {
    {"start", SEARCH_OPTION_INT, "20", 1, 1e6, NULL, "configurations the start is the best of"},
    {"shake", SEARCH_OPTION_INT, "3", 1, 64, NULL,
     "parameters changed first when leaving an optimum"},
    {0},
};

enum { MORE = 8 }; /* shakes without an improvement before one more parameter is changed; chosen */

struct local {
    struct moves moves;
    struct shuffle shuffle;
    uint64_t at, tried; /* the present configuration; the move being measured */
    uint64_t *list;     /* moves not tried yet, in random order */
    int listed, room;
    bool begun, pending, any;
    int failures;
};

static enum stax_status init(struct search *search)
{
    struct local *state = ARENA_NEW(search->arena, struct local);
    state->moves = moves_make(search->problem.space, search->arena);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    search->state = state;
    return STAX_OK;
}

static void draw(struct search *search, int64_t count)
{
    struct local *state = search->state;
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
    state->any = kind == SPACE_ANY;
}

static void move_to(struct search *search, uint64_t config)
{
    struct local *state = search->state;
    state->at = config;
    list(search, SPACE_STEP);
}

/* Leaves a local optimum: the best, changed in some parameters, is the next start. */
static void shake(struct search *search)
{
    struct local *state = search->state;
    uint64_t best = search->memo.record[search->memo.best].config;
    int count = (int)search_int(search, "shake") + state->failures++ / MORE;
    for (int t = 0; t < MORE; t++) {
        uint64_t config = moves_shake(&state->moves, best, count, &search->rng);
        if (batch_add_new(search, config)) {
            move_to(search, config);
            return;
        }
    }
    uint64_t config; /* everything near is known */
    while (shuffle_next(&state->shuffle, &config))
        if (batch_add_new(search, config)) {
            move_to(search, config);
            return;
        }
}

static void advance(struct search *search)
{
    struct local *state = search->state;
    if (!state->begun) {
        state->begun = true;
        batch_add_seeds(search);
        draw(search, search_int(search, "start") - search->batch.count);
        return;
    }
    if (search->memo.best < 0) {
        draw(search, 1);
        return;
    }
    if (!state->list) move_to(search, search->memo.record[search->memo.best].config);
    if (state->pending) {
        state->pending = false;
        if (memo_time(&search->memo, state->tried) < memo_time(&search->memo, state->at)) {
            if (search->memo.record[search->memo.best].config == state->tried) state->failures = 0;
            move_to(search, state->tried);
        }
    }
    while (search->batch.count == 0) {
        while (state->listed > 0 && search->batch.count == 0) {
            state->tried = state->list[--state->listed];
            if (batch_add_new(search, state->tried))
                state->pending = true;
            else if (memo_time(&search->memo, state->tried) < memo_time(&search->memo, state->at))
                move_to(search, state->tried);
        }
        if (search->batch.count) return;
        if (!state->any) {
            list(search, SPACE_ANY);
            continue;
        }
        shake(search);
        if (search->batch.count == 0) return; /* all is known */
    }
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_local = {
    .name = "local",
    .summary = "variable neighbourhood search from a screened start, until the budget ends",
    .source = "Hansen & Mladenovic 2001",
    .options = options,
    .init = init,
    .ask = ask,
};
