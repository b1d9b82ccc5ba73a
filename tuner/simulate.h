/* Replays strategies on a recorded space under a budget, many times, and scores them with the
 * published method (Willemsen et al., FGCS 159, 2024, doi 10.1016/j.future.2024.05.021): 0 is
 * random search, 1 the optimum at once.
 *
 * Costs are those recorded: compiling and running. Asks with fidelity AUTO are told the recorded
 * objective; asks for n samples are told the median of n recorded samples, from another place in
 * the recording each repeat, and pay for n. */
#ifndef STAX_TUNER_SIMULATE_H
#define STAX_TUNER_SIMULATE_H

#include "base/arena.h"
#include "base/space.h"
#include "base/status.h"
#include "base/trial.h"

struct recorded_config {
    enum outcome outcome;
    double time_ns;   /* the recorded objective; INFINITY unless OK */
    double compile_s; /* everything but running: compiling, verifying, overhead */
    double run_s;     /* running all recorded samples */
    int samples;
    const double *sample_ns; /* in the order taken */
};

struct recorded {
    const char *name;
    const struct space *space;
    const struct recorded_config *config; /* by rank in `space` */
};

struct simulate_entry {
    const char *strategy; /* a name of the strategy table */
    int settings;
    const char *const *setting; /* "option=value" */
};

struct simulate_options {
    int repeats; /* published comparisons use 100 */
    uint64_t seed;
    double cutoff, start;        /* 0.95 and 0.01 in the published comparisons of 2025 */
    double budget_s;             /* 0: from the random-search baseline at `cutoff` */
    uint64_t budget_configs;     /* UINT64_MAX: none */
    double quantile, confidence; /* of proposition 9.3, for strategies that use them */
    int candidates;              /* heuristic set of the kernel, if known */
    const uint64_t *candidate;
    int threads; /* 0: one a processor */
    /* Noise: an ask with fidelity AUTO is told the statistic of so many recorded samples; 0: the
     * objective. */
    int auto_samples;
    bool auto_mean;           /* their mean instead of their median */
    uint64_t budget_launches; /* timed samples of a run in all; 0: no limit */
};

enum { SIMULATE_POINTS = 1000 }; /* equidistant times of the score (published) */

struct simulate_interval {
    double value, low, high; /* 95 %; NAN where more than half of the runs never got there */
};

struct simulate_result {
    const char *name;                    /* strategy, with its settings when there are any */
    const char *settings;                /* all options in force */
    const char *claim;                   /* of the first run, at its end; NULL: none */
    struct simulate_interval score;      /* pooled isotonic curve, interval by resampling runs */
    double score_mean_rank;              /* the same with the mean rank over runs as curve */
    struct simulate_interval hit_target; /* share of runs that reached the target of `cutoff` */
    struct simulate_interval within_1pct, within_5pct; /* of what the run ended with */
    struct simulate_interval evals_to_1pct, seconds_to_1pct, evals_to_5pct,
        seconds_to_5pct;                           /* medians */
    double mean_evals, mean_launches, mean_excess; /* configurations, samples; end / optimum - 1 */
    double wall_s;                                 /* our own time */
    double *low, *middle,
        *high; /* best so far at the SIMULATE_POINTS times: quartiles and median over runs, ns */
};

struct simulate_report {
    const char *space;
    uint64_t configs, valid; /* valid: measured without failure */
    double optimum_ns, median_ns, target_ns, budget_s, start_s;
    uint64_t budget_evals;
    bool by_evals;        /* no cost was recorded: an evaluation counts as one second */
    const char *no_score; /* why the score is not defined here; NULL: it is */
    int repeats, strategies;
    double *time_s, *baseline_ns; /* SIMULATE_POINTS each */
    struct simulate_result *strategy;
};

/* Where no cost was recorded, budgets and "seconds" count evaluations.
 * errors: STAX_USAGE for an unknown strategy or option, a recording in which nothing ran, or a
 * budget in seconds where no cost was recorded. */
enum stax_status simulate(const struct recorded *given, const struct simulate_options *options,
                          int entries, const struct simulate_entry *entry, struct arena *arena,
                          struct simulate_report *report);
/* {space, valid, optimum, budget_s, repeats, strategies: [{name, score, score_ci, ...}]}; times in
 * ns as recorded. */
const char *simulate_json(const struct simulate_report *report, struct arena *arena);
/* A gnuplot script (gnuplot.h) that draws the best found so far against time to `path`, .svg or
 * .png: STAX_USAGE for another ending. */
struct text;
enum stax_status simulate_plot(const struct simulate_report *report, const char *path,
                               struct arena *arena, struct text *script);
/* A table for people. */
const char *simulate_table(const struct simulate_report *report, struct arena *arena);

#endif
