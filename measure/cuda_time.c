/* Loading, launching and timing on a GPU; see cuda_device.h.
 *
 * A batch queues everything (cache treatment, launches, and so on), waits once and reads the
 * records once. The records of our own kernels are counted too, so that a lost one shows. span =
 * last end - first start of a call's launches, sum = theirs alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "measure/activity.h"
#include "measure/cuda_device.h"

enum {
    SETTLE_TURNS = 120000,     /* 8 cycles a turn: 0.5 ms at 1.98 GHz */
    SETTLE_WINDOW = 100,       /* so 0.05 s */
    SETTLE_APART = 10,         /* windows, so 0.5 s */
    SETTLE_MOST = 60,          /* 3 s */
    STATIC_SHARED = 48 * 1024, /* more dynamic shared memory has to be asked for */
    PORTABLE_CLUSTER = 8,
    CEILING_ROUNDS = 12,
};
static const int64_t ceiling_bytes = 1 << 30; /* 20 times an H200's L2 */

static void unload(void *data)
{
    struct backend_program *program = data;
    program->cu->cuModuleUnload(program->module);
}

static bool find_entry(struct backend *backend, const struct job_launch *source,
                       struct backend_program *program, struct cuda_launch *launch,
                       struct verdict *verdict)
{
    const struct cuda_driver *cu = backend->cu;
    int error = cu->cuModuleGetFunction(&launch->function, program->module, source->entry);
    if (error != 0) return verdict_set(verdict, OUTCOME_LAUNCH, "has no entry %s", source->entry);
    for (int k = 0; k < 3; k++) {
        if (source->grid[k] < 1 || source->grid[k] > UINT32_MAX || source->block[k] < 1)
            return verdict_set(verdict, OUTCOME_LAUNCH,
                               "%s has a grid of %lld x %lld x %lld and blocks of %d x %d x %d",
                               source->entry, (long long)source->grid[0],
                               (long long)source->grid[1], (long long)source->grid[2],
                               source->block[0], source->block[1], source->block[2]);
        launch->config.grid[k] = (unsigned int)source->grid[k];
        launch->config.block[k] = (unsigned int)source->block[k];
    }
    if (source->shared_bytes > backend->info->shared_block_bytes)
        return verdict_set(verdict, OUTCOME_RESOURCE,
                           "%s wants %lld bytes of shared memory, the device has %lld",
                           source->entry, (long long)source->shared_bytes,
                           (long long)backend->info->shared_block_bytes);
    launch->config.shared_bytes = (unsigned int)source->shared_bytes;
    launch->config.stream = backend->stream;
    if (source->shared_bytes == 0) return true;
    error = cu->cuFuncSetAttribute(launch->function, CUDA_FUNC_MAX_DYNAMIC_SHARED,
                                   (int)source->shared_bytes);
    if (error == 0 || (source->shared_bytes <= STATIC_SHARED && error == 1)) return true;
    if (!cuda_verdict(cu, error, source->entry, verdict) && !verdict->spent)
        verdict->outcome = OUTCOME_RESOURCE;
    return false;
}

static bool set_cluster(struct backend *backend, const struct job_launch *source,
                        struct cuda_launch *launch, struct verdict *verdict)
{
    const int *size = source->cluster;
    if (size[0] <= 1 && size[1] <= 1 && size[2] <= 1) return true;
    if (!backend->cu->cuLaunchKernelEx)
        return verdict_set(verdict, OUTCOME_LAUNCH,
                           "clusters need a driver for CUDA 11.8 or later");
    int *axis[] = {(int *)&launch->cluster.value.cluster.x, (int *)&launch->cluster.value.cluster.y,
                   (int *)&launch->cluster.value.cluster.z};
    int blocks = 1;
    for (int k = 0; k < 3; k++) {
        *axis[k] = size[k] > 1 ? size[k] : 1;
        blocks *= *axis[k];
    }
    launch->cluster.id = CUDA_LAUNCH_CLUSTER;
    launch->config.attributes = &launch->cluster;
    launch->config.attribute_count = 1;
    if (blocks <= PORTABLE_CLUSTER) return true;
    int error = backend->cu->cuFuncSetAttribute(launch->function, CUDA_FUNC_NON_PORTABLE_CLUSTER,
                                                1);
    return cuda_verdict(backend->cu, error, source->entry, verdict);
}

bool cuda_load(struct backend *backend, const char *path, const struct job_program *source,
               struct arena *arena, struct backend_program **result, struct verdict *verdict)
{
    struct artifact artifact;
    struct arena *scratch = arena_create();
    void *module = NULL;
    int error = -1;
    if (artifact_read(path, scratch, &artifact) == STAX_OK)
        error = backend->cu->cuModuleLoadData(&module, artifact.binary);
    arena_destroy(scratch);
    if (error < 0)
        return verdict_set(verdict, OUTCOME_LAUNCH, "cannot be read: %s", status_message());
    if (error != 0) return cuda_verdict(backend->cu, error, "loading", verdict);
    struct backend_program *program = ARENA_NEW(arena, struct backend_program);
    *program = (struct backend_program){
        .cu = backend->cu, .source = source, .module = module, .launches = source->launches};
    arena_defer(arena, unload, program);
    program->launch = ARENA_ARRAY(arena, struct cuda_launch, source->launches);
    program->values = ARENA_ARRAY(arena, uint64_t *, source->launches);
    for (int i = 0; i < source->launches; i++) {
        const struct job_launch *from = &source->launch[i];
        struct cuda_launch *launch = &program->launch[i];
        launch->params = ARENA_ARRAY(arena, void *, from->args);
        program->values[i] = ARENA_ARRAY(arena, uint64_t, from->args);
        for (int k = 0; k < from->args; k++) launch->params[k] = &program->values[i][k];
        if (!find_entry(backend, from, program, launch, verdict) ||
            !set_cluster(backend, from, launch, verdict))
            return false;
    }
    *result = program;
    return true;
}

void cuda_bind(struct backend_program *program, const uint64_t *addresses)
{
    for (int i = 0; i < program->launches; i++) {
        const struct job_launch *launch = &program->source->launch[i];
        for (int k = 0; k < launch->args; k++)
            program->values[i][k] = backend_argument(&launch->arg[k], addresses);
    }
}

static int launch_one(struct backend *backend, const struct cuda_launch *launch)
{
    const struct cuda_driver *cu = backend->cu;
    const struct cuda_launch_config *c = &launch->config;
    int error = c->attribute_count
                    ? cu->cuLaunchKernelEx(c, launch->function, launch->params, NULL)
                    : cu->cuLaunchKernel(launch->function, c->grid[0], c->grid[1], c->grid[2],
                                         c->block[0], c->block[1], c->block[2], c->shared_bytes,
                                         c->stream, launch->params, NULL);
    backend->launched += error == 0;
    return error;
}

bool cuda_run(struct backend *backend, struct backend_program *program, struct verdict *verdict)
{
    for (int i = 0; i < program->launches; i++) {
        int error = launch_one(backend, &program->launch[i]);
        if (error == 0) continue;
        const char *what = program->source ? program->source->launch[i].entry : "our own kernel";
        return cuda_verdict(backend->cu, error, what, verdict);
    }
    return true;
}

static bool make_flush(struct backend *backend, struct verdict *verdict)
{
    if (backend->flush || backend->l2 == L2_WARM) return true;
    int64_t bytes = backend->l2 == L2_DIRTY ? 256ll << 20 : 2 * backend->info->l2_bytes;
    int error = backend->cu->cuMemAlloc(&backend->flush, (size_t)bytes);
    if (error == 0)
        error = backend->cu->cuMemsetD8Async(backend->flush, 0, (size_t)bytes, backend->stream);
    backend->flush_bytes = bytes;
    return cuda_verdict(backend->cu, error, "the buffer that clears the cache", verdict);
}

/* Before a call, outside its time: read twice the L2 (clean lines), or write 256 MB (dirty lines).
 */
static bool treat_cache(struct backend *backend, struct verdict *verdict)
{
    int64_t quads = backend->flush_bytes / 16;
    if (backend->l2 == L2_COLD) {
        void *params[] = {&backend->flush, &quads, &backend->result};
        return support_launch(backend, SUPPORT_READ, params, verdict);
    }
    void *params[] = {&backend->flush, &quads};
    return backend->l2 == L2_WARM || support_launch(backend, SUPPORT_WRITE, params, verdict);
}

static bool wait_stream(struct backend *backend, struct verdict *verdict)
{
    return cuda_verdict(backend->cu, backend->cu->cuStreamSynchronize(backend->stream), "running",
                        verdict);
}

/* Is this a record of that launch? By grid and block: names go stale when modules are unloaded. */
static bool record_of(const struct activity_kernel *record, const struct cuda_launch *launch)
{
    for (int k = 0; k < 3; k++) {
        if (record->shape[k] != launch->config.grid[k] ||
            record->shape[3 + k] != launch->config.block[k])
            return false;
    }
    return true;
}

/* Gives the records to the slots, in the order of launches. */
static bool share_out(struct backend *backend, const struct activity_kernel *record, int slots,
                      struct backend_slot *slot, struct verdict *verdict)
{
    uint64_t treatment = support_name(backend->l2 == L2_DIRTY ? SUPPORT_WRITE : SUPPORT_READ);
    for (int i = 0; i < slots; i++) {
        const struct backend_program *program = slot[i].program;
        bool right = backend->l2 == L2_WARM || (record++)->name == treatment;
        uint64_t first = UINT64_MAX, last = 0, sum = 0;
        for (int k = 0; k < program->launches; k++, record++) {
            right = right && record_of(record, &program->launch[k]);
            sum += record->end_ns - record->start_ns;
            if (record->start_ns < first) first = record->start_ns;
            if (record->end_ns > last) last = record->end_ns;
        }
        if (!right)
            return verdict_set(verdict, OUTCOME_UNSTABLE, "CUPTI's records are of other kernels");
        slot[i].span_ns = (double)(last - first);
        slot[i].sum_ns = (double)sum;
    }
    return true;
}

static bool time_by_activity(struct backend *backend, int slots, struct backend_slot *slot,
                             struct verdict *verdict)
{
    int kernels = 0;
    for (int i = 0; i < slots; i++) kernels += slot[i].program->launches + (backend->l2 != L2_WARM);
    if (!wait_stream(backend, verdict)) return false;
    activity_begin(backend->launched);
    for (int i = 0; i < slots; i++) {
        if (!treat_cache(backend, verdict) || !cuda_run(backend, slot[i].program, verdict))
            return false;
    }
    if (!wait_stream(backend, verdict)) return false;
    const char *why = "";
    const struct activity_kernel *records = activity_take(kernels, &why);
    if (!records) return verdict_set(verdict, OUTCOME_UNSTABLE, "%s", why);
    return share_out(backend, records, slots, slot, verdict);
}

static bool make_events(struct backend *backend, int count, struct verdict *verdict)
{
    if (count > backend->events)
        backend->event = arena_grow(backend->arena, backend->event, (size_t)backend->events,
                                    2 * (size_t)count, sizeof *backend->event);
    for (; backend->events < count; backend->events++) {
        int error = backend->cu->cuEventCreate(&backend->event[backend->events], 0);
        if (error != 0) return cuda_verdict(backend->cu, error, "making an event", verdict);
    }
    return true;
}

static bool time_by_events(struct backend *backend, int slots, struct backend_slot *slot,
                           struct verdict *verdict)
{
    const struct cuda_driver *cu = backend->cu;
    if (!make_events(backend, 2 * slots, verdict)) return false;
    for (int i = 0; i < slots; i++) {
        if (!treat_cache(backend, verdict)) return false;
        int error = cu->cuEventRecord(backend->event[2 * i], backend->stream);
        if (error == 0 && !cuda_run(backend, slot[i].program, verdict)) return false;
        if (error == 0) error = cu->cuEventRecord(backend->event[2 * i + 1], backend->stream);
        if (error != 0) return cuda_verdict(cu, error, "recording an event", verdict);
    }
    if (!wait_stream(backend, verdict)) return false;
    for (int i = 0; i < slots; i++) {
        float ms = 0;
        int error = cu->cuEventElapsedTime(&ms, backend->event[2 * i], backend->event[2 * i + 1]);
        if (error != 0) return cuda_verdict(cu, error, "reading an event", verdict);
        slot[i].span_ns = slot[i].sum_ns = 1e6 * (double)ms;
    }
    return true;
}

bool cuda_time(struct backend *backend, int slots, struct backend_slot *slot,
               struct verdict *verdict)
{
    if (!make_flush(backend, verdict)) return false;
    return backend->timer == TIMER_CUPTI ? time_by_activity(backend, slots, slot, verdict)
                                         : time_by_events(backend, slots, slot, verdict);
}

/* Runs a fixed kernel until its clock moves less than 1 % over half a second, at most 3 s. A device
 * that shows its highest clock from the start needs to be watched for 0.1 s only. */
bool cuda_settle(struct backend *backend, struct verdict *verdict)
{
    double median[SETTLE_MOST];
    for (int w = 0; w < SETTLE_MOST; w++) {
        double mhz[SETTLE_WINDOW];
        for (int i = 0; i < SETTLE_WINDOW; i++) {
            if (!support_clock(backend, SETTLE_TURNS, &mhz[i], verdict)) return false;
        }
        median[w] = stats_median(mhz, SETTLE_WINDOW);
        bool at_top = w >= 1 && 1e3 * median[w] >= 0.98 * backend->top_clock_khz;
        int apart = at_top ? 1 : SETTLE_APART;
        if (w >= apart && fabs(median[w] / median[w - apart] - 1) < 0.01) return true;
    }
    return true;
}

/* A program of one of our own kernels, for the ceilings. */
static void own_program(struct backend *backend, enum support_kernel kernel, int blocks_sm,
                        int threads, void **params, struct cuda_launch *launch,
                        struct backend_program *program)
{
    *launch = (struct cuda_launch){.function = backend->support[kernel], .params = params};
    launch->config = (struct cuda_launch_config){
        .grid = {(unsigned int)(backend->info->processors * blocks_sm), 1, 1},
        .block = {(unsigned int)threads, 1, 1},
        .stream = backend->stream,
    };
    *program = (struct backend_program){.cu = backend->cu, .launches = 1, .launch = launch};
}

/* The best of a few rounds and grids: a ceiling is what can be reached. */
static bool best_rate(struct backend *backend, enum support_kernel kernel, void **params,
                      double bytes, double *rate, struct verdict *verdict)
{
    static const struct {
        int blocks_sm, threads;
    } shapes[] = {{2, 512},  {4, 512},   {8, 512},   {16, 512},
                  {64, 512}, {256, 512}, {512, 256}, {128, 1024}};
    for (size_t g = 0; g < STAX_COUNT(shapes); g++) {
        struct cuda_launch launch;
        struct backend_program program;
        struct backend_slot slot[CEILING_ROUNDS];
        own_program(backend, kernel, shapes[g].blocks_sm, shapes[g].threads, params, &launch,
                    &program);
        for (int i = 0; i < CEILING_ROUNDS; i++)
            slot[i] = (struct backend_slot){.program = &program};
        if (!cuda_time(backend, CEILING_ROUNDS, slot, verdict)) return false;
        for (int i = 1; i < CEILING_ROUNDS; i++) {
            double now = bytes / (1e-9 * slot[i].span_ns);
            if (now > *rate) *rate = now;
        }
    }
    return true;
}

bool cuda_ceilings(struct backend *backend, double *copy_bytes_s, double *read_bytes_s,
                   struct verdict *verdict)
{
    const struct cuda_driver *cu = backend->cu;
    int64_t bytes = backend->info->memory_bytes / 8 < ceiling_bytes
                        ? backend->info->memory_bytes / 8
                        : ceiling_bytes;
    int64_t quads = bytes / 16;
    uint64_t from = 0, to = 0;
    int error = cu->cuMemAlloc(&from, (size_t)bytes);
    if (error == 0) error = cu->cuMemAlloc(&to, (size_t)bytes);
    if (error == 0) error = cu->cuMemsetD8Async(from, 0, (size_t)bytes, backend->stream);
    bool good = cuda_verdict(cu, error, "buffers for the ceilings", verdict);
    void *copy[] = {&to, &from, &quads}, *read[] = {&from, &quads, &backend->result};
    *copy_bytes_s = *read_bytes_s = 0;
    good = good && cuda_settle(backend, verdict) &&
           best_rate(backend, SUPPORT_COPY, copy, 2.0 * (double)bytes, copy_bytes_s, verdict) &&
           best_rate(backend, SUPPORT_READ, read, (double)bytes, read_bytes_s, verdict);
    if (from) cu->cuMemFree(from);
    if (to) cu->cuMemFree(to);
    return good;
}
