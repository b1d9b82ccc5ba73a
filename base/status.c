/* The thread's message; see status.h. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 4096 };

static _Thread_local char message[MESSAGE_BYTES];

enum stax_status status_set(enum stax_status status, const char *format, ...)
{
    char fresh[MESSAGE_BYTES]; /* arguments may point into the old message */
    va_list args;
    va_start(args, format);
    vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    memcpy(message, fresh, sizeof message);
    return status;
}

enum stax_status status_prefix(enum stax_status status, const char *format, ...)
{
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    if (used < 0) used = 0;
    if ((size_t)used < sizeof fresh)
        snprintf(fresh + used, sizeof fresh - (size_t)used, ": %s", message);
    memcpy(message, fresh, sizeof message);
    return status;
}

const char *status_message(void)
{
    return message;
}

const char *status_name(enum stax_status status)
{
    static const char *const names[] = {"ok",     "usage", "not found",   "i/o",       "format",
                                        "device", "limit", "unsupported", "cancelled", "internal"};
    return (size_t)status < STAX_COUNT(names) ? names[status] : "unknown";
}

_Noreturn void status_abort(const char *file, int line, const char *text)
{
    fprintf(stderr,
            "stax-tune: internal error at %s:%d: %s; please report this with the command line\n",
            file, line, text);
    abort();
}
