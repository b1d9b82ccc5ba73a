/* One process-wide sink; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void (*sink_call)(void *, enum log_level, const char *);
static void *sink_data;

void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data)
{
    sink_call = sink;
    sink_data = data;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!sink_call) return;
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    sink_call(sink_data, level, line);
}
