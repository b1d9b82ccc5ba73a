/* Runs strategies on recorded spaces. Repeats are independent, so they are spread over threads;
 * each has its seed, so the report does not depend on how many threads there are. */
#include "tuner/simulate.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/stats.h"
#include "base/text.h"
#include "search/search.h"
#include "tuner/simulate_score.h"

enum {
    ASKS = 1, /* one at a time: the published method measures one after the other */
    MAX_THREADS = 64,
};

/* What one repeat gave beside its curve. */
struct outcome_of_run {
    uint64_t evals, launches;
    double end_ns; /* recorded time of its answer when the budget was spent; INFINITY: none */
    bool hit;
    double evals_to[2], seconds_to[2]; /* to within 1 % and 5 %; INFINITY: never */
    const char *claim;
};

/* One repeat of one strategy. */
struct player {
    const struct recorded *recorded;
    const struct simulate_options *options;
    const struct score_scale *scale;
    const struct simulate_entry *entry;
    const struct search_ops *ops;
};

static const double within[2] = {1.01, 1.05};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- one repeat ---- */

/* What was measured of a configuration so far in this repeat. */
struct seen {
    bool compiled, told;
    int samples;
    bool whole; /* told the recorded objective: as sure as it can be, however many samples that was
                 */
    double told_ns;
};

/* The recorded answer to an ask, and what it costs: compiling once, running the samples not taken
 * yet. */
static double replay(const struct player *player, uint64_t repeat, const struct ask *ask,
                     struct seen *seen, double *buffer, struct trial *trial)
{
    const struct recorded_config *config = &player->recorded->config[ask->config];
    const struct simulate_options *options = player->options;
    double cost = seen->compiled ? 0 : config->compile_s;
    *trial = (struct trial){.outcome = config->outcome,
                            .message = "",
                            .log = "",
                            .timer = TIMER_RECORDED,
                            .span_ns = buffer,
                            .sum_ns = buffer};
    int fidelity = ask->fidelity == FIDELITY_AUTO ? options->auto_samples : ask->fidelity;
    if (!isfinite(config->time_ns)) {
        cost += seen->compiled ? 0 : config->run_s;
    } else if (fidelity == 0 || config->samples == 0) {
        buffer[0] = config->time_ns;
        trial->samples = 1;
        cost += seen->samples ? 0 : config->run_s;
        seen->samples = seen->samples > config->samples ? seen->samples : config->samples;
        seen->whole = true;
    } else {
        uint64_t first = rng_mix(ask->config ^ rng_mix(repeat));
        for (int i = 0; i < fidelity; i++)
            buffer[i] = config->sample_ns[(first + (uint64_t)i) % (uint64_t)config->samples];
        trial->samples = fidelity;
        int fresh = fidelity > seen->samples ? fidelity - seen->samples : 0;
        cost += config->run_s * fresh / config->samples;
        seen->samples += fresh;
        if (ask->fidelity == FIDELITY_AUTO && options->auto_mean) {
            buffer[0] = stats_summary(buffer, fidelity, 0.95).mean;
            trial->samples = 1;
        }
    }
    seen->compiled = true;
    return cost;
}

static void note(struct score_run *run, double at_s, double rank, struct arena *arena)
{
    if (run->events == run->capacity) {
        int capacity = run->capacity ? 2 * run->capacity : 256;
        run->event = arena_grow(arena, run->event, (size_t)run->events, (size_t)capacity,
                                sizeof *run->event);
        run->capacity = capacity;
    }
    run->event[run->events++] = (struct score_event){at_s, rank};
}

/* The state of a repeat. What it would answer now is the fastest as told among those measured with
 * the most samples: a barely measured one may only seem fast. */
struct replaying {
    const struct player *player;
    struct seen *seen;
    double spent_s;
    uint64_t choice; /* UINT64_MAX: nothing ran */
    struct outcome_of_run *outcome;
    struct score_run *run;
};

static bool better(const struct replaying *now, uint64_t a, uint64_t b)
{
    const struct seen *x = &now->seen[a];
    if (!isfinite(x->told_ns)) return false;
    if (b == UINT64_MAX) return true;
    const struct seen *y = &now->seen[b];
    if (x->whole != y->whole) return x->whole;
    if (!x->whole && x->samples != y->samples) return x->samples > y->samples;
    return x->told_ns < y->told_ns;
}

static void choose(struct replaying *now, uint64_t told)
{
    if (told != now->choice) {
        if (better(now, told, now->choice)) now->choice = told;
        return;
    }
    /* Told anew, the choice may have become slower than another. */
    for (uint64_t c = 0; c < space_count(now->player->recorded->space); c++)
        if (now->seen[c].told && better(now, c, now->choice)) now->choice = c;
}

static void take(struct replaying *now, struct arena *keep)
{
    const struct score_scale *scale = now->player->scale;
    struct outcome_of_run *outcome = now->outcome;
    double time_ns = INFINITY;
    if (now->choice != UINT64_MAX) time_ns = now->player->recorded->config[now->choice].time_ns;
    double rank = isfinite(time_ns) ? score_rank(scale, time_ns) : NAN;
    note(now->run, now->spent_s, rank, keep);
    outcome->end_ns = time_ns;
    if (time_ns <= scale->target) outcome->hit = true;
    for (int w = 0; w < 2; w++) {
        if (time_ns <= within[w] * scale->optimum && isinf(outcome->evals_to[w])) {
            outcome->evals_to[w] = (double)outcome->evals;
            outcome->seconds_to[w] = now->spent_s;
        }
    }
}

static enum stax_status play(const struct player *player, uint64_t repeat, struct arena *keep,
                             struct score_run *run, struct outcome_of_run *outcome)
{
    const struct simulate_options *options = player->options;
    struct arena *arena = arena_create();
    struct search_problem problem = {
        .space = player->recorded->space,
        .candidates = options->candidates,
        .candidate = options->candidate,
        .seed = rng_mix(options->seed) + repeat,
        .budget_configs = options->budget_configs,
        .quantile = options->quantile,
        .confidence = options->confidence,
    };
    struct search *search;
    enum stax_status status = search_open(player->ops, &problem, player->entry->settings,
                                          player->entry->setting, arena, &search);
    if (status != STAX_OK) {
        arena_destroy(arena);
        return status;
    }
    struct replaying now = {player,  ARENA_ARRAY(arena, struct seen, space_count(problem.space)),
                            0,       UINT64_MAX,
                            outcome, run};
    *outcome = (struct outcome_of_run){
        .end_ns = INFINITY, .evals_to = {INFINITY, INFINITY}, .seconds_to = {INFINITY, INFINITY}};
    /* Where only configurations or launches are counted, the score is still read off at the
     * published times. */
    bool by_time = options->budget_s > 0 ||
                   (options->budget_configs == UINT64_MAX && options->budget_launches == 0);
    double *buffer = NULL;
    int room = 0;
    struct ask ask[ASKS];
    while (search_ask(search, ask, ASKS) > 0) {
        struct seen *here = &now.seen[ask->config];
        bool launched_out = options->budget_launches &&
                            outcome->launches >= options->budget_launches;
        if (launched_out || (!here->compiled && outcome->evals == options->budget_configs)) break;
        int need = ask->fidelity > options->auto_samples ? ask->fidelity : options->auto_samples;
        if (room <= need) {
            room = 2 * need + 1;
            buffer = ARENA_ARRAY(arena, double, room);
        }
        struct trial trial;
        int before = here->samples;
        outcome->evals += !here->compiled;
        now.spent_s += replay(player, repeat, ask, here, buffer, &trial);
        outcome->launches += (uint64_t)(here->samples - before);
        if (by_time && now.spent_s > player->scale->budget_s)
            break; /* the answer would have come too late */
        here->told = true;
        here->told_ns = trial_time_ns(&trial);
        choose(&now, ask->config);
        take(&now, keep);
        search_tell(search, ask, &trial);
    }
    if (run->events && now.spent_s < player->scale->budget_s) /* its answer stands to the end */
        note(run, player->scale->budget_s, run->event[run->events - 1].rank, keep);
    const char *claim = repeat == 0 ? search_claim(search, arena) : NULL;
    outcome->claim = claim ? arena_text(keep, claim) : NULL;
    arena_destroy(arena);
    return STAX_OK;
}

/* ---- many repeats ---- */

struct pool {
    const struct player *player;
    int repeats;
    atomic_int next;
    struct score_run *run;
    struct outcome_of_run *outcome;
};

struct worker {
    pthread_t thread;
    struct pool *pool;
    struct arena
        *arena; /* for the curves; joined into nothing: lives as long as the report needs it */
    enum stax_status status;
    char message[512];
};

static void *work(void *data)
{
    struct worker *worker = data;
    struct pool *pool = worker->pool;
    for (int r; (r = atomic_fetch_add(&pool->next, 1)) < pool->repeats;) {
        worker->status = play(pool->player, (uint64_t)r, worker->arena, &pool->run[r],
                              &pool->outcome[r]);
        if (worker->status != STAX_OK) { /* the message is this thread's: carry it over */
            snprintf(worker->message, sizeof worker->message, "%s", status_message());
            break;
        }
    }
    return NULL;
}

static enum stax_status play_all(const struct player *player, struct worker *worker, int threads,
                                 struct pool *pool)
{
    for (int t = 1; t < threads; t++) {
        worker[t].pool = pool;
        if (pthread_create(&worker[t].thread, NULL, work, &worker[t]) != 0)
            threads = t; /* fewer hands, the same work */
    }
    worker[0].pool = pool;
    work(&worker[0]);
    for (int t = 1; t < threads; t++) pthread_join(worker[t].thread, NULL);
    for (int t = 0; t < threads; t++)
        if (worker[t].status != STAX_OK) STAX_RETURN(worker[t].status, "%s", worker[t].message);
    (void)player;
    return STAX_OK;
}

/* ---- summaries ---- */

static struct simulate_interval share(int count, int runs)
{
    struct simulate_interval interval = {(double)count / runs, 0, 0};
    stats_wilson((uint64_t)count, (uint64_t)runs, &interval.low, &interval.high);
    return interval;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

/* Median over all runs, those that never got there as infinite, with its order-statistic interval.
 */
static struct simulate_interval median_of(double *values, int runs)
{
    qsort(values, (size_t)runs, sizeof *values, ascending);
    int low, high;
    stats_median_ranks(runs, 0.95, &low, &high);
    if (low == 0) {
        low = 1;
        high = runs;
    }
    return (struct simulate_interval){finite_or_nan(values[(runs - 1) / 2]),
                                      finite_or_nan(values[low - 1]),
                                      finite_or_nan(values[high - 1])};
}

static void bands(const struct score_scale *scale, int runs, const struct score_run *run,
                  struct arena *arena, struct simulate_result *result)
{
    double *here = ARENA_ARRAY(arena, double, runs);
    int *at = ARENA_ARRAY(arena, int, runs);
    double *rank = ARENA_ARRAY(arena, double, runs);
    result->low = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    result->middle = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    result->high = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    for (int r = 0; r < runs; r++) rank[r] = (double)(scale->n - 1); /* before anything ran */
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        for (int r = 0; r < runs; r++) {
            for (; at[r] < run[r].events && run[r].event[at[r]].at_s <= scale->time_s[i]; at[r]++)
                if (!isnan(run[r].event[at[r]].rank)) rank[r] = run[r].event[at[r]].rank;
            here[r] = scale->sorted[(uint64_t)rank[r]];
        }
        qsort(here, (size_t)runs, sizeof *here, ascending);
        result->low[i] = here[(runs - 1) / 4];
        result->middle[i] = here[(runs - 1) / 2];
        result->high[i] = here[3 * (runs - 1) / 4];
    }
}

static void summarise(const struct score_scale *scale, int runs, const struct score_run *run,
                      const struct outcome_of_run *outcome, struct arena *arena,
                      struct simulate_result *result)
{
    score_runs(scale, runs, run, arena, &result->score, &result->score_mean_rank);
    int hit = 0, inside[2] = {0, 0}, ended = 0;
    double *values = ARENA_ARRAY(arena, double, runs);
    for (int r = 0; r < runs; r++) {
        hit += outcome[r].hit;
        for (int w = 0; w < 2; w++) inside[w] += outcome[r].end_ns <= within[w] * scale->optimum;
        result->mean_evals += (double)outcome[r].evals / runs;
        result->mean_launches += (double)outcome[r].launches / runs;
        if (isfinite(outcome[r].end_ns)) {
            result->mean_excess += outcome[r].end_ns / scale->optimum - 1;
            ended++;
        }
    }
    result->mean_excess = ended ? result->mean_excess / ended : NAN;
    result->hit_target = share(hit, runs);
    result->within_1pct = share(inside[0], runs);
    result->within_5pct = share(inside[1], runs);
    struct simulate_interval *to[2][2] = {{&result->evals_to_1pct, &result->seconds_to_1pct},
                                          {&result->evals_to_5pct, &result->seconds_to_5pct}};
    for (int w = 0; w < 2; w++) {
        for (int r = 0; r < runs; r++) values[r] = outcome[r].evals_to[w];
        *to[w][0] = median_of(values, runs);
        for (int r = 0; r < runs; r++) values[r] = outcome[r].seconds_to[w];
        *to[w][1] = median_of(values, runs);
    }
    bands(scale, runs, run, arena, result);
}

static enum stax_status name_entry(const struct simulate_entry *entry, const struct player *player,
                                   struct arena *arena, struct simulate_result *result)
{
    struct text name = text_make(arena);
    text_add(&name, entry->strategy);
    for (int i = 0; i < entry->settings; i++)
        text_printf(&name, "%s%s", i ? "," : ":", entry->setting[i]);
    result->name = text_string(&name);
    struct search_problem problem = {
        .space = player->recorded->space,
        .candidates = player->options->candidates,
        .candidate = player->options->candidate,
        .budget_configs = player->options->budget_configs,
        .quantile = player->options->quantile,
        .confidence = player->options->confidence,
    };
    struct search *search; /* opened once before the threads, so that a bad option is one error */
    STAX_TRY(search_open(player->ops, &problem, entry->settings, entry->setting, arena, &search));
    result->settings = search_settings(search, arena);
    return STAX_OK;
}

static enum stax_status simulate_one(const struct player *player, struct arena *arena,
                                     struct simulate_result *result)
{
    const struct simulate_options *options = player->options;
    STAX_TRY(name_entry(player->entry, player, arena, result));
    int threads = options->threads > 0 ? options->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    struct pool pool = {.player = player, .repeats = options->repeats};
    pool.run = ARENA_ARRAY(arena, struct score_run, options->repeats);
    pool.outcome = ARENA_ARRAY(arena, struct outcome_of_run, options->repeats);
    struct worker worker[MAX_THREADS] = {0};
    double begin_s = now_s();
    for (int t = 0; t < threads; t++) worker[t].arena = arena_create();
    enum stax_status status = play_all(player, worker, threads, &pool);
    if (status == STAX_OK) {
        summarise(player->scale, options->repeats, pool.run, pool.outcome, arena, result);
        result->wall_s = now_s() - begin_s;
        if (pool.outcome[0].claim) result->claim = arena_text(arena, pool.outcome[0].claim);
    }
    for (int t = 0; t < threads; t++) arena_destroy(worker[t].arena);
    return status;
}

/* Without any recorded cost every evaluation costs 1, so that budgets count evaluations. */
static enum stax_status count_evals(struct recorded *recorded,
                                    const struct simulate_options *options, struct arena *arena,
                                    bool *by_evals)
{
    uint64_t configs = space_count(recorded->space);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, configs);
    *by_evals = false;
    for (uint64_t c = 0; c < configs; c++) {
        config[c] = recorded->config[c];
        if (config[c].compile_s + config[c].run_s > 0) return STAX_OK;
        config[c].compile_s = 1;
    }
    if (options->budget_s > 0)
        STAX_RETURN(STAX_USAGE,
                    "%s records neither compile nor run times: give the budget in evaluations, "
                    "as in --budget 200",
                    recorded->name);
    recorded->config = config;
    *by_evals = true;
    return STAX_OK;
}

enum stax_status simulate(const struct recorded *given, const struct simulate_options *options,
                          int entries, const struct simulate_entry *entry, struct arena *arena,
                          struct simulate_report *report)
{
    if (options->repeats < 1)
        STAX_RETURN(STAX_USAGE, "repeats: give 1 or more (published comparisons use 100)");
    struct score_scale scale;
    struct recorded copy = *given, *recorded = &copy;
    bool by_evals;
    STAX_TRY(count_evals(recorded, options, arena, &by_evals));
    STAX_TRY(score_scale_make(recorded, options, arena, &scale));
    *report = (struct simulate_report){
        .space = recorded->name,
        .configs = space_count(recorded->space),
        .valid = scale.n,
        .optimum_ns = scale.optimum,
        .median_ns = scale.median,
        .target_ns = scale.target,
        .budget_s = scale.budget_s,
        .start_s = scale.start_s,
        .budget_evals = scale.budget_evals,
        .by_evals = by_evals,
        .no_score = scale.undefined,
        .repeats = options->repeats,
        .strategies = entries,
        .time_s = scale.time_s,
        .baseline_ns = scale.baseline,
        .strategy = ARENA_ARRAY(arena, struct simulate_result, entries),
    };
    for (int i = 0; i < entries; i++) {
        const struct search_ops *ops = search_find(entry[i].strategy);
        if (!ops)
            STAX_RETURN(STAX_USAGE, "unknown strategy %s: see stax-tune list strategies",
                        entry[i].strategy);
        struct player player = {recorded, options, &scale, &entry[i], ops};
        STAX_TRY(simulate_one(&player, arena, &report->strategy[i]));
    }
    return STAX_OK;
}
