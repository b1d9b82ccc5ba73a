/* libnvidia-ml with own prototypes, since toolkits may lack its header; see nvml.h. */
#include "measure/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "measure/library.h"

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *, void **);
    int (*temperature)(void *, int, unsigned int *);
    int (*clock)(void *, int, unsigned int *);
    int (*reasons)(void *, unsigned long long *);
    int (*driver)(char *, unsigned int);
    void *device;
} nvml;

static const struct {
    const char *name;
    void *to;
} symbols[] = {
    {"nvmlInit_v2", &nvml.init},
    {"nvmlDeviceGetHandleByUUID", &nvml.by_uuid},
    {"nvmlDeviceGetTemperature", &nvml.temperature},
    {"nvmlDeviceGetClockInfo", &nvml.clock},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons}, /* the name all versions have */
    {"nvmlSystemGetDriverVersion", &nvml.driver},
};

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0 };

bool nvml_open(const char *uuid, struct arena *arena, const char **why)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    const char *path;
    void *library = library_open(names, arena, &path, why);
    if (!library) return false;
    for (size_t i = 0; i < STAX_COUNT(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    *why = "it does not start";
    if (!nvml.init || nvml.init() != 0) return false;
    *why = "it does not know this GPU";
    if (!uuid || !nvml.by_uuid || nvml.by_uuid(uuid, &nvml.device) != 0) nvml.device = NULL;
    return nvml.device != NULL;
}

const char *nvml_driver_version(struct arena *arena)
{
    char version[96] = "";
    if (!nvml.driver || nvml.driver(version, sizeof version) != 0) return "";
    return arena_text(arena, version);
}

void nvml_read(struct nvml_state *state)
{
    unsigned int value;
    *state = (struct nvml_state){NAN, NAN, 0};
    if (!nvml.device) return;
    if (nvml.temperature && nvml.temperature(nvml.device, TEMPERATURE_GPU, &value) == 0)
        state->temperature_c = value;
    if (nvml.clock && nvml.clock(nvml.device, CLOCK_SM, &value) == 0) state->clock_mhz = value;
    if (nvml.reasons) nvml.reasons(nvml.device, &state->reasons);
}
