/* Other tuners' files as plain tables: Kernel Tuner caches and T4 results (both also gzipped, and
 * cut off in the middle), and T1 descriptions of a space. Part of results.h.
 *
 * A recording is indexed by the rank of a configuration in its space, which holds exactly the
 * recorded configurations. Times are read as the writers mean them: milliseconds. */
#ifndef STAX_RESULTS_IMPORT_H
#define STAX_RESULTS_IMPORT_H

#include "base/arena.h"
#include "base/space.h"
#include "base/status.h"
#include "base/trial.h"

struct recording_metric {
    const char *name;
    double value;
};

struct recording_row {
    enum outcome outcome;
    const char *message; /* the failure as the file names it, or "" */
    double time_ns;      /* the recorded time (their mean); INFINITY unless OK */
    int samples;
    const double *sample_ns; /* all recorded samples, in the order taken */
    double compile_s, verify_s,
        benchmark_s; /* recorded costs; T4 without one: the sum of the samples */
    double framework_s, strategy_s;
    double overhead_s;    /* their sum */
    int64_t time_unix_ns; /* 0 when absent */
    int metrics;          /* other numbers of the entry: "GFLOP/s", ... */
    const struct recording_metric *metric;
};

struct recording {
    const char *format; /* "Kernel Tuner cache", "T4", or "stax-tune": a run of a database */
    const char *device, *kernel, *problem, *objective; /* "" when absent; problem "4096x4096" */
    struct space *space;
    uint64_t rows; /* space_count(space) */
    struct recording_row *row;
    bool cut_off; /* the file ended early; what was complete is here */
    int warnings; /* what a reader of the file should know: a line each, without the file's name */
    const char **warning;
};

/* Reads either format, by its content. errors: STAX_IO, STAX_FORMAT naming the file and what is
 * wrong, among it a negative cost and a `timeunit` that is no unit. Warnings, one of a kind with
 * the number of entries and the first: a time of a valid entry that is not above zero, which is
 * read as OUTCOME_FAULT with the number in its message; configurations recorded more than once;
 * values that `tune_params` lacks; keys unlike their entries. */
enum stax_status import_recording(const char *path, struct arena *arena,
                                  struct recording **recording);

struct t1 {
    struct space *space;                         /* finished */
    const char *kernel, *language, *kernel_file; /* "" when absent */
    bool has_default;
    uint64_t default_config; /* of the Default values, when all are given and valid */
};

/* errors: STAX_IO, STAX_FORMAT, also for parts and Values of another type than the format's;
 * STAX_USAGE with a caret for a value list or condition that cannot
 * be read. */
enum stax_status import_t1(const char *path, struct arena *arena, struct t1 *t1);

/* The content of a file, gunzipped where it is gzip; NUL-terminated. A gzip stream that ends early
 * gives what there is, and `*cut_off`. */
enum stax_status import_read_file(const char *path, struct arena *arena, char **text,
                                  size_t *length, bool *cut_off);
/* Is this text of a T1 file? (For callers that take either.) */
bool import_is_t1(const char *text);

#endif
