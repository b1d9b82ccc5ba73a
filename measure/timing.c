/* When to stop timing, and in which order to take turns; see bench.h.
 *
 * The statistic is the median; the rule looks at the half-width of its order-statistic interval,
 * which shrinks with n, where a target on the spread never ends for a noisy kernel. A race gives
 * every job one turn a round, in random order, so that drift of clocks and heat falls on all alike:
 * a 1 % gap is called right 99 % of the time by 7 paired rounds and 67 % by any number of
 * sequential ones (docs/measuring, simulated). */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"
#include "measure/bench.h"

enum {
    WARM_UP_CALLS = 3,
    LEAST_SAMPLES = 10,
    MOST_SAMPLES = 200,
    MAX_BATCH = 256, /* chosen: slots timed between two waits */
};
static const double half_width_frac = 0.005; /* of the median */
static const double most_device_s = 1.0, most_wall_s = 5.0;
static const double batch_s = 0.5; /* chosen: one batch is to end well inside a time limit */
static const double idle_s = 0.05; /* chosen: after such a pause the first call is thrown away */

/* One attempt, and one more where the timer lost count. */
static bool time_batch(struct bench *bench, int slots, struct backend_slot *slot, int *discarded,
                       struct verdict *verdict)
{
    for (int attempt = 0;; attempt++) {
        bool good = bench->ops->time(bench->backend, slots, slot, verdict);
        bench->idle_from_s = measure_clock_s();
        if (good) return true;
        if (verdict->outcome != OUTCOME_UNSTABLE || verdict->spent || attempt == 1) return false;
        *discarded += slots;
    }
}

/* Warms up and tells how long a call takes, as the host sees it, device and cache treatment
 * included. */
static bool warm_up(struct bench *bench, struct bound_job *bound, double *call_s,
                    struct verdict *verdict)
{
    *call_s = INFINITY;
    for (int i = 0; i < WARM_UP_CALLS; i++) {
        double start = measure_clock_s();
        if (!bench->ops->run(bench->backend, bound->program, verdict) ||
            !bench->ops->finish(bench->backend, verdict))
            return false;
        double took = measure_clock_s() - start;
        if (took < *call_s) *call_s = took;
        if (took > batch_s) break; /* so long a call is warm after one */
    }
    bench->idle_from_s = measure_clock_s();
    return true;
}

static bool fits(const struct bound_job *bound, double call_s, int samples, struct verdict *verdict)
{
    double left = bound->deadline_s - measure_clock_s();
    if (call_s * samples <= left) return true;
    return verdict_set(verdict, OUTCOME_TIMEOUT,
                       "one call takes %.3g s: %d samples would pass the time limit", call_s,
                       samples);
}

static int batch_of(double call_s, int wanted)
{
    double many = batch_s / (call_s > 1e-9 ? call_s : 1e-9);
    int most = many > MAX_BATCH ? MAX_BATCH : many < 1 ? 1 : (int)many;
    return wanted < most ? wanted : most;
}

static bool is_enough(const struct timed *timed, double start_s)
{
    if (timed->samples >= MOST_SAMPLES) return true;
    double device_s = 0;
    for (int i = 0; i < timed->samples; i++) device_s += 1e-9 * timed->span_ns[i];
    if (device_s >= most_device_s || measure_clock_s() - start_s >= most_wall_s) return true;
    if (timed->samples < LEAST_SAMPLES) return false;
    struct summary summary = stats_summary(timed->span_ns, timed->samples, 0.95);
    return 0.5 * (summary.high - summary.low) <= half_width_frac * summary.median;
}

/* Times `count` calls of one program into `timed`. */
static bool take(struct bench *bench, struct bound_job *bound, int count, struct timed *timed,
                 struct verdict *verdict)
{
    struct backend_slot slot[MAX_BATCH + 1];
    STAX_CHECK(count <= MAX_BATCH);
    int dummy = measure_clock_s() - bench->idle_from_s > idle_s || timed->samples == 0;
    for (int i = 0; i < count + dummy; i++)
        slot[i] = (struct backend_slot){.program = bound->program};
    if (!time_batch(bench, count + dummy, slot, &timed->discarded, verdict)) return false;
    for (int i = 0; i < count; i++) {
        timed->span_ns[timed->samples] = slot[dummy + i].span_ns;
        timed->sum_ns[timed->samples] = slot[dummy + i].sum_ns;
        timed->samples++;
    }
    return true;
}

bool bench_time(struct bench *bench, struct bound_job *bound, int samples, struct arena *arena,
                struct timed *timed, struct verdict *verdict)
{
    int most = samples ? samples : MOST_SAMPLES;
    timed->span_ns = ARENA_ARRAY(arena, double, most);
    timed->sum_ns = ARENA_ARRAY(arena, double, most);
    double call_s, start_s = measure_clock_s();
    if (!warm_up(bench, bound, &call_s, verdict)) return false;
    if (!fits(bound, call_s, samples ? samples : 1, verdict)) return false;
    while (samples ? timed->samples < samples : !is_enough(timed, start_s)) {
        double left = bound->deadline_s - measure_clock_s();
        if (!samples && timed->samples > 0 && call_s > left)
            break; /* a few samples are better than none */
        int wanted = samples ? samples - timed->samples : LEAST_SAMPLES;
        if (!samples && timed->samples >= 2 * LEAST_SAMPLES) wanted = timed->samples / 2;
        if (wanted > most - timed->samples) wanted = most - timed->samples;
        double before = measure_clock_s();
        int batch = batch_of(call_s, wanted);
        if (!take(bench, bound, batch, timed, verdict)) return false;
        call_s = (measure_clock_s() - before) / batch; /* with what the cache state costs */
    }
    return true;
}

static void shuffle(int *order, int count, struct rng *rng)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)rng_below(rng, (uint64_t)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* One round: a throw-away call of the first, then every job once in random order. */
static bool run_round(struct bench *bench, int jobs, struct bound_job *const *bound,
                      const int *order, struct arena *arena, struct timed *timed,
                      struct verdict *verdict)
{
    struct backend_slot *slot = ARENA_ARRAY(arena, struct backend_slot, jobs + 1);
    slot[0].program = bound[order[0]]->program;
    for (int i = 0; i < jobs; i++) slot[i + 1].program = bound[order[i]]->program;
    int discarded = 0;
    if (!time_batch(bench, jobs + 1, slot, &discarded, verdict)) return false;
    for (int i = 0; i < jobs; i++) {
        struct timed *own = &timed[order[i]];
        own->span_ns[own->samples] = slot[i + 1].span_ns;
        own->sum_ns[own->samples] = slot[i + 1].sum_ns;
        own->samples++;
        own->discarded += discarded ? 1 : 0;
    }
    return true;
}

bool bench_race(struct bench *bench, int jobs, struct bound_job *const *bound, int rounds,
                uint64_t seed, struct arena *arena, struct timed *timed, struct verdict *verdict)
{
    struct rng rng = rng_make(seed, hash_string("race"));
    int *order = ARENA_ARRAY(arena, int, jobs);
    for (int i = 0; i < jobs; i++) {
        order[i] = i;
        timed[i].span_ns = ARENA_ARRAY(arena, double, rounds);
        timed[i].sum_ns = ARENA_ARRAY(arena, double, rounds);
        double call_s;
        bench->phase(bench->data, PHASE_CANDIDATE, bound[i]->index);
        if (!warm_up(bench, bound[i], &call_s, verdict)) return false;
    }
    struct arena *scratch = arena_create();
    bool good = true;
    for (int round = 0; round < rounds && good; round++) {
        shuffle(order, jobs, &rng);
        arena_reset(scratch);
        bench->phase(bench->data, PHASE_CANDIDATE, -1);
        good = run_round(bench, jobs, bound, order, scratch, timed, verdict);
    }
    arena_destroy(scratch);
    return good;
}

bool bench_suspicious(const struct bench *bench, const struct job *job, double span_ns)
{
    if (span_ns < bench->ops->resolution_ns) return true;
    double input_bytes = job->bytes;
    for (int i = 0; i < job->buffers; i++) {
        if (job->buffer[i].role == JOB_OUTPUT)
            input_bytes -= (double)job->buffer[i].elements *
                           dtype_table[job->buffer[i].dtype].bytes;
    }
    /* Only inputs larger than the cache must come from memory for certain, and only when it is
     * cold. */
    if (bench->options->l2 == L2_WARM || bench->info->read_bytes_s <= 0 ||
        input_bytes < (double)bench->info->l2_bytes)
        return false;
    return span_ns < 0.9 * 1e9 * input_bytes /
                         bench->info->read_bytes_s; /* 0.9: error of the ceiling, chosen */
}
