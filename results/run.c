/* Recording a run; see results.h. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "results/db.h"

struct run {
    struct db *db;
    const struct space *space;
    struct arena *arena; /* of the run */
    struct batch head;   /* its rows of runs, kernels, params */
    struct journal journal;
};

static int64_t unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void close_run(void *data)
{
    journal_close(&((struct run *)data)->journal);
}

/* The caller's texts may go before the run ends. */
static struct run_info keep(const struct run_info *info, struct arena *arena)
{
    struct run_info kept = *info;
    struct device_info *device = arena_copy(arena, info->device, sizeof *device);
    const char **const texts[] = {
        &kept.kernel,      &kept.problem,      &kept.source,  &kept.protocol, &kept.strategy,
        &kept.settings,    &kept.command,      &kept.host,    &kept.version,  &kept.key,
        &device->spec,     &device->name,      &device->uuid, &device->arch,  &device->driver,
        &device->compiler, &device->timer_note};
    for (size_t i = 0; i < STAX_COUNT(texts); i++)
        if (*texts[i]) *texts[i] = arena_text(arena, *texts[i]);
    kept.device = device;
    return kept;
}

enum stax_status run_begin(struct db *db, const struct run_info *info, struct arena *arena,
                           struct run **out)
{
    STAX_CHECK(db->arena && info->space && info->device);
    struct hash128 uuid;
    if (getrandom(&uuid, sizeof uuid, 0) != (ssize_t)sizeof uuid) {
        STAX_RETURN(STAX_IO, "no random numbers for the identity of the run: %s", strerror(errno));
    }
    struct run *run = ARENA_NEW(arena, struct run);
    *run = (struct run){.db = db,
                        .space = info->space,
                        .arena = arena,
                        .head = rec_batch_make(arena),
                        .journal.fd = -1};
    struct run_info kept = keep(info, arena);
    rows_from_run(&run->head, &kept, uuid);
    if (info->started_unix_ns == 0) BATCH_ROWS(&run->head, runs)->started_unix_ns = unix_ns();
    struct text rows = text_make(arena);
    record_pack(&rows, TABLE_runs, BATCH_ROWS(&run->head, runs));
    record_pack(&rows, TABLE_kernels, BATCH_ROWS(&run->head, kernels));
    for (uint64_t i = 0; i < run->head.count[TABLE_params]; i++) {
        record_pack(&rows, TABLE_params, BATCH_ROWS(&run->head, params) + i);
    }
    STAX_TRY(journal_create(db_journal_path(db, uuid, arena), &rows, &run->journal));
    arena_defer(arena, close_run, run);
    *out = run;
    return STAX_OK;
}

enum stax_status run_start(struct run *run, uint64_t config, struct hash128 job)
{
    struct arena *scratch = arena_create();
    struct text payload = text_make(scratch);
    text_put_string(&payload, space_config_text(run->space, config, scratch));
    text_put_u64(&payload, job.low);
    text_put_u64(&payload, job.high);
    text_put_u64(&payload, (uint64_t)unix_ns());
    enum stax_status status = journal_append(&run->journal, JOURNAL_START, &payload, false);
    arena_destroy(scratch);
    return status;
}

enum stax_status run_trial(struct run *run, uint64_t config, struct hash128 job, int fidelity,
                           const struct trial *trial)
{
    return run_trial_counters(run, config, job, fidelity, trial, 0, NULL);
}

enum stax_status run_trial_counters(struct run *run, uint64_t config, struct hash128 job,
                                    int fidelity, const struct trial *trial, int counters,
                                    const struct recording_metric *counter)
{
    struct arena *scratch = arena_create();
    struct batch batch = run->head; /* shares its first rows, grows its own trials */
    batch.arena = scratch;
    rows_from_trial(&batch, run->space, config, job, fidelity, trial);
    struct text payload = text_make(scratch);
    record_pack(&payload, TABLE_trials, BATCH_ROWS(&batch, trials));
    for (uint64_t i = 0; i < batch.count[TABLE_config_values]; i++) {
        record_pack(&payload, TABLE_config_values, BATCH_ROWS(&batch, config_values) + i);
    }
    for (uint64_t i = 0; i < batch.count[TABLE_samples]; i++) {
        record_pack(&payload, TABLE_samples, BATCH_ROWS(&batch, samples) + i);
    }
    for (int i = 0; i < counters; i++) {
        struct counters_row row = {.trial = 0, .name = counter[i].name, .value = counter[i].value};
        record_pack(&payload, TABLE_counters, &row);
    }
    enum stax_status status = journal_append(&run->journal, JOURNAL_TRIAL, &payload, false);
    if (status == STAX_OK) rec_index_add(run->db, &batch);
    arena_destroy(scratch);
    return status;
}

enum stax_status run_pair(struct run *run, uint64_t config_a, uint64_t config_b, int rounds,
                          double ratio, double ratio_low, double ratio_high)
{
    struct arena *scratch = arena_create();
    struct pairs_row row = {.run = 0,
                            .config_a_hash = space_config_hash(run->space, config_a),
                            .config_b_hash = space_config_hash(run->space, config_b),
                            .rounds = rounds,
                            .ratio = ratio,
                            .ratio_low = ratio_low,
                            .ratio_high = ratio_high};
    struct text payload = text_make(scratch);
    record_pack(&payload, TABLE_pairs, &row);
    enum stax_status status = journal_append(&run->journal, JOURNAL_PAIR, &payload, false);
    arena_destroy(scratch);
    return status;
}

enum stax_status run_end(struct run *run, const struct run_result *result)
{
    struct arena *scratch = arena_create();
    struct runs_row row = *BATCH_ROWS(&run->head, runs);
    rows_from_result(&row, result);
    struct text payload = text_make(scratch);
    record_pack(&payload, TABLE_runs, &row);
    enum stax_status status = journal_append(&run->journal, JOURNAL_END, &payload, true);
    arena_destroy(scratch);
    journal_close(&run->journal); /* whoever folds first may have it, this process or another */
    STAX_TRY(status);
    return db_fold(run->db);
}
