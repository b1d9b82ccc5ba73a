/* A CUDA driver that fails where $STAX_FAKE_CUDA says, for the messages a user sees. With "device"
 * it has one GPU that has no room for a context. Loaded as libcuda.so.1 by the worker. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int is(const char *mode)
{
    const char *now = getenv("STAX_FAKE_CUDA");
    return now && strcmp(now, mode) == 0;
}

static int init(unsigned int flags)
{
    (void)flags;
    return is("noinit") ? 100 : is("mismatch") ? 803 : 0;
}

static int get_version(int *version)
{
    *version = 13000;
    return 0;
}

static int error_name(int error, const char **name)
{
    *name = error == 100   ? "CUDA_ERROR_NO_DEVICE"
            : error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
            : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
                           : "CUDA_ERROR_UNKNOWN";
    return 0;
}

static int get_count(int *count)
{
    *count = is("nodevice") ? 0 : 1;
    return 0;
}

static int get_device(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

static int get_name(char *name, int length, int device)
{
    (void)device;
    strncpy(name, "Fake GPU", (size_t)length);
    return 0;
}

static int get_uuid(unsigned char *uuid, int device)
{
    (void)device;
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(17 * i);
    return 0;
}

static int total_memory(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}

static int get_attribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 10 ? 32 : 1024;
    return 0;
}

static int no_room(void)
{
    return 2;
}

static const struct {
    const char *name;
    void (*function)(void);
} table[] = {
    {"cuInit", (void (*)(void))init},
    {"cuDriverGetVersion", (void (*)(void))get_version},
    {"cuGetErrorName", (void (*)(void))error_name},
    {"cuDeviceGetCount", (void (*)(void))get_count},
    {"cuDeviceGet", (void (*)(void))get_device},
    {"cuDeviceGetName", (void (*)(void))get_name},
    {"cuDeviceGetUuid", (void (*)(void))get_uuid},
    {"cuDeviceTotalMem", (void (*)(void))total_memory},
    {"cuDeviceGetAttribute", (void (*)(void))get_attribute},
};

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                               int *found);

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
    (void)version, (void)flags;
    void (*chosen)(void) = (void (*)(void))no_room;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) chosen = table[i].function;
    }
    *found = 0;
    if (is("old") && strcmp(name, "cuLaunchKernel") == 0) return 500;
    memcpy(function, &chosen, sizeof chosen);
    return 0;
}
