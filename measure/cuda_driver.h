/* The CUDA driver, opened at run time: one program starts with and without it. Own declarations of
 * the few types that cross the border, checked against the toolkit's where there is one
 * (tests/unit/test_compile_types.c). */
#ifndef STAX_MEASURE_CUDA_DRIVER_H
#define STAX_MEASURE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "measure/backend.h"

enum { CUDA_LAUNCH_CLUSTER = 4 }; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */

struct cuda_launch_attribute {
    int id;
    char pad[4];
    union {
        char size[64];
        struct {
            unsigned int x, y, z;
        } cluster;
    } value;
};

struct cuda_launch_config {
    unsigned int grid[3], block[3], shared_bytes;
    void *stream;
    struct cuda_launch_attribute *attributes;
    unsigned int attribute_count;
};

/* Numbers of cuda.h that we ask by. */
enum cuda_number {
    CUDA_MAX_THREADS_BLOCK = 1,
    CUDA_MAX_GRID_X = 5,
    CUDA_MAX_GRID_Y = 6,
    CUDA_MAX_GRID_Z = 7,
    CUDA_WARP_SIZE = 10,
    CUDA_CLOCK_KHZ = 13,
    CUDA_PROCESSORS = 16,
    CUDA_L2_BYTES = 38,
    CUDA_MAX_THREADS_SM = 39,
    CUDA_CC_MAJOR = 75,
    CUDA_CC_MINOR = 76,
    CUDA_SHARED_SM = 81,
    CUDA_REGISTERS_SM = 82,
    CUDA_SHARED_BLOCK_OPTIN = 97,
    CUDA_FUNC_MAX_DYNAMIC_SHARED = 8,
    CUDA_FUNC_NON_PORTABLE_CLUSTER = 14,
};

struct cuda_driver {
#define CUDA_SYM(name, version, optional, arguments) int(*name) arguments;
#include "measure/cuda_syms.def"
#undef CUDA_SYM
    const char *path;
};

/* The driver's functions, opened once a process; cuInit is the caller's. STAX_DEVICE with one line
 * where there is none. */
enum stax_status cuda_open(struct arena *arena, const struct cuda_driver **driver);
/* "CUDA_ERROR_LAUNCH_FAILED (719)" */
const char *cuda_error(const struct cuda_driver *driver, int error, char text[128]);
/* Turns an error of a candidate into a verdict; false unless error is 0. What needs a fresh process
 * is marked as spent. */
bool cuda_verdict(const struct cuda_driver *driver, int error, const char *what,
                  struct verdict *verdict);

#endif
