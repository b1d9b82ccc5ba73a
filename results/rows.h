/* What the columns mean: run descriptions, spaces and trials to rows and back. */
#ifndef STAX_RESULTS_ROWS_H
#define STAX_RESULTS_ROWS_H

#include "results/record.h"
#include "results/results.h"

/* Rows of a new run: runs, kernels, params. */
void rows_from_run(struct batch *batch, const struct run_info *info, struct hash128 uuid);
void rows_from_result(struct runs_row *run, const struct run_result *result);
/* Adds a trial with its values and samples. */
void rows_from_trial(struct batch *batch, const struct space *space, uint64_t config,
                     struct hash128 job, int fidelity, const struct trial *trial);

/* Texts point into the rows. info.space stays NULL. */
void rows_to_run(const struct runs_row *row, const struct kernels_row *kernel, struct arena *arena,
                 struct stored_run *run);
void rows_to_device(const struct runs_row *row, struct device_info *device);
/* Samples are copied into `arena`, texts point into the rows. */
void rows_to_trial(const struct trials_row *row, const struct samples_row *samples,
                   struct arena *arena, struct trial *trial);
/* "A=1, B=2" of a trial of the batch. */
const char *rows_config_text(const struct batch *batch, const struct trials_row *trial,
                             struct arena *arena);
/* The space of the batch's run; with `rows` exactly those `count` vectors of value indices. */
enum stax_status rows_to_space(const struct batch *batch, const int *rows, uint64_t count,
                               struct arena *arena, struct space **space);

/* Identity of what makes samples comparable beside the job: device, driver, compiler, protocol,
 * seed. */
struct hash128 rows_context(const struct device_info *device, const char *protocol, uint64_t seed);

/* Parameter values as JSON: 8, 0.5, "text", true, [..]. An integral float keeps its ".0". */
void json_put_value(struct text *text, const struct value *value);
void json_put_text(struct text *text, const char *string);
/* Reads one value at *at and moves it; false when it is malformed. */
bool json_get_value(const char **at, struct arena *arena, struct value *value);

#endif
