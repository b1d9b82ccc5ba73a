/* NVML, where there is one: temperature and clocks of a GPU. Everything is optional. */
#ifndef STAX_MEASURE_NVML_H
#define STAX_MEASURE_NVML_H

#include <stdbool.h>

#include "base/arena.h"

struct nvml_state {
    double clock_mhz, temperature_c; /* NAN where unknown */
    unsigned long long reasons;      /* clock event reasons; 0 where unknown */
};

/* Opens it for the GPU with this UUID ("GPU-..."). False with a reason where it is not there. */
bool nvml_open(const char *uuid, struct arena *arena, const char **why);
const char *nvml_driver_version(struct arena *arena); /* "" where unknown */
void nvml_read(struct nvml_state *state);

#endif
