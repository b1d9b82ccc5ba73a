/* Private to tuner/: the tuner's state, option access, and what the commands share. */
#ifndef STAX_TUNER_TUNER_H
#define STAX_TUNER_TUNER_H

#include <signal.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/space.h"
#include "base/status.h"
#include "base/text.h"
#include "base/trial.h"
#include "codegen/codegen.h"
#include "measure/measure.h"
#include "results/results.h"
#include "search/search.h"
#include "tuner/stax_tune.h"

enum option {
#define OPTION(id, name, argument, fallback, repeat, commands, help) OPTION_##id,
#include "tuner/options.def"
#undef OPTION
    OPTION_COUNT
};

struct option_values {
    int count;
    const char **text;
};

struct stax_tuner {
    struct arena *arena; /* options and the last result */
    struct option_values option[OPTION_COUNT];
    volatile sig_atomic_t interrupted;
    char *message;
    const char *json;
    void (*write)(void *data, int stream, const char *text);
    void *write_data;
    void (*show)(void *data, const struct stax_progress *progress);
    void *show_data;
};

/* ---- options.c ---- */
bool option_given(const stax_tuner *tuner, enum option option);
const char *option_text(const stax_tuner *tuner,
                        enum option option); /* given, else the default, else NULL */
enum stax_status option_int(const stax_tuner *tuner, enum option option, int64_t low, int64_t high,
                            int64_t *value);
enum stax_status option_real(const stax_tuner *tuner, enum option option, double low, double high,
                             double *value);
/* The option's value as a row of `names`; `absent` when not given. STAX_USAGE lists the names. */
enum stax_status option_choice(const stax_tuner *tuner, enum option option,
                               const char *const *names, int count, int absent, int *value);

/* ---- output.c ---- */
void say(stax_tuner *tuner, int stream, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A table of text cells with aligned columns; cells[row * columns + column]; row 0 is the heading.
 */
void say_table(stax_tuner *tuner, int stream, int columns, int rows, const char *const *cells);
/* Writes a document to the path of --json ("-": results stream). */
enum stax_status write_document(stax_tuner *tuner, const char *path, const char *document);
/* A whole file, byte by byte, under a temporary name and renamed. */
enum stax_status write_file(const char *path, const char *bytes, size_t length);
/* STAX_IO when the folder of `path` cannot be written to; NULL and "-" are good. */
enum stax_status check_document(const char *path);
/* "3.46 us", "1.2 ms": four significant digits. */
char *time_text(double ns, struct arena *arena);

/* ---- setup.c: what tune, show and bench open ---- */
struct setup {
    struct arena *arena;
    struct cg_kernel *kernel; /* NULL for a replay of a foreign kernel */
    struct measure *measure;  /* NULL for show */
    struct replay *replay;    /* NULL unless replaying */
    const struct device_info *device;
    const struct space *space;
    struct cg_candidates candidates;
    uint64_t seed;
    const char *name, *problem, *source;
    double bytes, flop;
};

enum stax_status setup_kernel(stax_tuner *tuner, struct arena *arena, struct setup *setup);
/* A replay without a named kernel: of what was recorded, by another tuner perhaps. */
bool setup_foreign(const stax_tuner *tuner);
/* Options for measuring from the command line's. */
enum stax_status setup_measure_options(stax_tuner *tuner, struct measure_options *options);
/* Kernel, device, space and candidates; `starting` may be NULL. */
enum stax_status setup_open(stax_tuner *tuner, struct arena *arena,
                            void (*starting)(void *, uint64_t), void *data, struct setup *setup);
enum stax_status setup_job(const struct setup *setup, uint64_t config, struct arena *arena,
                           struct job **job);
/* Fresh worker processes on the same device; what was queued is gone. */
enum stax_status setup_reopen(stax_tuner *tuner, struct setup *setup);
void setup_close(struct setup *setup);
/* Says what a reader of another tuner's file should know; NULL: nothing. */
void warn_of_recording(const char *path, const struct recording *recording);

/* ---- command_results.c ---- */
/* --run, else the latest. STAX_NOTFOUND. */
enum stax_status results_chosen_run(stax_tuner *tuner, struct db *db, struct arena *arena,
                                    uint64_t *run);

/* ---- one function a command; arguments after the command's name ---- */
#define COMMAND(name, usage, summary)                                                           \
    enum stax_status command_##name(stax_tuner *tuner, int count, const char *const *arguments, \
                                    int *exit_code);
#include "tuner/commands.def"
#undef COMMAND

#endif
