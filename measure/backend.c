/* The table of backends and their verdicts; see backend.h. */
#include "measure/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool verdict_set(struct verdict *verdict, enum outcome outcome, const char *format, ...)
{
    va_list args;
    char fresh[VERDICT_BYTES]; /* arguments may point into the old message */
    va_start(args, format);
    vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    *verdict = (struct verdict){.outcome = outcome};
    snprintf(verdict->message, sizeof verdict->message, "%s", fresh);
    return false;
}

const struct backend_ops *backend_of(enum device_kind kind)
{
    return kind == DEVICE_CUDA ? &backend_cuda : &backend_cpu;
}

uint64_t backend_argument(const struct job_arg *arg, const uint64_t *addresses)
{
    uint64_t bits = 0;
    int32_t i32 = (int32_t)arg->i;
    float f32 = (float)arg->f;
    switch (arg->kind) {
    case JOB_ARG_BUFFER: return addresses[arg->buffer];
    case JOB_ARG_I64: return (uint64_t)arg->i;
    case JOB_ARG_I32: memcpy(&bits, &i32, sizeof i32); break;
    case JOB_ARG_F32: memcpy(&bits, &f32, sizeof f32); break;
    }
    return bits;
}
