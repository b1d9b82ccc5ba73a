/* Hand-made jobs: y[i] = sum_k x[i][k]^2, as code generation would hand them over, with sources
 * that go wrong in one way. */
#ifndef STAX_TESTS_DEVICE_MEASURE_JOB_H
#define STAX_TESTS_DEVICE_MEASURE_JOB_H

#include <string.h>

#include "base/job.h"
#include "measure/measure.h"

enum { JOB_X, JOB_Y, JOB_REF_Y, JOB_BOUND_Y, JOB_COUNT_BUFFERS };

static inline struct job_program make_program(struct arena *arena, const char *source,
                                              const char *entry, int64_t grid, int block, int args,
                                              const int *buffers)
{
    struct job_launch *launch = ARENA_NEW(arena, struct job_launch);
    *launch = (struct job_launch){
        .entry = entry, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .args = args};
    launch->arg = ARENA_ARRAY(arena, struct job_arg, args);
    for (int i = 0; i < args; i++)
        launch->arg[i] = (struct job_arg){.kind = JOB_ARG_BUFFER, .buffer = buffers[i]};
    return (struct job_program){.source = source, .options = "", .launches = 1, .launch = launch};
}

static inline struct job make_job(struct arena *arena, const struct device_info *info, int rows,
                                  int columns, const char *source, const char *reference,
                                  int64_t grid, int block)
{
    struct job job = {.kernel = "sum_of_squares",
                      .device = info->kind,
                      .arch = info->arch,
                      .buffers = JOB_COUNT_BUFFERS};
    job.buffer = ARENA_ARRAY(arena, struct job_buffer, JOB_COUNT_BUFFERS);
    job.buffer[JOB_X] = (struct job_buffer){.name = "x",
                                            .role = JOB_INPUT,
                                            .dtype = DTYPE_F32,
                                            .elements = (int64_t)rows * columns,
                                            .fill = JOB_FILL_UNIFORM,
                                            .low = -1,
                                            .high = 1,
                                            .seed = 7};
    job.buffer[JOB_Y] = (struct job_buffer){
        .name = "y", .role = JOB_OUTPUT, .dtype = DTYPE_F32, .elements = rows};
    job.buffer[JOB_REF_Y] = (struct job_buffer){
        .name = "y.ref", .role = JOB_REF_OUT, .dtype = DTYPE_F64, .elements = rows, .pair = JOB_Y};
    job.buffer[JOB_BOUND_Y] = (struct job_buffer){.name = "y.bound",
                                                  .role = JOB_REF_BOUND,
                                                  .dtype = DTYPE_F64,
                                                  .elements = rows,
                                                  .pair = JOB_Y};
    static const int tuned[] = {JOB_X, JOB_Y}, checked[] = {JOB_X, JOB_REF_Y, JOB_BOUND_Y};
    job.program = make_program(arena, source, "tuned", grid, block, 2, tuned);
    job.reference = make_program(arena, reference, "reference", rows, 1, 3, checked);
    job.bytes = 4.0 * rows * columns + 4.0 * rows;
    job.flop = 2.0 * rows * columns;
    return job;
}

/* Submits and waits. */
static inline enum stax_status measure_now(struct measure *measure, const struct job *job,
                                           const struct measure_plan *plan, struct arena *arena,
                                           struct trial *trial)
{
    uint64_t ticket = UINT64_MAX;
    STAX_TRY(measure_submit(measure, 5, job, plan));
    while (ticket == UINT64_MAX) STAX_TRY(measure_next(measure, 1.0, arena, &ticket, trial));
    return ticket == 5 ? STAX_OK : STAX_INTERNAL;
}

#endif
