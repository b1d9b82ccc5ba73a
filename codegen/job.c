/* Assembles the job of a configuration: buffers of every launch, the tuned program, the reference
 * beside it (book 9.7). */
#include "codegen/emit.h"

#include "base/rng.h"

struct assembly {
    const struct cg_kernel *cg;
    const struct plan *plan;
    const struct device_info *device;
    struct arena *arena;
    struct job *job;
    int capacity;
    int *of_buffer; /* job buffer of each buffer of the plan's program */
};

int job_add_buffer(struct job *job, int *capacity, struct job_buffer buffer, struct arena *arena)
{
    if (job->buffers == *capacity) {
        *capacity = *capacity < 8 ? 8 : 2 * *capacity;
        job->buffer = arena_grow(arena, job->buffer, (size_t)job->buffers, (size_t)*capacity,
                                 sizeof buffer);
    }
    job->buffer[job->buffers] = buffer;
    return job->buffers++;
}

static int add_buffer(struct assembly *a, struct job_buffer buffer)
{
    return job_add_buffer(a->job, &a->capacity, buffer, a->arena);
}

static void add_program_buffers(struct assembly *a, uint64_t seed)
{
    const struct ir_program *program = a->plan->program;
    static const enum job_role role[] = {JOB_INPUT, JOB_OUTPUT, JOB_SCRATCH};
    a->of_buffer = ARENA_ARRAY(a->arena, int, program->buffers);
    for (int b = 0; b < program->buffers; b++) {
        const struct ir_buffer *from = &program->buffer[b];
        struct job_buffer to = {.name = from->name,
                                .role = role[from->role],
                                .dtype = from->dtype,
                                .elements = from->elements,
                                .pair = -1};
        for (int i = 0; i < a->cg->inputs; i++)
            if (a->cg->input[i].buffer == b) {
                to.fill = JOB_FILL_UNIFORM;
                to.low = a->cg->input[i].low;
                to.high = a->cg->input[i].high;
                to.seed = rng_mix(seed + (uint64_t)i);
            }
        a->of_buffer[b] = add_buffer(a, to);
    }
}

static void add_launches(struct assembly *a)
{
    const struct plan *plan = a->plan;
    bool cuda = a->device->kind == DEVICE_CUDA;
    struct job_program *program = &a->job->program;
    program->launches = plan->kernels;
    program->launch = ARENA_ARRAY(a->arena, struct job_launch, plan->kernels);
    for (int i = 0; i < plan->kernels; i++) {
        const struct plan_kernel *k = &plan->kernel[i];
        struct job_launch *launch = &program->launch[i];
        *launch = (struct job_launch){.entry = k->entry, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        if (cuda) {
            cuda_grid(k, launch->grid);
            launch->block[0] = k->threads;
            launch->shared_bytes = cuda_shared_bytes(k);
        }
        launch->arg = ARENA_ARRAY(a->arena, struct job_arg, k->args + 1);
        for (int n = 0; n < k->args; n++)
            launch->arg[n] = (struct job_arg){.kind = JOB_ARG_BUFFER,
                                              .buffer = a->of_buffer[k->arg[n]]};
        launch->args = k->args;
        if (k->fold != NULL) {
            int counter = add_buffer(
                a, (struct job_buffer){.name = arena_printf(a->arena, "counter%d", i),
                                       .role = JOB_COUNTER,
                                       .dtype = DTYPE_I32,
                                       .elements = k->counter,
                                       .pair = -1});
            launch->arg[launch->args++] = (struct job_arg){.kind = JOB_ARG_BUFFER,
                                                           .buffer = counter};
        }
    }
}

/* One option a line. C: vectors need if-conversion of selects (no trapping) and no errno; never
 * -ffast-math, which would change NaN and the order of sums behind the reference's bound. */
static const char *options(const struct device_info *device)
{
    if (device->kind == DEVICE_CUDA) return "-std=c++17";
    return "-std=gnu11\n-O3\n-march=native\n-fopenmp\n-fno-math-errno\n-fno-trapping-math\n-ffp-"
           "contract=fast";
}

enum stax_status cg_job(const struct cg_kernel *cg, const struct device_info *device,
                        const struct space *space, uint64_t config, uint64_t seed,
                        struct arena *arena, struct job **out)
{
    struct plan_values *values;
    STAX_TRY(plan_values_read(cg, device, space, config, arena, &values));
    struct plan *plan;
    STAX_TRY(plan_make(cg, device, values, arena, &plan));
    struct job *job = ARENA_NEW(arena, struct job);
    job->kernel = cg->problem;
    job->device = device->kind;
    job->arch = device->arch;
    job->bytes = cg->bytes;
    job->flop = cg->flop;
    struct assembly a = {.cg = cg, .plan = plan, .device = device, .arena = arena, .job = job};
    add_program_buffers(&a, seed);
    add_launches(&a);
    if (device->kind == DEVICE_CUDA)
        STAX_TRY(emit_cuda(plan, arena, &job->program.source));
    else
        STAX_TRY(emit_c(plan, arena, &job->program.source));
    job->program.options = options(device);
    STAX_TRY(emit_reference(cg, device, arena, job, &a.capacity, a.of_buffer));
    *out = job;
    return STAX_OK;
}
