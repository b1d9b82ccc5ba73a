/* One request in a measure worker: bind, verify, time, and say what came of it; see bench.h. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "measure/bench.h"

static int64_t now_unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void start_trial(const struct bench *bench, const struct measure_request *request,
                        const struct measure_entry *entry, struct trial *trial)
{
    *trial = (struct trial){
        .message = "",
        .log = "",
        .timer = bench->options->timer,
        .l2 = bench->options->l2,
        .stage = request->stage,
        .compile = entry->compile,
        .error_ratio = NAN,
        .clock_mhz = NAN,
        .temperature_c = NAN,
        .time_unix_ns = now_unix_ns(),
    };
}

static void fail_trial(struct trial *trial, const struct verdict *verdict, struct arena *arena)
{
    trial->outcome = verdict->outcome == OUTCOME_OK ? OUTCOME_FAULT : verdict->outcome;
    trial->message = arena_text(arena, verdict->message);
    trial->samples = 0;
}

static bool verify(struct bench *bench, struct bound_job *bound, struct arena *arena,
                   struct trial *trial, struct verdict *verdict)
{
    const struct measure_entry *entry = bound->entry;
    bool compared = entry->job.reference.launches > 0;
    double ratio = 0;
    if (entry->verify) {
        if (!bench_verify(bench, bound, false, arena, &ratio, verdict)) return false;
        trial->verified = compared;
    }
    if (entry->adverse) {
        if (!bench_verify(bench, bound, true, arena, &ratio, verdict)) return false;
        trial->adverse_verified = compared;
    }
    if (compared && (entry->verify || entry->adverse)) trial->error_ratio = ratio;
    return true;
}

static void take_samples(struct trial *trial, const struct timed *timed)
{
    trial->samples = timed->samples;
    trial->span_ns = timed->span_ns;
    trial->sum_ns = timed->sum_ns;
    trial->discarded += timed->discarded;
}

/* Times once more what is too fast to be true; what is so again is flagged and never wins
 * unconfirmed. */
static bool time_it(struct bench *bench, struct bound_job *bound, int samples, struct arena *arena,
                    struct trial *trial, struct verdict *verdict)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        struct timed timed = {0};
        if (!bench_time(bench, bound, samples, arena, &timed, verdict)) return false;
        if (attempt) trial->discarded += trial->samples;
        take_samples(trial, &timed);
        double median = stats_median(trial->span_ns, trial->samples);
        trial->suspicious = bench_suspicious(bench, &bound->entry->job, median);
        if (!trial->suspicious) break;
    }
    return true;
}

static bool measure_one(struct bench *bench, const struct measure_request *request,
                        struct arena *arena, struct trial *trial, struct verdict *verdict)
{
    struct bound_job bound = {0};
    if (!bench_bind(bench, &request->entry[0], arena, &bound, verdict) ||
        !verify(bench, &bound, arena, trial, verdict))
        return false;
    bench->phase(bench->data, PHASE_CANDIDATE, 0);
    bound.deadline_s = measure_clock_s() + request->limit_s;
    return time_it(bench, &bound, request->samples, arena, trial, verdict);
}

static void race(struct bench *bench, const struct measure_request *request, struct arena *arena,
                 struct trial *trials, struct verdict *verdict)
{
    struct bound_job *bound = ARENA_ARRAY(arena, struct bound_job, request->entries);
    struct bound_job **alive = ARENA_ARRAY(arena, struct bound_job *, request->entries);
    int count = 0;
    for (int i = 0; i < request->entries; i++) {
        *verdict = (struct verdict){0};
        bound[i].index = i;
        if (bench_bind(bench, &request->entry[i], arena, &bound[i], verdict) &&
            verify(bench, &bound[i], arena, &trials[i], verdict))
            alive[count++] = &bound[i];
        else
            fail_trial(&trials[i], verdict, arena);
        if (verdict->spent) return;
    }
    struct timed *timed = ARENA_ARRAY(arena, struct timed, count);
    bool good = count == 0 || bench_race(bench, count, alive, request->samples, request->seed,
                                         arena, timed, verdict);
    for (int i = 0; i < count; i++) {
        struct trial *trial = &trials[alive[i]->index];
        take_samples(trial, &timed[i]);
        if (!good) {
            fail_trial(trial, verdict, arena);
            continue;
        }
        double median = stats_median(trial->span_ns, trial->samples);
        trial->suspicious = bench_suspicious(bench, &alive[i]->entry->job, median);
    }
}

void bench_measure(struct bench *bench, const struct measure_request *request, struct arena *arena,
                   struct trial *trials, bool *spent)
{
    struct verdict verdict = {0};
    double start = measure_clock_s();
    for (int i = 0; i < request->entries; i++)
        start_trial(bench, request, &request->entry[i], &trials[i]);
    if (!request->race) {
        if (!measure_one(bench, request, arena, &trials[0], &verdict))
            fail_trial(&trials[0], &verdict, arena);
    } else {
        race(bench, request, arena, trials, &verdict);
    }
    *spent = verdict.spent;
    struct backend_state state = {NAN, NAN};
    if (!verdict.spent) bench->ops->state(bench->backend, &state);
    for (int i = 0; i < request->entries; i++) {
        trials[i].measure_s = (measure_clock_s() - start) / request->entries;
        trials[i].clock_mhz = state.clock_mhz;
        trials[i].temperature_c = state.temperature_c;
    }
}
