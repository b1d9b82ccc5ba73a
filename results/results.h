/* The database: one HDF5 file for all runs, kernels and nights, and a journal for every live run.
 * The module's only public header.
 *
 * While a run lives its journal (beside the database) is the truth: append only, checksummed, a
 * start record before each launch, a trial record after it. A fold under a lock moves journals into
 * HDF5. Readers fold what is dead and overlay what is live. kill -9 loses at most the trial in
 * flight. Layout: docs/database.md. */
#ifndef STAX_RESULTS_RESULTS_H
#define STAX_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/device.h"
#include "base/hash.h"
#include "base/space.h"
#include "base/status.h"
#include "base/trial.h"
#include "results/export.h" /* other tuners' files; part of this header */
#include "results/import.h"

struct db;  /* an open database */
struct run; /* a run being recorded */

/* Opens, creating with its folder when absent. Folds journals of dead runs. Errors: STAX_FORMAT
 * "FILE is not a stax-tune database ..." (the file is left as it was), STAX_IO for permissions or a
 * full disk. path NULL: $XDG_DATA_HOME/stax-tune/results.h5. */
enum stax_status db_default_path(struct arena *arena, const char **path);
enum stax_status db_open(const char *path, bool create, struct arena *arena, struct db **db);
const char *db_path(const struct db *db);
const char *db_library_version(void); /* of HDF5, for doctor */
void db_close(struct db *db);         /* NULL allowed */

/* Everything that names a run; texts may be NULL for "". */
struct run_info {
    const char *kernel, *problem, *source; /* name, name with shapes, text */
    struct hash128 source_hash;            /* of problem + source + emitter version */
    const struct device_info *device;
    enum timer timer;
    enum l2_mode l2;
    const char *protocol, *strategy, *settings, *command, *host, *version;
    uint64_t seed;
    const char *key; /* what makes two runs the same question: hash text over source, space,
                        candidates, device, protocol, strategy, seed, budget */
    const struct space *space;
    int64_t started_unix_ns;
    double bytes, flop; /* of one call, for GB/s; 0 where unknown */
};

enum stax_status run_begin(struct db *db, const struct run_info *info, struct arena *arena,
                           struct run **run);
/* Before a launch: names the configuration, so that a crash of everything names its culprit. */
enum stax_status run_start(struct run *run, uint64_t config, struct hash128 job);
/* After it. `fidelity`: samples asked. The job hash is what reuse is keyed by. */
enum stax_status run_trial(struct run *run, uint64_t config, struct hash128 job, int fidelity,
                           const struct trial *trial);
/* The same with numbers in long form (/counters): hardware counters, metrics of another tuner. */
enum stax_status run_trial_counters(struct run *run, uint64_t config, struct hash128 job,
                                    int fidelity, const struct trial *trial, int counters,
                                    const struct recording_metric *counter);
/* Interleaved comparison of a round race: ratios to the first. */
enum stax_status run_pair(struct run *run, uint64_t config_a, uint64_t config_b, int rounds,
                          double ratio, double ratio_low, double ratio_high);
struct run_result {
    bool complete; /* ended by itself or by its budget, not interrupted */
    bool has_best;
    struct hash128 best_config;
    const char *best_text;
    double best_ns, best_low_ns, best_high_ns, default_ns, elapsed_s;
    const char *claim; /* what the strategy could state; NULL: nothing */
};
enum stax_status
run_end(struct run *run,
        const struct run_result *result); /* folds; the journal goes when the fold is verified */

/* ---- reuse ---- */
/* What is stored of the same job (source, launches) on the same device (uuid or name, and driver),
 * protocol and input seed. AUTO: the newest trial that was asked as AUTO. Otherwise the newest with
 * at least `fidelity` samples, else the samples of all good trials together, which may be fewer
 * than asked. *found false when there is none. */
enum stax_status db_find_trial(struct db *db, struct hash128 job, const struct device_info *device,
                               const char *protocol, uint64_t seed, int fidelity,
                               struct arena *arena, struct trial *trial, bool *found);
/* A completed run with the same key: answers the whole question (algorithm 9.1 line 1). */
enum stax_status db_find_run(struct db *db, const char *key, struct arena *arena,
                             struct run_result *result, bool *found);

/* ---- reading ---- */
struct stored_run {
    uint64_t id;
    struct run_info info; /* space, device filled as far as stored */
    struct run_result result;
    uint64_t trials;
    bool live;
};
struct stored_trial {
    uint64_t run;
    struct hash128 config;
    const char *config_text; /* "A=1, B=2" */
    int fidelity;
    struct trial trial;
};
enum stax_status db_runs(struct db *db, struct arena *arena, struct stored_run **runs,
                         uint64_t *count);
/* All trials of a run in the order recorded; run UINT64_MAX: of all runs. */
enum stax_status db_trials(struct db *db, uint64_t run, struct arena *arena,
                           struct stored_trial **trials, uint64_t *count);
/* The space of a stored run, rebuilt from /params (values and constraints). */
enum stax_status db_space(struct db *db, uint64_t run, struct arena *arena, struct space **space);
/* CSV with one column a parameter. */
enum stax_status db_csv(struct db *db, uint64_t run, struct arena *arena, const char **csv);
/* Only the named columns ("XBLOCK,outcome,median_ns"), in that order; NULL: all. STAX_USAGE lists
 * what there is. */
enum stax_status db_csv_columns(struct db *db, uint64_t run, const char *columns,
                                struct arena *arena, const char **csv);

/* ---- other tuners' files; what maps to what: docs/formats.md ---- */
struct db_imported {
    const struct recording *recording; /* what was read */
    uint64_t run;                      /* its number in the database */
    bool present;                      /* it had been imported before: nothing was added */
};
/* Adds a recording (import.h) as a run whose times are marked as recorded elsewhere. The same
 * content is added once. */
enum stax_status db_import(struct db *db, const char *path, struct arena *arena,
                           struct db_imported *imported);
/* A stored run as a recording: of several trials of a configuration one that ran, with the most
 * samples, the last of equals. Trials that were skipped are left out. */
enum stax_status db_recording(struct db *db, uint64_t run, struct arena *arena,
                              struct recording **recording);
/* Is this file in HDF5? False also where it cannot be read. */
bool db_is_hdf5(const char *path);

/* ---- whole files ---- */
struct db_copied {
    uint64_t copied, present, damaged, live; /* runs; only `copied` ones were added */
};
/* Adds the runs of the database `from` that `db` lacks, by the identity of the run; live runs are
 * left for later. */
enum stax_status db_merge(struct db *db, const char *from, struct db_copied *copied);
/* Writes every run of `from` to the new file `to`, compressed: for keeping and for recorded
 * enumerations in a repository. It reads like any other; recording into it rewrites it first.
 * STAX_USAGE when `to` exists. */
enum stax_status db_compact(const char *from, const char *to, struct db_copied *copied);
/* Writes what can still be read of a damaged database to the new file `to`; runs that fail their
 * check are left out. */
enum stax_status db_repair(const char *from, const char *to, struct db_copied *copied);

/* ---- replay ---- */
struct replay;
/* A recorded enumeration as a device: ours (.h5), a Kernel Tuner cache or T4 (.json, .json.gz). */
enum stax_status replay_open(const char *path, struct arena *arena, struct replay **replay);
const struct space *
replay_space(const struct replay *replay); /* exactly the recorded configurations */
const struct device_info *replay_device(const struct replay *replay);
const char *replay_kernel(const struct replay *replay);
/* What another tuner recorded, from its file or as imported into a database, by rank in the space;
 * NULL for runs of ours. */
const struct recording *replay_recording(const struct replay *replay);
/* Trial number `repeat` of a configuration: samples start at a different recorded sample each
 * repeat, so noise is replayed. STAX_NOTFOUND when the configuration was never recorded. Recorded
 * compile and run costs come back in the trial. */
enum stax_status replay_trial(struct replay *replay, const struct hash128 *config, int fidelity,
                              uint64_t repeat, struct arena *arena, struct trial *trial);

#endif
