/* One row a device kind: what a measure worker needs of a device. Everything above is
 * device-neutral.
 *
 * Addresses are the device's, as integers; every buffer has guard zones that the store lays round
 * it. A function that can fail because of the candidate returns false and fills a verdict; a status
 * other than STAX_OK means that the device itself is unusable. */
#ifndef STAX_MEASURE_BACKEND_H
#define STAX_MEASURE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/device.h"
#include "base/job.h"
#include "base/status.h"
#include "base/trial.h"
#include "measure/cache.h"

enum {
    VERDICT_BYTES = 512,
    GUARD_BYTES = 4096
}; /* a page of guard on either side (docs/measuring) */

/* Why a candidate is no good. `spent`: the process must end, its context is poisoned. */
struct verdict {
    enum outcome outcome;
    bool spent;
    char message[VERDICT_BYTES];
};

/* Sets the verdict and returns false, for `return verdict_set(...)`. */
bool verdict_set(struct verdict *verdict, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct comparison {
    int64_t wrong;           /* elements */
    int64_t first;           /* index of the first wrong one */
    double ratio;            /* greatest finite |out - reference| / bound */
    double got, want, bound; /* at `first` */
};

/* What the device says of itself round a timing; NAN where it does not. */
struct backend_state {
    double clock_mhz, temperature_c;
};

/* One timed call: every launch of a bound program. */
struct backend_slot {
    struct backend_program *program;
    double span_ns, sum_ns;
};

struct backend;
struct backend_program;

struct backend_options {
    const char *spec; /* "cpu", "cuda:0" */
    enum timer timer;
    enum l2_mode l2;
    const char *cache_folder;
    const char *temp_folder;
};

struct backend_ops {
    enum device_kind kind;
    double resolution_ns; /* of the default timer; below it a time means nothing */
    /* What the device is, without making it ready for work. */
    enum stax_status (*probe)(const struct backend_options *options, struct arena *arena,
                              struct device_info *info, bool *timer_ok);
    void (*describe)(struct text *text, struct arena *arena); /* lines for people: what was found */
    /* Makes it ready, and says what it is: on CUDA the timer must open before the driver is asked
     * anything. */
    enum stax_status (*open)(const struct backend_options *options, struct arena *arena,
                             struct device_info *info, struct backend **backend);
    void (*close)(struct backend *backend);

    bool (*allocate)(struct backend *backend, int64_t bytes, uint64_t *address);
    void (*release)(struct backend *backend, uint64_t address, int64_t bytes);
    bool (*set)(struct backend *backend, uint64_t address, int byte, int64_t bytes,
                struct verdict *verdict);
    bool (*fill)(struct backend *backend, const struct job_buffer *buffer, uint64_t address,
                 struct verdict *verdict);
    /* Are all bytes `byte`? *first: where not; -1 when they are. */
    bool (*all)(struct backend *backend, uint64_t address, int byte, int64_t bytes, int64_t *first,
                struct verdict *verdict);
    bool (*digest)(struct backend *backend, uint64_t address, int64_t bytes, uint64_t *digest,
                   struct verdict *verdict);
    bool (*compare)(struct backend *backend, enum dtype dtype, int64_t elements, uint64_t out,
                    uint64_t reference, uint64_t bound, struct comparison *comparison,
                    struct verdict *verdict);
    bool (*read)(struct backend *backend, void *to, uint64_t from, int64_t bytes,
                 struct verdict *verdict);
    bool (*write)(struct backend *backend, uint64_t to, const void *from, int64_t bytes,
                  struct verdict *verdict);

    /* Loads an artifact and finds its entries; *program is released with the arena. */
    bool (*load)(struct backend *backend, const char *path, const struct job_program *source,
                 struct arena *arena, struct backend_program **program, struct verdict *verdict);
    /* Fixes the arguments: addresses by index of job.buffer. */
    void (*bind)(struct backend_program *program, const uint64_t *addresses);
    bool (*run)(struct backend *backend, struct backend_program *program, struct verdict *verdict);
    bool (*finish)(struct backend *backend, struct verdict *verdict);

    /* Times the slots in their order with the cache state of the options before each. */
    bool (*time)(struct backend *backend, int slots, struct backend_slot *slot,
                 struct verdict *verdict);
    bool (*settle)(struct backend *backend,
                   struct verdict *verdict); /* until the clock is steady */
    void (*state)(struct backend *backend, struct backend_state *state);
    bool (*worn)(
        const struct backend *backend); /* has worked so long that a fresh process is safer */
    bool (*ceilings)(struct backend *backend, double *copy_bytes_s, double *read_bytes_s,
                     struct verdict *verdict);
};

extern const struct backend_ops backend_cpu, backend_cuda;
const struct backend_ops *backend_of(enum device_kind kind);
/* The bytes of an argument, low ones first. */
uint64_t backend_argument(const struct job_arg *arg, const uint64_t *addresses);

#endif
