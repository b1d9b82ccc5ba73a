/* Simulated annealing inside the valid configurations; a baseline of the published comparisons.
 *
 * A move sets one parameter to any value, or turns one (with `turn`, perhaps more) by one place.
 * Faster configurations are accepted, slower ones with probability exp(-loss / T), failed ones
 * never. The loss is log(t' / t) in units of log(median / best) of what was measured, as White
 * (ICCD 1984) takes the deviation of the costs: where all times lie within a few per cent a fixed
 * relative temperature is a random walk, where they differ thirtyfold it is a descent. Kernel Tuner
 * has the relative loss t' / t - 1; much like its moves up to 1.0 and its settings since 1.3 are
 * unit=relative, start=1, far=0.2, turn=0.667, temperature=0.1, cooling=0.9975, last=0.0001.
 *
 * A configuration known already costs nothing; T falls by configurations measured. */
#include <math.h>

#include "search/moves.h"

/* Measured on four recorded and 12 made-up landscapes (README; mean scores): 0.79 and 0.61; start=1
 * 0.75 and 0.47; unit=relative, temperature=0.02 0.65 and 0.57; turn=0.667 0.64 and 0.38; Kernel
 * Tuner's as above 0.23 and 0.08. Half or twice the temperature, far=0.4: within 0.03 of these. */
static const struct search_option options[] = {
    {"start", SEARCH_OPTION_INT, "5", 1, 1e6, NULL, "configurations the start is the best of"},
    {"temperature", SEARCH_OPTION_REAL, "0.1", 1e-6, 1e6, NULL, "first temperature, in the unit"},
    {"last", SEARCH_OPTION_REAL, "0.01", 1e-9, 1e6, NULL,
     "temperature of the end of a schedule; the next one starts from the best"},
    {"cooling", SEARCH_OPTION_REAL, "0.99", 0.01, 0.999999, NULL,
     "factor a configuration, where the budget has no number of them to stretch over"},
    {"unit", SEARCH_OPTION_CHOICE, "spread", 0, 0, "spread|relative",
     "what a slower time is compared with: the spread of the measured ones, or the present one"},
    {"far", SEARCH_OPTION_REAL, "0.5", 0, 1, NULL,
     "share of the moves that set one parameter to any value"},
    {"turn", SEARCH_OPTION_REAL, "0", 0, 1, NULL,
     "in the other moves, chance of each further parameter to turn by one place"},
    {0},
};

enum {
    STUCK = 100 /* moves without anything new before a random configuration; Kernel Tuner's */
};

struct annealing {
    struct moves moves;
    struct shuffle shuffle;
    double temperature, last, cooling, far, turn;
    bool relative;
    uint64_t at, tried;
    enum { START, MOVE, JUMP } asked; /* what the batch being answered is */
    double *sorted;                   /* measured times, ascending: for the spread */
    int times, capacity;
    int seen; /* records whose time is among them */
};

static enum stax_status init(struct search *search)
{
    struct annealing *state = ARENA_NEW(search->arena, struct annealing);
    state->moves = moves_make(search->problem.space, search->arena);
    state->shuffle = shuffle_make(search->size, search->draws, search->arena);
    state->temperature = search_real(search, "temperature");
    state->last = search_real(search, "last");
    state->cooling = search_real(search, "cooling");
    state->far = search_real(search, "far");
    state->turn = search_real(search, "turn");
    state->relative = search_is(search, "unit", "relative");
    if (state->last >= state->temperature)
        STAX_RETURN(STAX_USAGE, "annealing.last=%g is not below annealing.temperature=%g: lower it",
                    state->last, state->temperature);
    uint64_t budget = search->problem.budget_configs;
    if (budget < search->size && budget > 1)
        state->cooling = pow(state->last / state->temperature, 1 / (double)(budget - 1));
    search->state = state;
    return STAX_OK;
}

/* Takes in the times of the last batch. */
static void collect(struct search *search)
{
    struct annealing *state = search->state;
    for (; state->seen < search->memo.count; state->seen++) {
        double time = search->memo.record[state->seen].time_ns;
        if (!isfinite(time)) continue;
        if (state->times == state->capacity) {
            int capacity = 2 * state->capacity + 64;
            state->sorted = arena_grow(search->arena, state->sorted, (size_t)state->times,
                                       (size_t)capacity, sizeof *state->sorted);
            state->capacity = capacity;
        }
        int place = state->times++;
        for (; place > 0 && state->sorted[place - 1] > time; place--)
            state->sorted[place] = state->sorted[place - 1];
        state->sorted[place] = time;
    }
}

static bool accepts(struct search *search, double here, double there)
{
    const struct annealing *state = search->state;
    if (!isfinite(there)) return false;
    if (there <= here) return true;
    double loss = there / here - 1;
    if (!state->relative) /* all equal so far: any loss is infinite */
        loss = log(there / here) / log(state->sorted[state->times / 2] / state->sorted[0]);
    return rng_unit(&search->rng) < exp(-loss / state->temperature);
}

/* Takes the move, or leaves it. */
static void decide(struct search *search)
{
    struct annealing *state = search->state;
    double here = memo_time(&search->memo, state->at);
    double there = memo_time(&search->memo, state->tried);
    if (accepts(search, here, there)) state->at = state->tried;
}

static void draw(struct search *search, int64_t count)
{
    struct annealing *state = search->state;
    for (uint64_t config; count > 0 && shuffle_next(&state->shuffle, &config);)
        if (batch_add_new(search, config)) {
            state->tried = config;
            count--;
        }
}

/* What the measured batch means for where the search stands. */
static void settle(struct search *search)
{
    struct annealing *state = search->state;
    uint64_t best = search->memo.record[search->memo.best].config;
    if (state->asked == START)
        state->at = best;
    else if (state->asked == MOVE)
        decide(search);
    else if (isfinite(memo_time(&search->memo, state->tried)))
        state->at = state->tried;
    if (state->asked != START) state->temperature *= state->cooling;
    if (state->temperature < state->last) {
        state->temperature = search_real(search, "temperature");
        state->at = best;
    }
}

static void advance(struct search *search)
{
    struct annealing *state = search->state;
    if (search->memo.count == 0) {
        batch_add_seeds(search);
        draw(search, search_int(search, "start") - search->batch.count);
        return;
    }
    collect(search);
    if (search->memo.best < 0) { /* all failed so far */
        draw(search, 1);
        return;
    }
    settle(search);
    state->asked = MOVE;
    for (int step = 0; step < STUCK; step++) {
        bool far = rng_unit(&search->rng) < state->far;
        bool moved = far ? moves_far(&state->moves, state->at, &search->rng, &state->tried)
                         : moves_near(&state->moves, state->at, state->turn, &search->rng,
                                      &state->tried);
        if (!moved) continue;
        if (batch_add_new(search, state->tried)) return;
        decide(search);
    }
    state->asked = JUMP;
    draw(search, 1);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_annealing = {
    .name = "annealing",
    .summary = "simulated annealing in near steps and single parameters, until the budget ends",
    .source = "Kirkpatrick, Gelatt, Vecchi 1983; White 1984; compare Kernel Tuner 1.4, "
              "doi 10.1016/j.future.2018.08.004",
    .options = options,
    .init = init,
    .ask = ask,
};
