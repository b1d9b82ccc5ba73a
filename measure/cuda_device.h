/* The CUDA backend's own state, shared by its files: backend_cuda.c (what it is, memory),
 * cuda_support.c (its own kernels), cuda_time.c (programs and their times). */
#ifndef STAX_MEASURE_CUDA_DEVICE_H
#define STAX_MEASURE_CUDA_DEVICE_H

#include "measure/backend.h"
#include "measure/cuda_driver.h"

enum support_kernel {
    SUPPORT_FILL,
    SUPPORT_COMPARE,
    SUPPORT_ALL,
    SUPPORT_DIGEST,
    SUPPORT_READ,
    SUPPORT_WRITE,
    SUPPORT_COPY,
    SUPPORT_CLOCK,
    SUPPORT_COUNT
};

/* As in support.cu. */
struct support_result {
    uint64_t wrong, first, ratio;
};

struct backend {
    const struct cuda_driver *cu;
    const struct device_info *info;
    enum timer timer;
    enum l2_mode l2;
    int device;
    void *context, *stream;
    void *support[SUPPORT_COUNT];
    uint64_t result; /* a struct support_result on the device */
    uint64_t flush;  /* what is read or written between calls */
    int64_t flush_bytes;
    int top_clock_khz;
    bool slowed;       /* NVML said so last time */
    uint64_t launched; /* kernels, ours and candidates' */
    void **event;      /* of the event timer, two a slot */
    int events;
    struct arena *arena;
};

struct cuda_launch {
    void *function;
    struct cuda_launch_config config;
    struct cuda_launch_attribute cluster;
    void **params;
};

struct backend_program {
    const struct cuda_driver *cu;
    const struct job_program *source; /* NULL for our own kernels */
    void *module;
    int launches;
    struct cuda_launch *launch;
    uint64_t **values; /* a launch, an argument */
};

/* cuda_support.c */
enum stax_status support_load(struct backend *backend, const struct backend_options *options);
bool support_launch(struct backend *backend, enum support_kernel kernel, void **params,
                    struct verdict *verdict);
bool support_fill(struct backend *backend, const struct job_buffer *buffer, uint64_t address,
                  struct verdict *verdict);
bool support_all(struct backend *backend, uint64_t address, int byte, int64_t bytes, int64_t *first,
                 struct verdict *verdict);
bool support_digest(struct backend *backend, uint64_t address, int64_t bytes, uint64_t *digest,
                    struct verdict *verdict);
bool support_compare(struct backend *backend, enum dtype dtype, int64_t elements, uint64_t out,
                     uint64_t reference, uint64_t bound, struct comparison *comparison,
                     struct verdict *verdict);
bool support_clock(struct backend *backend, int turns, double *mhz, struct verdict *verdict);
const char *support_source(struct arena *arena);
uint64_t support_name(enum support_kernel kernel);

/* cuda_time.c */
bool cuda_load(struct backend *backend, const char *path, const struct job_program *source,
               struct arena *arena, struct backend_program **program, struct verdict *verdict);
void cuda_bind(struct backend_program *program, const uint64_t *addresses);
bool cuda_run(struct backend *backend, struct backend_program *program, struct verdict *verdict);
bool cuda_time(struct backend *backend, int slots, struct backend_slot *slot,
               struct verdict *verdict);
bool cuda_settle(struct backend *backend, struct verdict *verdict);
bool cuda_ceilings(struct backend *backend, double *copy_bytes_s, double *read_bytes_s,
                   struct verdict *verdict);

#endif
