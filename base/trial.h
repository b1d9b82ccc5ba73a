/* What measuring one configuration gave: outcome, samples, compile facts. Crosses from measuring to
 * search and results. */
#ifndef STAX_BASE_TRIAL_H
#define STAX_BASE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/status.h"
#include "base/text.h"

enum outcome {
#define OUTCOME(id, name, text, again) OUTCOME_##id,
#include "base/outcome.def"
#undef OUTCOME
    OUTCOME_COUNT
};

struct outcome_row {
    const char *name;
    const char *text;
    bool again;
};
extern const struct outcome_row outcome_table[OUTCOME_COUNT];

enum timer { TIMER_CUPTI, TIMER_EVENT, TIMER_GRAPH, TIMER_HOST, TIMER_RECORDED, TIMER_COUNT };
enum l2_mode { L2_COLD, L2_DIRTY, L2_WARM, L2_COUNT };
extern const char *const timer_names[TIMER_COUNT]; /* cupti event graph host recorded */
extern const char *const l2_names[L2_COUNT];       /* cold dirty warm */
enum trial_stage { STAGE_SEARCH, STAGE_FINAL, STAGE_BENCH, STAGE_COUNT };
extern const char *const stage_names[STAGE_COUNT];

struct compile_facts {
    double seconds; /* wall time of compiling; of the first time when cached */
    bool cached;    /* came from the cache on disk or from an identical source of this run */
    int registers;  /* a thread, the greatest of the launches; -1 where unknown */
    int64_t shared_bytes, spill_bytes, stack_bytes; /* greatest of the launches; -1 where unknown */
    struct hash128 binary; /* of the cubin or .so text; zero where unknown */
};

struct trial {
    enum outcome outcome;
    const char *message; /* one line for a bad outcome, else "" */
    int samples;         /* timed samples of this trial, in the order taken */
    double *span_ns;     /* device time of one call: last end - first start; what is optimised */
    double *sum_ns;      /* sum of the kernels of one call; equal to span for one launch */
    int discarded;
    enum timer timer;
    enum l2_mode l2;
    enum trial_stage stage;
    struct compile_facts compile;
    double measure_s;   /* wall time in the worker: load, verify, warm up, time */
    double error_ratio; /* greatest |out - ref| / bound seen; <= 1 passes; NAN when not compared */
    bool verified, adverse_verified;
    bool suspicious; /* below the floor of what the memory could deliver, or below the timer's
                        resolution */
    double clock_mhz, temperature_c; /* NAN where unknown */
    int64_t time_unix_ns;
    const char *log; /* the compiler's log where it says something, else "" */
};

void trial_put(struct text *text, const struct trial *trial);
enum stax_status trial_get(struct reader *reader, struct arena *arena, struct trial *trial);
/* The time told to strategies: median span in ns over the samples; INFINITY unless the outcome is
 * OK. */
double trial_time_ns(const struct trial *trial);

/* What a strategy asks for. `fidelity` timed samples in all (stored ones count), or AUTO: the
 * stopping rule decides. */
enum { FIDELITY_AUTO = 0 };
struct ask {
    uint64_t id;     /* counts from 0 in ask order */
    uint64_t config; /* rank in the space */
    int fidelity;
};

#endif
