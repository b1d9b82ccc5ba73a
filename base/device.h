/* What is known of a device: found by a probe, needed by code generation, spaces and records. */
#ifndef STAX_BASE_DEVICE_H
#define STAX_BASE_DEVICE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

enum device_kind { DEVICE_CPU, DEVICE_CUDA };

struct device_info {
    enum device_kind kind;
    const char *spec; /* "cpu", "cuda:0": what --device would say */
    const char *name; /* "NVIDIA H200", "AMD EPYC" */
    const char *uuid; /* identity for locks and records */
    const char *arch; /* cuda: "sm_90a", the exact target of NVRTC; cpu: resolved -march */
    int cc_major, cc_minor;
    int processors; /* SMs, or hardware threads this process may use */
    int warp_size;  /* 32, or 1 */
    int max_threads_block, max_threads_sm, registers_sm;
    int64_t shared_block_bytes; /* opt-in limit */
    int64_t shared_sm_bytes;
    int64_t l2_bytes; /* cuda: L2; cpu: last level cache */
    int64_t memory_bytes;
    int64_t max_grid[3];
    int vector_bytes;                  /* cpu: widest SIMD register in bytes */
    double copy_bytes_s, read_bytes_s; /* measured ceilings; 0 while unknown */
    const char *driver;                /* versions as text, "" where there is none */
    const char *compiler;   /* NVRTC version and build, or the host compiler's version line */
    const char *timer_note; /* CUPTI version, or why it is absent */
};

void device_info_put(struct text *text, const struct device_info *info);
enum stax_status device_info_get(struct reader *reader, struct arena *arena,
                                 struct device_info *info);

#endif
