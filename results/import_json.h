/* Private to import*.c: JSON documents, and the table that a recording is made from. */
#ifndef STAX_RESULTS_IMPORT_JSON_H
#define STAX_RESULTS_IMPORT_JSON_H

#include <jansson.h>

#include "results/import.h"

/* Parses a file. One that ends early is closed behind its last complete entry of depth 2 (a
 * configuration in both recorded formats) and `*cut_off` is set. `*repeated`: objects of depth 2
 * that a later one of the same key replaced. The document lives as long as the arena. */
enum stax_status import_parse(const char *path, struct arena *arena, const json_t **root,
                              bool *cut_off, uint64_t *repeated);

/* A scalar or list as a value; false for null and objects. Texts point into the document. */
bool import_value(const json_t *json, struct arena *arena, struct value *value);
double import_number(const json_t *object, const char *key, double absent);
const char *import_string(const json_t *object, const char *key); /* "" when absent or no text */
int64_t import_time(
    const char *text); /* "2023-12-22 09:54:05.502007+00:00" in ns since 1970; 0 when it is none */
enum outcome import_outcome(const char *failure); /* by the names other tuners use */
/* The outcome and message that our exports add where the other format's words do not say them. */
void import_own_failure(const char *outcome, const char *message, struct recording_row *row);
/* The metric of a row under construction: a number under a name of the document. */
void import_metric(const char *name, const json_t *number, struct recording_metric *metric,
                   int *count);

/* Entries with the same fault: how many, and the name of the first. */
struct import_oddity {
    uint64_t count;
    const char *first;
};
void import_odd(struct import_oddity *oddity, const char *entry);
/* Adds "3 entries, the first entry "1,2": WHAT" to the warnings; nothing when there is none. */
void import_warn(struct recording *recording, const struct import_oddity *oddity, const char *what,
                 struct arena *arena);
#define IMPORT_NO_TIME "the recorded time is not above zero, so it counts as failed"
/* Refuses negative costs; makes a valid row whose times are not all above zero a failed one. */
enum stax_status import_check_row(const char *path, const char *entry, struct recording_row *row,
                                  struct import_oddity *no_time, struct arena *arena);

/* Recorded configurations before the space is known: a vector of values each, and what was
 * measured. */
struct import_table {
    struct arena *arena;
    int params;
    const char **names;
    struct value **values; /* by parameter: declared values first, then others met in rows */
    int *value_count, *value_capacity;
    uint64_t rows, capacity, repeated; /* repeated: rows that the JSON reader has replaced */
    int *index;                        /* rows x params, into `values` */
    struct recording_row *row;
};

void import_table_start(struct import_table *table, int params, struct arena *arena);
/* The index of a value among those of a parameter, which gets it if it is new. */
int import_table_value(struct import_table *table, int param, const struct value *value);
/* Adds the configuration `object` holds by name; false when a parameter is missing. A configuration
 * that is there already is replaced, as JSON readers do with repeated keys. */
bool import_table_row(struct import_table *table, const json_t *object,
                      const struct recording_row *row);
/* Makes the space and puts the rows in the order of its ranks. */
enum stax_status import_table_finish(struct import_table *table, const char *path,
                                     struct recording *recording);

#define IMPORT_STRATEGY "imported" /* of runs that db_import made */
/* The kernel's name, or that of the file: T4 has none. */
const char *import_kernel(const struct recording *recording, const char *path, struct arena *arena);
/* A row as a trial; samples are copied into `arena`. */
struct trial import_trial(const struct recording_row *row, struct arena *arena);
/* A stored run as a recording that outlives `batch` and `scratch`; see db_recording. */
struct batch;
enum stax_status recording_from_run(const struct batch *batch, struct arena *scratch,
                                    struct arena *arena, struct recording *recording);

enum stax_status import_cache(const char *path, const json_t *root, uint64_t repeated,
                              struct arena *arena, struct recording *recording);
enum stax_status import_t4(const char *path, const json_t *root, struct arena *arena,
                           struct recording *recording);

#endif
