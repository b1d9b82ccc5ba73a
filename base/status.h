/* Status codes, the error message of the thread, and the checks that abort.
 *
 * Three kinds of failure are never mixed: a broken program aborts (STAX_CHECK); a failed operation
 * returns a status and leaves one line of text (STAX_RETURN); a bad candidate is no failure but a
 * trial with an outcome. */
#ifndef STAX_BASE_STATUS_H
#define STAX_BASE_STATUS_H

#include <stdbool.h>

/* Values are pinned: they cross process borders. */
enum stax_status {
    STAX_OK = 0,
    STAX_USAGE = 1, /* the user asked for something that cannot be; the message names what to do */
    STAX_NOTFOUND = 2,    /* a named thing does not exist */
    STAX_IO = 3,          /* a file or process could not be read, written or started */
    STAX_FORMAT = 4,      /* a file is not what it should be */
    STAX_DEVICE = 5,      /* the device or its context is gone or absent */
    STAX_LIMIT = 6,       /* a stated limit was passed */
    STAX_UNSUPPORTED = 7, /* legal, but this build or device does not offer it */
    STAX_CANCELLED = 8,
    STAX_INTERNAL = 9,
};

/* Sets this thread's message and returns `status`. The message is one line without a final stop. */
enum stax_status status_set(enum stax_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts "prefix: " before the present message; keeps `status`. */
enum stax_status status_prefix(enum stax_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *status_message(void); /* never NULL; "" when nothing was set */
const char *status_name(enum stax_status status);

#define STAX_RETURN(status, ...) return status_set((status), __VA_ARGS__)
#define STAX_TRY(call)                              \
    do {                                            \
        enum stax_status stax_try_ = (call);        \
        if (stax_try_ != STAX_OK) return stax_try_; \
    } while (0)

_Noreturn void status_abort(const char *file, int line, const char *text);
/* Always on: a broken program stops here, with file and line. */
#define STAX_CHECK(x) ((x) ? (void)0 : status_abort(__FILE__, __LINE__, #x))

#define STAX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
