/* The table of backends and their verdicts; see backend.h. */
#include "measure/backend.h"

#include <stdarg.h>
#include <stdio.h>

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
