/* An NVIDIA GPU as a device: what it is, its memory, and the table of functions. See backend.h,
 * cuda_device.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/activity.h"
#include "measure/compile.h"
#include "measure/cuda_device.h"
#include "measure/nvml.h"

/* NVML's clock event reasons that are no normal working: HW slowdown, SW and HW thermal, power
 * brake. */
enum { SLOWED = 0x8 | 0x20 | 0x40 | 0x80 };

static int ordinal_of(const char *spec)
{
    const char *colon = strchr(spec, ':');
    return colon ? atoi(colon + 1) : 0;
}

static enum stax_status check(const struct cuda_driver *cu, int error, const char *what)
{
    char text[128];
    if (error == 0) return STAX_OK;
    STAX_RETURN(STAX_DEVICE, "%s: %s", what, cuda_error(cu, error, text));
}

static int attribute(const struct cuda_driver *cu, enum cuda_number number, int device)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, (int)number, device) == 0 ? value : 0;
}

/* The feature set of exactly this architecture, where NVRTC knows
 * one: 9.0a, 10.0a, 10.3a, 12.0a, 12.1a (hopper 4.3). */
static const char *arch_of(int major, int minor, struct arena *arena)
{
    bool own = (major == 9 && minor == 0) || major == 10 || major == 12;
    return arena_printf(arena, "sm_%d%d%s", major, minor, own ? "a" : "");
}

static const char *uuid_of(const struct cuda_driver *cu, int device, struct arena *arena)
{
    unsigned char u[16] = {0};
    cu->cuDeviceGetUuid(u, device);
    return arena_printf(arena,
                        "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                        u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
                        u[12], u[13], u[14], u[15]);
}

static enum stax_status find_device(const struct cuda_driver *cu, const char *spec, int *device)
{
    int count = 0, ordinal = ordinal_of(spec);
    STAX_TRY(check(cu, cu->cuInit(0), "the CUDA driver does not start"));
    STAX_TRY(check(cu, cu->cuDeviceGetCount(&count), "counting GPUs"));
    if (count == 0) STAX_RETURN(STAX_DEVICE, "the CUDA driver sees no GPU (CUDA_VISIBLE_DEVICES?)");
    if (ordinal >= count)
        STAX_RETURN(STAX_DEVICE, "there is no cuda:%d: the last GPU is cuda:%d", ordinal,
                    count - 1);
    return check(cu, cu->cuDeviceGet(device, ordinal), "getting the GPU");
}

static void read_limits(const struct cuda_driver *cu, int device, struct device_info *info)
{
    size_t memory = 0;
    cu->cuDeviceTotalMem(&memory, device);
    info->memory_bytes = (int64_t)memory;
    info->cc_major = attribute(cu, CUDA_CC_MAJOR, device);
    info->cc_minor = attribute(cu, CUDA_CC_MINOR, device);
    info->processors = attribute(cu, CUDA_PROCESSORS, device);
    info->warp_size = attribute(cu, CUDA_WARP_SIZE, device);
    info->max_threads_block = attribute(cu, CUDA_MAX_THREADS_BLOCK, device);
    info->max_threads_sm = attribute(cu, CUDA_MAX_THREADS_SM, device);
    info->registers_sm = attribute(cu, CUDA_REGISTERS_SM, device);
    info->shared_block_bytes = attribute(cu, CUDA_SHARED_BLOCK_OPTIN, device);
    info->shared_sm_bytes = attribute(cu, CUDA_SHARED_SM, device);
    info->l2_bytes = attribute(cu, CUDA_L2_BYTES, device);
    info->max_grid[0] = attribute(cu, CUDA_MAX_GRID_X, device);
    info->max_grid[1] = attribute(cu, CUDA_MAX_GRID_Y, device);
    info->max_grid[2] = attribute(cu, CUDA_MAX_GRID_Z, device);
}

static enum stax_status read_device(const struct backend_options *options,
                                    const struct cuda_driver *cu, struct arena *arena,
                                    struct device_info *info)
{
    int device = 0, version = 0;
    char name[256] = "";
    const char *identity, *unused = "", *why;
    STAX_TRY(compile_nvrtc.identify(arena, &identity, &unused));
    STAX_TRY(find_device(cu, options->spec, &device));
    cu->cuDeviceGetName(name, sizeof name - 1, device);
    cu->cuDriverGetVersion(&version);
    *info = (struct device_info){.kind = DEVICE_CUDA, .compiler = identity, .timer_note = ""};
    info->spec = arena_printf(arena, "cuda:%d", ordinal_of(options->spec));
    info->name = arena_text(arena, name);
    info->uuid = uuid_of(cu, device, arena);
    read_limits(cu, device, info);
    info->arch = arch_of(info->cc_major, info->cc_minor, arena);
    bool nvml = nvml_open(info->uuid, arena, &why);
    const char *driver = nvml ? nvml_driver_version(arena) : "";
    info->driver = arena_printf(arena, "%s%sCUDA %d.%d", driver, driver[0] ? ", " : "",
                                version / 1000, version % 1000 / 10);
    return STAX_OK;
}

static enum stax_status probe(const struct backend_options *options, struct arena *arena,
                              struct device_info *info, bool *timer_ok)
{
    const struct cuda_driver *cu;
    const char *note = "";
    STAX_TRY(cuda_open(arena, &cu));
    *timer_ok = activity_open(false, arena, &note) == STAX_OK;
    if (!*timer_ok) note = arena_text(arena, status_message());
    STAX_TRY(read_device(options, cu, arena, info));
    info->timer_note = note;
    return STAX_OK;
}

static enum stax_status open_cuda(const struct backend_options *options, struct arena *arena,
                                  struct device_info *info, struct backend **result)
{
    const struct cuda_driver *cu;
    const char *note = "";
    STAX_TRY(cuda_open(arena, &cu));
    if (options->timer == TIMER_CUPTI)
        STAX_TRY(activity_open(true, arena, &note)); /* before the context */
    STAX_TRY(read_device(options, cu, arena, info));
    info->timer_note = note;
    struct backend *backend = ARENA_NEW(arena, struct backend);
    *backend = (struct backend){
        .cu = cu, .info = info, .timer = options->timer, .l2 = options->l2, .arena = arena};
    STAX_TRY(find_device(cu, options->spec, &backend->device));
    backend->top_clock_khz = attribute(cu, CUDA_CLOCK_KHZ, backend->device);
    STAX_TRY(check(cu, cu->cuDevicePrimaryCtxRetain(&backend->context, backend->device),
                   "making a context"));
    STAX_TRY(check(cu, cu->cuCtxSetCurrent(backend->context), "using the context"));
    STAX_TRY(check(cu, cu->cuStreamCreate(&backend->stream, 1),
                   "making a stream")); /* 1: not with stream 0 */
    STAX_TRY(support_load(backend, options));
    *result = backend;
    return STAX_OK;
}

/* The context goes with the process: CUPTI may still hold parts of it, and nothing comes after. */
static void close_cuda(struct backend *backend)
{
    backend->cu->cuStreamSynchronize(backend->stream);
}

static bool allocate(struct backend *backend, int64_t bytes, uint64_t *address)
{
    return backend->cu->cuMemAlloc(address, (size_t)bytes) == 0;
}

static void release(struct backend *backend, uint64_t address, int64_t bytes)
{
    (void)bytes;
    backend->cu->cuMemFree(address);
}

static bool set(struct backend *backend, uint64_t address, int byte, int64_t bytes,
                struct verdict *verdict)
{
    if (bytes == 0) return true;
    int error = backend->cu->cuMemsetD8Async(address, (unsigned char)byte, (size_t)bytes,
                                             backend->stream);
    return cuda_verdict(backend->cu, error, "setting memory", verdict);
}

static bool finish(struct backend *backend, struct verdict *verdict)
{
    return cuda_verdict(backend->cu, backend->cu->cuStreamSynchronize(backend->stream), "running",
                        verdict);
}

static bool read_back(struct backend *backend, void *to, uint64_t from, int64_t bytes,
                      struct verdict *verdict)
{
    if (bytes == 0) return true;
    return finish(backend, verdict) &&
           cuda_verdict(backend->cu, backend->cu->cuMemcpyDtoH(to, from, (size_t)bytes),
                        "reading memory", verdict);
}

static bool write_there(struct backend *backend, uint64_t to, const void *from, int64_t bytes,
                        struct verdict *verdict)
{
    if (bytes == 0) return true;
    return finish(backend, verdict) &&
           cuda_verdict(backend->cu, backend->cu->cuMemcpyHtoD(to, from, (size_t)bytes),
                        "writing memory", verdict);
}

static void state(struct backend *backend, struct backend_state *state)
{
    struct nvml_state nvml;
    struct verdict ignored = {0};
    nvml_read(&nvml);
    *state = (struct backend_state){nvml.clock_mhz, nvml.temperature_c};
    if (nvml.reasons & SLOWED && !backend->slowed)
        log_write(
            LOG_WARNING,
            "the GPU slows itself down (clock event reasons 0x%llx): times are longer than usual",
            nvml.reasons);
    backend->slowed = (nvml.reasons & SLOWED) != 0;
    double mhz = 0;
    /* 0.1 ms of work: the clock right after the batch, where NVML tells that of its last look. */
    if (support_clock(backend, 50000, &mhz, &ignored) && mhz > 0) state->clock_mhz = mhz;
}

/* CUPTI was seen to give kernels no time after 0.9 to 25 million records (docs/measuring); a new
 * process costs a second. */
static bool worn(const struct backend *backend)
{
    return backend->timer == TIMER_CUPTI && backend->launched > 500000;
}

static void describe_counters(struct text *text)
{
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        int only;
        if (sscanf(line, "RmProfilingAdminOnly: %d", &only) == 1)
            text_printf(text, "counters    %s\n",
                        only ? "for root alone (NVreg_RestrictProfilingToAdminUsers=1)"
                             : "for everybody");
    }
    if (file) fclose(file);
}

static void describe(struct text *text, struct arena *arena)
{
    const struct cuda_driver *cu;
    const char *identity, *unused = "", *note = "", *why = "";
    int count = 0, error = 0;
    bool nvrtc = compile_nvrtc.identify(arena, &identity, &unused) == STAX_OK;
    text_printf(text, "nvrtc       %s\n", nvrtc ? identity : status_message());
    if (cuda_open(arena, &cu) != STAX_OK) {
        text_printf(text, "cuda        %s\n", status_message());
        return;
    }
    bool cupti = activity_open(false, arena, &note) == STAX_OK;
    text_printf(text, "cupti       %s\n", cupti ? note : status_message());
    error = cu->cuInit(0);
    if (error == 0) error = cu->cuDeviceGetCount(&count);
    char name[128];
    if (error != 0)
        text_printf(text, "cuda        %s does not start: %s\n", cu->path,
                    cuda_error(cu, error, name));
    for (int i = 0; i < count && nvrtc; i++) {
        struct backend_options options = {.spec = arena_printf(arena, "cuda:%d", i)};
        struct device_info info;
        if (read_device(&options, cu, arena, &info) != STAX_OK) {
            text_printf(text, "cuda:%d      %s\n", i, status_message());
            continue;
        }
        text_printf(text, "cuda:%d      %s, %s, %d SMs, %.0f MB L2, %.1f GB, driver %s, %s\n", i,
                    info.name, info.arch, info.processors, (double)info.l2_bytes / 1e6,
                    (double)info.memory_bytes / 1e9, info.driver, info.uuid);
    }
    text_printf(text, "nvml        %s\n",
                count && nvml_open(uuid_of(cu, 0, arena), arena, &why) ? "found" : why);
    describe_counters(text);
}

const struct backend_ops backend_cuda = {
    .kind = DEVICE_CUDA,
    .resolution_ns = 100, /* an empty kernel takes 580 ns; records step by 32 ns (docs/measuring) */
    .probe = probe,
    .describe = describe,
    .open = open_cuda,
    .close = close_cuda,
    .allocate = allocate,
    .release = release,
    .set = set,
    .fill = support_fill,
    .all = support_all,
    .digest = support_digest,
    .compare = support_compare,
    .read = read_back,
    .write = write_there,
    .load = cuda_load,
    .bind = cuda_bind,
    .run = cuda_run,
    .finish = finish,
    .time = cuda_time,
    .settle = cuda_settle,
    .state = state,
    .worn = worn,
    .ceilings = cuda_ceilings,
};
