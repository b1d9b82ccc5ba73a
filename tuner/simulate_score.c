/* Budget, baseline and score as published (Willemsen et al., FGCS 159, 2024; the code of
 * autotuning_methodology 1.2 was read for what the paper leaves open: PCHIP over the distinct
 * counts, pooled isotonic regression of ranks). */
#include "tuner/simulate_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"

enum { RESAMPLES = 200 }; /* of runs, for the interval; chosen: quantiles stable to about 0.002 */

/* A baseline this near the optimum, as a share of median - optimum, is there: what is left is the
 * rounding of the interpolation. Chosen. */
static const double done_within = 1e-9;

static bool gap_open(const struct score_scale *scale, double baseline)
{
    return baseline - scale->optimum > done_within * (scale->median - scale->optimum);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Evaluations that random search is expected to need for a share `p` of the way from the median to
 * the optimum. */
static uint64_t evals_at(const struct score_scale *scale, double p)
{
    double target = scale->optimum + (scale->median - scale->optimum) * (1 - p);
    uint64_t faster = 0; /* how many meet the target */
    while (faster < scale->n && scale->sorted[faster] <= target) faster++;
    uint64_t index = scale->n - faster; /* counted from the slowest */
    if (index > 0 && scale->sorted[faster - 1] == scale->optimum) index--;
    return (uint64_t)ceil((double)index / (double)(scale->n + 1 - index));
}

static double expected_best(const struct score_scale *scale, uint64_t evals)
{
    double n = (double)scale->n, m = (double)evals;
    double index = fmin(n - 1, nearbyint(m * (n + 1) / (m + 1))); /* ties to even, as in Python */
    return scale->sorted[(uint64_t)(n - 1 - index)];
}

/* Slopes of the monotone cubic of Fritsch & Butland (1984), as PCHIP has them. */
static double end_slope(double h0, double h1, double d0, double d1)
{
    double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if ((slope > 0) != (d0 > 0) || d0 == 0) return 0;
    if ((d0 > 0) != (d1 > 0) && fabs(slope) > 3 * fabs(d0)) return 3 * d0;
    return slope;
}

static void pchip_slopes(int n, const double *x, const double *y, double *slope)
{
    if (n == 2) {
        slope[0] = slope[1] = (y[1] - y[0]) / (x[1] - x[0]);
        return;
    }
    for (int i = 1; i < n - 1; i++) {
        double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
        double d0 = (y[i] - y[i - 1]) / h0, d1 = (y[i + 1] - y[i]) / h1;
        double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
        slope[i] = d0 * d1 <= 0 ? 0 : (w0 + w1) / (w0 / d0 + w1 / d1);
    }
    double h0 = x[1] - x[0], h1 = x[2] - x[1];
    slope[0] = end_slope(h0, h1, (y[1] - y[0]) / h0, (y[2] - y[1]) / h1);
    h0 = x[n - 1] - x[n - 2];
    h1 = x[n - 2] - x[n - 3];
    slope[n - 1] = end_slope(h0, h1, (y[n - 1] - y[n - 2]) / h0, (y[n - 2] - y[n - 3]) / h1);
}

static double pchip(int n, const double *x, const double *y, const double *slope, double at)
{
    int i = 0;
    while (i < n - 2 && at > x[i + 1]) i++;
    double h = x[i + 1] - x[i], t = (at - x[i]) / h;
    double t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * y[i] + (t3 - 2 * t2 + t) * h * slope[i] +
           (3 * t2 - 2 * t3) * y[i + 1] + (t3 - t2) * h * slope[i + 1];
}

static void make_baseline(struct score_scale *scale, struct arena *arena)
{
    double *x = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    double *y = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    double *slope = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    int n = 0;
    scale->time_s = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    scale->baseline = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        double share = (double)i / (SIMULATE_POINTS - 1);
        scale->time_s[i] = scale->start_s + share * (scale->budget_s - scale->start_s);
        double evals = nearbyint(fmax(1, scale->time_s[i] / scale->per_eval_s));
        if (n == 0 || evals > x[n - 1]) {
            x[n] = evals;
            y[n++] = expected_best(scale, (uint64_t)evals);
        }
    }
    if (n >= 2) pchip_slopes(n, x, y, slope);
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        double at = x[0] + (x[n - 1] - x[0]) * i / (SIMULATE_POINTS - 1);
        scale->baseline[i] = n < 2 ? y[0] : pchip(n, x, y, slope, at);
    }
}

enum stax_status score_scale_make(const struct recorded *recorded,
                                  const struct simulate_options *options, struct arena *arena,
                                  struct score_scale *scale)
{
    uint64_t configs = space_count(recorded->space), failed = 0;
    double *cost = ARENA_ARRAY(arena, double, configs), good_s = 0, failed_s = 0;
    *scale = (struct score_scale){.sorted = ARENA_ARRAY(arena, double, configs)};
    for (uint64_t c = 0; c < configs; c++) {
        const struct recorded_config *config = &recorded->config[c];
        cost[c] = config->compile_s + config->run_s;
        if (isfinite(config->time_ns)) {
            scale->sorted[scale->n++] = config->time_ns;
            good_s += cost[c];
        } else {
            failed++;
            failed_s += cost[c];
        }
    }
    if (scale->n == 0)
        STAX_RETURN(STAX_USAGE,
                    "%s: none of the %llu recorded configurations ran: nothing to replay",
                    recorded->name, (unsigned long long)configs);
    qsort(scale->sorted, scale->n, sizeof *scale->sorted, ascending);
    qsort(cost, configs, sizeof *cost, ascending);
    uint64_t n = scale->n;
    scale->optimum = scale->sorted[0];
    scale->median = (scale->sorted[(n - 1) / 2] + scale->sorted[n / 2]) / 2;
    scale->target = scale->optimum + (scale->median - scale->optimum) * (1 - options->cutoff);
    scale->per_eval_s = good_s / (double)n;
    if (failed) scale->per_eval_s += (double)failed / (double)configs * (failed_s / (double)failed);
    double median_cost = (cost[(configs - 1) / 2] + cost[configs / 2]) / 2;
    scale->budget_evals = evals_at(scale, options->cutoff);
    if (median_cost == 0) median_cost = scale->per_eval_s; /* most costs are missing */
    scale->budget_s = (double)scale->budget_evals * median_cost;
    scale->start_s = (double)evals_at(scale, options->start) * median_cost;
    if (scale->budget_evals == 0) { /* whichever runs is at the target: draws until one runs */
        scale->budget_evals = (configs + n) / (n + 1);
        scale->budget_s = (double)scale->budget_evals * cost[configs - 1];
    }
    if (options->budget_s > 0) scale->budget_s = options->budget_s;
    if (scale->start_s >= scale->budget_s) scale->start_s = scale->budget_s / SIMULATE_POINTS;
    make_baseline(scale, arena);
    if (!gap_open(scale, scale->baseline[0]))
        scale->undefined = scale->median > scale->optimum
                               ? "random search is expected at the optimum from the start"
                               : "at least half of what ran is as fast as the optimum";
    return STAX_OK;
}

double score_rank(const struct score_scale *scale, double time_ns)
{
    uint64_t low = 0, high = scale->n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (scale->sorted[middle] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (double)low;
}

/* ---- the curve and its score ---- */

struct point {
    double x, y;
    int run;
};

static int by_time(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->run - q->run;
}

struct block {
    double sum, weight, first, last;
};

/* Non-increasing isotonic regression of weighted points, read off at the scale's times: linear
 * between blocks, constant outside, as scikit-learn predicts. */
static void isotonic(const struct score_scale *scale, int points, const struct point *point,
                     const int *weight, struct block *block, double *curve)
{
    int blocks = 0;
    for (int i = 0; i < points; i++) {
        double w = weight[point[i].run];
        if (w == 0) continue;
        struct block fresh = {w * point[i].y, w, point[i].x, point[i].x};
        while (blocks &&
               block[blocks - 1].sum * fresh.weight <= fresh.sum * block[blocks - 1].weight) {
            blocks--;
            fresh.sum += block[blocks].sum;
            fresh.weight += block[blocks].weight;
            fresh.first = block[blocks].first;
        }
        block[blocks++] = fresh;
    }
    int at = 0;
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        double t = scale->time_s[i];
        while (at < blocks - 1 && t > block[at].last && t >= block[at + 1].first) at++;
        double here = block[at].sum / block[at].weight;
        curve[i] = here;
        if (t > block[at].last && at < blocks - 1) {
            double next = block[at + 1].sum / block[at + 1].weight;
            double share = (t - block[at].last) / (block[at + 1].first - block[at].last);
            curve[i] = here + share * (next - here);
        }
    }
}

/* P = mean over the times of (baseline - curve) / (baseline - optimum). */
static double score_of(const struct score_scale *scale, const double *curve)
{
    double sum = 0;
    int counted = 0;
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        double rank = fmin(fmax(nearbyint(curve[i]), 0), (double)scale->n - 1);
        double gap = scale->baseline[i] - scale->optimum;
        if (!gap_open(scale, scale->baseline[i]))
            continue; /* random search is expected to be done: nothing left to be better at */
        sum += (scale->baseline[i] - scale->sorted[(uint64_t)rank]) / gap;
        counted++;
    }
    return counted ? sum / counted : NAN;
}

static void mean_rank_curve(const struct score_scale *scale, int runs, const struct score_run *run,
                            double *curve)
{
    memset(curve, 0, SIMULATE_POINTS * sizeof *curve);
    for (int r = 0; r < runs; r++) {
        double rank = (double)(scale->n / 2); /* before anything ran: the median */
        int at = 0;
        for (int i = 0; i < SIMULATE_POINTS; i++) {
            for (; at < run[r].events && run[r].event[at].at_s <= scale->time_s[i]; at++)
                if (!isnan(run[r].event[at].rank)) rank = run[r].event[at].rank;
            curve[i] += rank / runs;
        }
    }
}

void score_runs(const struct score_scale *scale, int runs, const struct score_run *run,
                struct arena *arena, struct simulate_interval *score, double *mean_rank)
{
    double *curve = ARENA_ARRAY(arena, double, SIMULATE_POINTS);
    mean_rank_curve(scale, runs, run, curve);
    *mean_rank = score_of(scale, curve);
    int points = 0;
    for (int r = 0; r < runs; r++) points += run[r].events;
    struct point *point = ARENA_ARRAY(arena, struct point, points);
    points = 0;
    for (int r = 0; r < runs; r++)
        for (int i = 0; i < run[r].events; i++)
            if (!isnan(run[r].event[i].rank))
                point[points++] = (struct point){run[r].event[i].at_s, run[r].event[i].rank, r};
    *score = (struct simulate_interval){NAN, NAN, NAN};
    if (points == 0) return;
    qsort(point, (size_t)points, sizeof *point, by_time);
    struct block *block = ARENA_ARRAY(arena, struct block, points);
    int *weight = ARENA_ARRAY(arena, int, runs);
    for (int r = 0; r < runs; r++) weight[r] = 1;
    isotonic(scale, points, point, weight, block, curve);
    score->value = score_of(scale, curve);
    double resampled[RESAMPLES];
    struct rng rng = rng_make(0, 0x5c07e); /* the interval is part of the answer: always the same */
    for (int b = 0; b < RESAMPLES; b++) {
        memset(weight, 0, (size_t)runs * sizeof *weight);
        for (int r = 0; r < runs; r++) weight[rng_below(&rng, (uint64_t)runs)]++;
        isotonic(scale, points, point, weight, block, curve);
        resampled[b] = score_of(scale, curve);
    }
    score->low = stats_quantile(resampled, RESAMPLES, 0.025);
    score->high = stats_quantile(resampled, RESAMPLES, 0.975);
}
