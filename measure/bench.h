/* What a measure worker keeps between jobs, and the steps of one job: hold buffers, verify, time.
 */
#ifndef STAX_MEASURE_BENCH_H
#define STAX_MEASURE_BENCH_H

#include "measure/backend.h"
#include "measure/protocol.h"
#include "measure/store.h"

struct bench {
    const struct backend_ops *ops;
    struct backend *backend;
    const struct backend_options *options;
    const struct device_info *info;
    struct store *store;
    bool settled;       /* the clock was steady once */
    double idle_from_s; /* when the last batch ended */
    void (*phase)(void *data, enum phase phase,
                  int index); /* told before anything that can hang or die */
    void *data;
};

/* One entry at work. Its buffers are held until the arena goes. */
struct bound_job {
    const struct measure_entry *entry;
    int index; /* in the race */
    struct backend_program *program;
    struct stored **buffer; /* by index of job.buffer; NULL for the reference's */
    double deadline_s;
};

/* Loads the candidate and holds its buffers with plain inputs, outputs poisoned, counters zero. */
bool bench_bind(struct bench *bench, const struct measure_entry *entry, struct arena *arena,
                struct bound_job *bound, struct verdict *verdict);
/* Runs the reference once (kept in the store and, where small, on disk), then the candidate over
 * two complementary poison patterns: every output compared over all its elements, guards whole,
 * counters back at zero, inputs as they were. `adverse`: inputs with NaN, infinities, offsets and
 * ties instead. Leaves plain inputs bound. */
bool bench_verify(struct bench *bench, struct bound_job *bound, bool adverse, struct arena *arena,
                  double *ratio, struct verdict *verdict);

struct timed {
    int samples;
    double *span_ns, *sum_ns;
    int discarded;
};

/* Exactly `samples`, or by the stopping rule when 0. */
bool bench_time(struct bench *bench, struct bound_job *bound, int samples, struct arena *arena,
                struct timed *timed, struct verdict *verdict);
/* `rounds` rounds of all jobs in random order; those with dead[i] are left out. */
bool bench_race(struct bench *bench, int jobs, struct bound_job *const *bound, int rounds,
                uint64_t seed, struct arena *arena, struct timed *timed, struct verdict *verdict);
/* Below what the memory could deliver (cold) or below the timer's resolution? */
bool bench_suspicious(const struct bench *bench, const struct job *job, double span_ns);

/* Answers a whole request: trials[entries]. *spent: the process has to end. */
void bench_measure(struct bench *bench, const struct measure_request *request, struct arena *arena,
                   struct trial *trials, bool *spent);

#endif
