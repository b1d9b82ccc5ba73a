/* The arithmetic of the published score; private to simulate. */
#ifndef STAX_TUNER_SIMULATE_SCORE_H
#define STAX_TUNER_SIMULATE_SCORE_H

#include "tuner/simulate.h"

/* What a recorded space says about searching it. */
struct score_scale {
    uint64_t n;     /* configurations that ran */
    double *sorted; /* their times, fastest first */
    double optimum, median, target;
    double per_eval_s; /* tau: mean cost of an evaluation that ran, plus the share of failures times
                          theirs */
    double budget_s, start_s;
    uint64_t budget_evals;
    const char *undefined;     /* why there is no score; NULL: there is */
    double *time_s, *baseline; /* SIMULATE_POINTS */
};

/* One run: after each evaluation, when it ended and the rank (0 = optimum) of what the run would
 * answer then. */
struct score_event {
    double at_s;
    double rank; /* NAN while nothing ran */
};
struct score_run {
    struct score_event *event;
    int events, capacity;
};

enum stax_status score_scale_make(const struct recorded *recorded,
                                  const struct simulate_options *options, struct arena *arena,
                                  struct score_scale *scale);
/* Rank of a time: how many are strictly faster. */
double score_rank(const struct score_scale *scale, double time_ns);
/* Both scores; the interval is the 2.5 and 97.5 % quantile over resampled runs. */
void score_runs(const struct score_scale *scale, int runs, const struct score_run *run,
                struct arena *arena, struct simulate_interval *isotonic, double *mean_rank);

#endif
