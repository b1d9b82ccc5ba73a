/* Stax Tune's public interface: the one installed header. The command line is written on it alone.
 *
 * A tuner holds options by name and runs commands; text, progress and messages leave through
 * callbacks, so a program embeds it as the command line does. Only opaque handles, numbers and
 * strings cross; a struct that may grow begins with its size. */
#ifndef STAX_TUNE_H
#define STAX_TUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAX_API     __attribute__((visibility("default")))
#define STAX_VERSION "0.1.0"

typedef struct stax_tuner stax_tuner;

/* Exit statuses of stax_run and of the program. Pinned. */
enum stax_exit {
    STAX_EXIT_OK = 0,
    STAX_EXIT_FAILED = 1,     /* the run failed: device, file or worker */
    STAX_EXIT_USAGE = 2,      /* the message names what to do */
    STAX_EXIT_NOTHING = 3,    /* nothing passed verification */
    STAX_EXIT_REGRESSION = 4, /* a comparison found a regression */
    STAX_EXIT_UNSURE = 5,     /* a comparison could not decide, with --strict */
    STAX_EXIT_INTERRUPTED = 130,
};

STAX_API const char *stax_version(void); /* that of the library: compare with STAX_VERSION */
STAX_API stax_tuner *stax_create(void);
STAX_API void stax_destroy(stax_tuner *tuner); /* NULL allowed */

/* The tables behind --help. Returns 0 past the end; strings are static. `argument` is NULL for a
 * switch. */
STAX_API int stax_option_row(int row, const char **name, const char **argument,
                             const char **fallback, const char **commands, const char **help);
STAX_API int stax_command_row(int row, const char **name, const char **usage, const char **summary);

/* Sets an option ("strategy", "hyperband"); a repeatable one appends. Value NULL for a switch.
 * STAX_EXIT_USAGE when unknown or bad. */
STAX_API int stax_set(stax_tuner *tuner, const char *option, const char *value);

/* Runs a command ("tune", "list", ...) with its positional arguments. Returns a stax_exit;
 * stax_message says why it is not 0. */
STAX_API int stax_run(stax_tuner *tuner, const char *command, int count,
                      const char *const *arguments);
STAX_API const char *
stax_message(const stax_tuner *tuner); /* "" when there is none; valid until the next call */
/* The JSON document of the last tune (schema 1, docs/json.md), NULL before. */
STAX_API const char *stax_json(const stax_tuner *tuner);

/* Text for a person. stream 1: results; 2: progress lines and warnings. Text holds its own
 * newlines. */
STAX_API void stax_on_text(stax_tuner *tuner,
                           void (*write)(void *data, int stream, const char *text), void *data);

struct stax_progress {
    size_t struct_size;
    const char *phase;      /* "search", "finals", "opening" */
    uint64_t trials, limit; /* configurations done; limit 0: by time */
    double elapsed_s, limit_s;
    double best_us, default_us; /* NAN while unknown */
    double roof_frac;           /* best's share of the measured copy bandwidth; NAN while unknown */
    const char *best;           /* "XBLOCK=8, ..." or "" */
};
STAX_API void stax_on_progress(stax_tuner *tuner,
                               void (*show)(void *data, const struct stax_progress *progress),
                               void *data);
/* Asks the running command to stop after the trial in flight and keep everything.
 * Async-signal-safe. */
STAX_API void stax_interrupt(stax_tuner *tuner);

#ifdef __cplusplus
}
#endif
#endif
