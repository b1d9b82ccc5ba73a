/* Measuring: compile, verify and time jobs in worker processes. The module's only public header.
 *
 * The session holds a `struct measure`: one device row, N compile workers, one measure worker. Jobs
 * go in with a ticket and a plan; trials come out in the order things finish. A worker that crashes
 * or hangs costs one candidate: it is restarted, the suspect is tried once more alone. The caller
 * is told before each launch batch (`starting`), so that its journal names the culprit. */
#ifndef STAX_MEASURE_MEASURE_H
#define STAX_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/device.h"
#include "base/job.h"
#include "base/status.h"
#include "base/trial.h"

struct measure;

struct measure_options {
    const char *device; /* "auto", "cpu", "cuda[:i]", "replay:FILE" */
    const char *worker; /* path of stax-worker; NULL: $STAX_WORKER, beside the program, or ../bin */
    int compile_workers; /* 0: processors of this host (cuda), half of them (cpu), at least 1 */
    const char
        *cache_dir; /* compiled results and references; NULL: $XDG_CACHE_HOME/stax-tune; "" none */
    enum timer timer;       /* TIMER_COUNT: the device's default (cupti on cuda, host on cpu) */
    enum l2_mode l2;        /* L2_COUNT: the device's default (cold on cuda, warm on cpu) */
    int64_t spill_limit;    /* bytes; more is outcome SPILL. Default 0 */
    double time_limit_s;    /* a candidate's measuring; 0: 10 s */
    double compile_limit_s; /* 0: 60 s */
    /* Replay: looks up a recorded trial of a job's configuration. See results.h; NULL otherwise. */
    enum stax_status (*lookup)(void *data, const struct hash128 *config, int fidelity,
                               uint64_t repeat, struct arena *arena, struct trial *trial);
    const struct device_info *recorded;            /* replay: the device of the recording */
    void *data;                                    /* for lookup and starting */
    void (*starting)(void *data, uint64_t ticket); /* before a ticket's first launch; may be NULL */
};

struct measure_plan {
    int samples; /* timed samples to take now, exactly; 0: the stopping rule decides */
    bool verify; /* random inputs; skipped only when this source was already verified in this run */
    bool adverse; /* NaN, infinities, large offsets, ties as well */
    enum trial_stage stage;
    struct hash128 config; /* identity, for replay */
};

/* Rows of the device table, for `list devices` and --help. */
struct measure_device_row {
    const char *name, *summary;
};
int measure_devices(const struct measure_device_row **rows);

/* Finds what a device spec means here, in a probe process (this process never calls CUDA). "auto":
 * cuda:0 if there is one, else cpu. Errors: STAX_USAGE for a bad spec, STAX_DEVICE with the reason
 * when it is absent, STAX_IO when the worker cannot start. */
enum stax_status measure_probe(const struct measure_options *options, struct arena *arena,
                               struct device_info *info);
/* Lines of what was found (libraries, versions, devices, counters), for `doctor`. Never fails for
 * an absent GPU. */
enum stax_status measure_doctor(const struct measure_options *options, struct arena *arena,
                                const char **text);

enum stax_status measure_open(const struct measure_options *options, struct arena *arena,
                              struct measure **measure);
const struct device_info *
measure_device(const struct measure *measure); /* with measured ceilings */
enum timer measure_timer(const struct measure *measure);
enum l2_mode measure_l2(const struct measure *measure);
/* Protocol fingerprint: results with different ones are never compared ("cupti cold clean-read
 * v1"). */
const char *measure_protocol(const struct measure *measure);

/* Queues a job; copies what it needs. Never blocks on a device. */
enum stax_status measure_submit(struct measure *measure, uint64_t ticket, const struct job *job,
                                const struct measure_plan *plan);
/* Waits up to `wait_s` for a finished ticket (0: only looks). *ticket = UINT64_MAX when none. The
 * trial lives in `arena`. */
enum stax_status measure_next(struct measure *measure, double wait_s, struct arena *arena,
                              uint64_t *ticket, struct trial *trial);
int measure_pending(const struct measure *measure);

/* Finals: `jobs` interleaved in random order, `rounds` rounds, every job once a round; trials[i]
 * gets `rounds` samples, rounds aligned by index over the jobs (paired). A job that fails gets its
 * outcome; the others go on. Blocks. */
enum stax_status measure_race(struct measure *measure, int jobs, const struct job *const *job,
                              int rounds, uint64_t seed, struct arena *arena, struct trial *trials);
/* The compiled text of a job for `show --emit ptx`: PTX (cuda; no GPU needed) or assembly (cpu), by
 * one compile worker started for it. */
enum stax_status measure_assembly(const struct measure_options *options, const struct job *job,
                                  struct arena *arena, const char **text);
/* Drops every job that has not begun measuring; their tickets come back as SKIPPED from
 * measure_next. */
void measure_cancel(struct measure *measure);
void measure_close(struct measure *measure); /* kills the workers; NULL allowed */

#endif
