/* What code generation hands to measuring: source text, launches, buffers, the reference and how to
 * judge.
 *
 * One job is one configuration of one kernel on one device. It owns every buffer of its call:
 * inputs, outputs and intermediates. The launches run in one stream in their order (book 9.7). All
 * of it packs into bytes, so that it crosses to a worker process and hashes into an identity. */
#ifndef STAX_BASE_JOB_H
#define STAX_BASE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/device.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

enum job_role {
    JOB_INPUT,
    JOB_OUTPUT,
    JOB_SCRATCH, /* between the launches of the tuned program; poisoned like an output */
    JOB_COUNTER, /* scratch that must be zero before every call and is left zero by it (last_block)
                  */
    JOB_REF_OUT, /* f64, one an output, same elements: the reference's value */
    JOB_REF_BOUND, /* f64, one an output: how far a right result may lie from it (running error
                      bound) */
    JOB_REF_SCRATCH,
};

/* How an input is filled. Element i of an input depends on (fill, seed, i) alone, the same on every
 * device: h = rng_mix(seed ^ rng_mix(i)),  u = (h >> 11) * 2^-53 UNIFORM: low + (high - low) * u,
 * rounded to the dtype. CONSTANT: low. ADVERSE: UNIFORM with NaN, +-infinity, a large offset and
 * ties sprinkled in by the hash (verification only). INDEX: low + high * i. */
enum job_fill {
    JOB_FILL_NONE,
    JOB_FILL_UNIFORM,
    JOB_FILL_CONSTANT,
    JOB_FILL_ADVERSE,
    JOB_FILL_INDEX
};

struct job_buffer {
    const char *name;
    enum job_role role;
    enum dtype dtype;
    int64_t elements; /* of storage, strides included; may be 0 */
    enum job_fill fill;
    double low, high;
    uint64_t seed;
    int pair; /* REF_OUT and REF_BOUND: index of the output they judge */
};

enum job_arg_kind { JOB_ARG_BUFFER, JOB_ARG_I32, JOB_ARG_I64, JOB_ARG_F32 };

struct job_arg {
    enum job_arg_kind kind;
    int buffer; /* index into job.buffers */
    int64_t i;
    double f;
};

/* cuda: grid and block of entry; cpu: entry is `void entry(void *const *args)` called once by each
 * launch, parallel inside; args[k] points to the k-th argument (a pointer argument: to the pointer,
 * as cuLaunchKernel's kernelParams). */
struct job_launch {
    const char *entry;
    int64_t grid[3];
    int block[3];
    int cluster[3];       /* 0 or 1: none */
    int64_t shared_bytes; /* dynamic */
    int args;
    struct job_arg *arg;
};

struct job_program {
    const char *source;
    const char *options; /* extra compiler options, one per line; "" for none */
    int launches;
    struct job_launch *launch;
};

struct job {
    const char *kernel; /* stable name of the kernel and shape: "red_fused(x: f32[64,16384])" */
    enum device_kind device;
    const char *arch; /* the exact target of compilation */
    int buffers;
    struct job_buffer *buffer;
    struct job_program program;   /* what is tuned */
    struct job_program reference; /* untuned, double; writes every REF_OUT and REF_BOUND */
    double bytes;                 /* each input read once, each output written once */
    double flop;
};

void job_put(struct text *text, const struct job *job);
enum stax_status job_get(struct reader *reader, struct arena *arena, struct job *job);
/* Identity of what runs: source, options, arch, launches and buffers (reference and fills left
 * out). */
struct hash128 job_hash(const struct job *job);
/* Identity of what is compared with: reference source, its launches and the inputs' fills. */
struct hash128 job_reference_hash(const struct job *job);

#endif
