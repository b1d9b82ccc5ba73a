/* The model's side of searching: targets, the pool, and what to propose. */
#include "search/ranker.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "search/boosted.h"
#include "search/forest.h"
#include "search/moves.h"

/* Measured on four recorded spaces and variations of them (README.md): scores differ by less than
 * their noise for 15 to 60 trees, 128 to 256 rows, 5 to 20 elites, 1000 to 2000 random ones; below
 * that they fall. */
enum {
    TREES = 15,
    ROWS = 128,
    ELITES = 10,   /* the fastest so far, whose neighbours in one parameter enter the pool */
    RANDOM = 2000, /* uniformly drawn configurations in the pool; after FEWER rows half as many, */
    FEWER =
        400, /* and so on: by then most good proposals are near. Halves the time of a long run */
    NEAR_ONE_IN = 6,  /* of an elite's neighbours, at random: all of them at once keep the search
                         where it is */
    NEAR_MOST = 512,  /* room for those of an elite; chosen */
    NARROWEST = 7,    /* see pick: 0 and 10 score the same on average, but 0.07 less on the worst
                         space, or 0.07 on the best */
    JUDGED = 40,      /* proposals by which the model is judged; chosen */
    JUDGED_LEAST = 8, /* chosen */
    PROBES = 5,       /* one proposal in so many (below) */
    PROBE_STARTS =
        10, /* random configurations with the value, walked towards the fastest; chosen */
    PROBE_DRAWS =
        1000, /* draws to find them: finds what 1 in 100 valid configurations has; chosen */
};

/* Why probes: on the recorded red_fused of an H200 the fastest forms are a fifth of the space and
 * no single step leads to them. Without probes half of the runs stay among the split forms; with
 * one in 5 or in 10, none of 100 does. */

struct guess {
    int record; /* place in the memo */
    float mean;
};

struct ranker {
    struct search *search;
    struct features features;
    struct forest *forest;
    struct boosted *boosted; /* learns instead of the forest; NULL: the forest does */
    const char *lost;        /* see ranker_lost */
    struct moves moves;
    struct arena *scratch; /* for one proposal */
    float *x, *y;          /* of all records told */
    int rows, room;
    int *order;                 /* records by time */
    int finite;                 /* of them ran */
    struct guess guess[JUDGED]; /* a ring */
    int guesses;
    int *best, *goal, *here; /* scratch: value indices */
    int **probed;            /* [parameter][value]: how often that was probed; NULL for sizes */
};

struct pool {
    uint64_t *config;
    float *mean, *score;
    int count, room;
};

static void release(void *data)
{
    arena_destroy(data);
}

struct ranker *ranker_create(struct search *search)
{
    struct arena *arena = search->arena;
    struct ranker *ranker = ARENA_NEW(arena, struct ranker);
    ranker->search = search;
    ranker->features = features_make(search->problem.space, arena);
    struct forest_options options = {TREES, ranker->features.count / 3 + 1, ROWS};
    ranker->forest = forest_create(ranker->features.count, &options, arena);
    ranker->lost = "";
    ranker->moves = moves_make(search->problem.space, arena);
    const struct space *space = search->problem.space;
    ranker->best = ARENA_ARRAY(arena, int, space_params(space));
    ranker->goal = ARENA_ARRAY(arena, int, space_params(space));
    ranker->here = ARENA_ARRAY(arena, int, space_params(space));
    ranker->probed = ARENA_ARRAY(arena, int *, space_params(space));
    for (int i = 0; i < space_params(space); i++) {
        const struct param *param = space_param(space, i);
        if (param->count > 1 && (!param->ordered || param->count == 2))
            ranker->probed[i] = ARENA_ARRAY(arena, int, param->count);
    }
    ranker->scratch = arena_create();
    arena_defer(arena, release, ranker->scratch);
    return ranker;
}

/* ---- the learner ---- */

enum stax_status ranker_choose_learner(struct ranker *ranker, bool boosted)
{
    const struct search *search = ranker->search;
    bool named = search_is(search, "learner", "xgboost");
    if (!named && (!boosted || search_is(search, "learner", "forest"))) return STAX_OK;
    if (boosted_create(ranker->features.count, &boosted_defaults, search->arena,
                       &ranker->boosted) == STAX_OK)
        return STAX_OK;
    ranker->boosted = NULL;
    if (named) return status_prefix(STAX_USAGE, "%s.learner=xgboost", search->ops->name);
    ranker->lost = arena_printf(search->arena, "; ranked by the forest, not by XGBoost: %s",
                                status_message());
    return STAX_OK;
}

const char *ranker_lost(const struct ranker *ranker)
{
    return ranker->lost;
}

static void fit_forest(struct ranker *ranker)
{
    forest_fit(ranker->forest, ranker->rows, ranker->x, ranker->y, &ranker->search->rng);
}

/* XGBoost broke in the middle of a run: the run goes on without, and says so. */
static void give_up(struct ranker *ranker)
{
    log_write(LOG_WARNING, "%s: the forest ranks from here on", status_message());
    ranker->lost = arena_printf(ranker->search->arena, "; ranked by the forest in the end: %s",
                                status_message());
    ranker->boosted = NULL;
    fit_forest(ranker);
}

static void learn(struct ranker *ranker)
{
    if (!ranker->boosted)
        fit_forest(ranker);
    else if (boosted_fit(ranker->boosted, ranker->rows, ranker->x, ranker->y,
                         &ranker->search->rng) != STAX_OK)
        give_up(ranker);
}

static void ask_learner(struct ranker *ranker, int rows, const float *x, float *mean, float *spread)
{
    if (ranker->boosted && boosted_predict(ranker->boosted, rows, x, mean, spread) != STAX_OK)
        give_up(ranker);
    if (!ranker->boosted) forest_predict(ranker->forest, rows, x, mean, spread);
}

/* ---- learning ---- */

struct timed {
    double time_ns;
    int record;
};

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return x->record - y->record;
}

static void take_rows(struct ranker *ranker)
{
    const struct memo *memo = &ranker->search->memo;
    size_t width = (size_t)ranker->features.count;
    if (memo->count > ranker->room) {
        int room = 2 * memo->count;
        ranker->x = arena_grow(ranker->search->arena, ranker->x, (size_t)ranker->rows * width,
                               (size_t)room * width, sizeof *ranker->x);
        ranker->y = ARENA_ARRAY(ranker->search->arena, float, room);
        ranker->order = ARENA_ARRAY(ranker->search->arena, int, room);
        ranker->room = room;
    }
    for (; ranker->rows < memo->count; ranker->rows++)
        features_of(&ranker->features, memo->record[ranker->rows].config,
                    ranker->x + (size_t)ranker->rows * width);
}

void ranker_fit(struct ranker *ranker)
{
    const struct memo *memo = &ranker->search->memo;
    take_rows(ranker);
    int n = ranker->rows;
    arena_reset(ranker->scratch);
    struct timed *timed = ARENA_ARRAY(ranker->scratch, struct timed, n);
    for (int i = 0; i < n; i++) timed[i] = (struct timed){memo->record[i].time_ns, i};
    qsort(timed, (size_t)n, sizeof *timed, by_time);
    ranker->finite = 0;
    double target = 0;
    for (int k = 0; k < n; k++) {
        if (isfinite(timed[k].time_ns)) ranker->finite = k + 1;
        int rank = isfinite(timed[k].time_ns) ? k + 1 : n + 1;
        if (k == 0 || timed[k].time_ns != timed[k - 1].time_ns) /* equal times, equal targets */
            target = log((double)rank / (n + 1));
        ranker->order[k] = timed[k].record;
        ranker->y[timed[k].record] = (float)target;
    }
    if (ranker->features.count > 0) learn(ranker);
}

/* ---- the pool ---- */

static void enter(struct ranker *ranker, struct pool *pool, struct table *inside, uint64_t config)
{
    uint64_t seen;
    if (pool->count == pool->room || memo_find(&ranker->search->memo, config) >= 0 ||
        table_get(inside, config, &seen))
        return;
    table_put(inside, config, 1);
    pool->config[pool->count++] = config;
}

static void predict(struct ranker *ranker, struct pool *pool, double kappa)
{
    size_t width = (size_t)ranker->features.count;
    float *x = ARENA_ARRAY(ranker->scratch, float, (size_t)pool->count *width);
    float *spread = ARENA_ARRAY(ranker->scratch, float, pool->count);
    for (int i = 0; i < pool->count; i++)
        features_of(&ranker->features, pool->config[i], x + (size_t)i * width);
    if (width > 0) ask_learner(ranker, pool->count, x, pool->mean, spread);
    for (int i = 0; i < pool->count; i++) pool->score[i] = pool->mean[i] - (float)kappa * spread[i];
}

static struct pool pool_make(struct ranker *ranker, int room)
{
    arena_reset(ranker->scratch);
    return (struct pool){.config = ARENA_ARRAY(ranker->scratch, uint64_t, room),
                         .mean = ARENA_ARRAY(ranker->scratch, float, room),
                         .score = ARENA_ARRAY(ranker->scratch, float, room),
                         .room = room};
}

/* The best of a random part of the pool, a part of 1 to 2^-NARROWEST of it: the whole pool follows
 * the model to the letter, a few leave room for what it does not know. */
static int pick(struct ranker *ranker, const struct pool *pool, int first)
{
    struct rng *rng = &ranker->search->rng;
    double part = exp2(-NARROWEST * rng_unit(rng));
    int best = first + (int)rng_below(rng, (uint64_t)(pool->count - first));
    for (int i = first; i < pool->count; i++)
        if (pool->score[i] < pool->score[best] && rng_unit(rng) < part) best = i;
    return best;
}

/* Takes up to `count` out of the pool; whole: always the best of all. */
static int take_best(struct ranker *ranker, struct pool *pool, int count, bool whole,
                     uint64_t *config)
{
    int taken = 0;
    for (; taken < count && taken < pool->count; taken++) {
        int best = taken;
        for (int i = taken + 1; whole && i < pool->count; i++)
            if (pool->score[i] < pool->score[best]) best = i;
        if (!whole) best = pick(ranker, pool, taken);
        config[taken] = pool->config[best];
        ranker->guess[ranker->guesses++ % JUDGED] = (struct guess){
            memo_add(&ranker->search->memo, config[taken]), pool->mean[best]};
        pool->config[best] = pool->config[taken];
        pool->score[best] = pool->score[taken];
        pool->mean[best] = pool->mean[taken];
    }
    return taken;
}

static int propose_best(struct ranker *ranker, int count, double kappa, uint64_t *config)
{
    struct search *search = ranker->search;
    struct pool pool = pool_make(ranker, ELITES * NEAR_MOST + RANDOM);
    struct table inside = table_make(ranker->scratch);
    for (int e = 0; e < ELITES && e < ranker->finite; e++) {
        const uint64_t *near;
        uint64_t elite = search->memo.record[ranker->order[e]].config;
        int n = moves_all(&ranker->moves, elite, SPACE_ANY, &near);
        for (int i = 0; i < n; i++)
            if (rng_below(&search->rng, NEAR_ONE_IN) == 0) enter(ranker, &pool, &inside, near[i]);
    }
    int random = RANDOM * FEWER / (FEWER + ranker->rows);
    for (int i = 0; i < random; i++)
        enter(ranker, &pool, &inside, space_sample(search->problem.space, &search->rng));
    predict(ranker, &pool, kappa);
    return take_best(ranker, &pool, count, false, config);
}

/* ---- probes ---- */

/* The configuration nearest to the fastest, of those found, that has `value`; false when it is
 * known or none is. */
static bool probe_value(struct ranker *ranker, int param, int value, uint64_t *config)
{
    struct search *search = ranker->search;
    const struct space *space = search->problem.space;
    uint64_t fastest = search->memo.record[search->memo.best].config;
    int *goal = ranker->goal, *here = ranker->here, least = INT_MAX, starts = 0;
    space_unrank(space, fastest, goal);
    for (int d = 0; d < PROBE_DRAWS && starts < PROBE_STARTS; d++) {
        uint64_t at = space_sample(space, &search->rng);
        space_unrank(space, at, here);
        if (here[param] != value) continue;
        starts++;
        at = moves_towards(&ranker->moves, at, fastest, param, &search->rng);
        space_unrank(space, at, here);
        int distance = 0;
        for (int i = 0; i < space_params(space); i++) distance += here[i] != goal[i];
        if (distance >= least) continue;
        least = distance;
        *config = at;
    }
    return least < INT_MAX && memo_find(&search->memo, *config) < 0;
}

/* A probe of the value that was probed least; false when all are known around the fastest. */
static bool probe(struct ranker *ranker, uint64_t *config)
{
    struct search *search = ranker->search;
    const struct space *space = search->problem.space;
    int *best = ranker->best;
    space_unrank(space, search->memo.record[search->memo.best].config, best);
    for (int level = 0, more = 1; more; level++) {
        more = 0;
        for (int i = 0; i < space_params(space); i++)
            for (int v = 0; ranker->probed[i] && v < space_param(space, i)->count; v++) {
                more += ranker->probed[i][v] > level;
                if (v == best[i] || ranker->probed[i][v] != level) continue;
                if (!probe_value(ranker, i, v, config)) continue;
                ranker->probed[i][v]++;
                memo_add(&search->memo, *config);
                return true;
            }
    }
    return false;
}

int ranker_propose(struct ranker *ranker, int count, double kappa, uint64_t *config)
{
    struct rng *rng = &ranker->search->rng;
    int probes = 0;
    for (int i = 0; i < count; i++)
        if (rng_below(rng, PROBES) == 0 && probe(ranker, &config[probes])) probes++;
    if (probes == count) return count;
    return probes + propose_best(ranker, count - probes, kappa, config + probes);
}

/* ---- the surroundings of the best ---- */

static int steps(struct ranker *ranker, const uint64_t **near)
{
    struct search *search = ranker->search;
    uint64_t best = search->memo.record[search->memo.best].config;
    return moves_all(&ranker->moves, best, SPACE_STEP, near);
}

int ranker_unpolished(struct ranker *ranker)
{
    const uint64_t *near;
    int count = 0, n = steps(ranker, &near);
    for (int i = 0; i < n; i++) count += memo_find(&ranker->search->memo, near[i]) < 0;
    return count;
}

int ranker_polish(struct ranker *ranker, int count, uint64_t *config)
{
    const uint64_t *near;
    int n = steps(ranker, &near);
    struct pool pool = pool_make(ranker, n);
    struct table inside = table_make(ranker->scratch);
    for (int i = 0; i < n; i++) enter(ranker, &pool, &inside, near[i]);
    predict(ranker, &pool, 0);
    return take_best(ranker, &pool, count, true, config);
}

/* ---- is it any good? ---- */

double ranker_agreement(const struct ranker *ranker)
{
    int n = ranker->guesses < JUDGED ? ranker->guesses : JUDGED, right = 0, pairs = 0;
    if (n < JUDGED_LEAST) return NAN;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const struct guess *a = &ranker->guess[i], *b = &ranker->guess[j];
            const struct record *ra = &ranker->search->memo.record[a->record];
            const struct record *rb = &ranker->search->memo.record[b->record];
            double ta = ra->time_ns, tb = rb->time_ns;
            if (ra->tells == 0 || rb->tells == 0 || ta == tb || a->mean == b->mean) continue;
            pairs++;
            right += (ta < tb) == (a->mean < b->mean);
        }
    return pairs ? (double)right / pairs : NAN;
}
