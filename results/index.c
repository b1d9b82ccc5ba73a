/* Stored trials by job, so that a look-up costs the same with a hundred thousand of them. What is
 * in the file is read when it is found; what is in journals, this process's own among them, is kept
 * in memory. */
#include <string.h>

#include "base/log.h"
#include "results/db.h"

struct entry {
    struct hash128 job;
    struct hash128 context;
    int64_t row; /* of /trials, or -1: `trial` */
    const struct trial *trial;
    int32_t samples, fidelity;
    uint8_t outcome;
    int64_t older; /* the next entry of the slot, or -1 */
};

struct index {
    uint64_t count, capacity, slots;
    struct entry *entries;
    int64_t *newest; /* by slot, or -1 */
    bool said_other; /* that trials of other circumstances exist */
};

static void rebuild(struct db *db, uint64_t slots)
{
    struct index *index = db->index;
    index->slots = slots;
    index->newest = ARENA_ARRAY(db->arena, int64_t, slots);
    memset(index->newest, 0xff, slots * sizeof *index->newest);
    for (uint64_t i = 0; i < index->count; i++) {
        int64_t *slot = &index->newest[index->entries[i].job.low & (slots - 1)];
        index->entries[i].older = *slot;
        *slot = (int64_t)i;
    }
}

static void add(struct db *db, struct entry entry)
{
    struct index *index = db->index;
    if (index->count == index->capacity) {
        index->capacity = index->capacity ? 2 * index->capacity : 1024; /* chosen */
        index->entries = arena_grow(db->arena, index->entries, index->count, index->capacity,
                                    sizeof entry);
        rebuild(db, 2 * index->capacity);
    }
    int64_t *slot = &index->newest[entry.job.low & (index->slots - 1)];
    entry.older = *slot;
    *slot = (int64_t)index->count;
    index->entries[index->count++] = entry;
}

static struct hash128 context_of(const struct runs_row *run)
{
    struct device_info device;
    rows_to_device(run, &device);
    return rows_context(&device, run->protocol, run->seed);
}

static void add_row(struct db *db, const struct batch *batch, uint64_t i, struct hash128 context)
{
    const struct trials_row *row = BATCH_ROWS(batch, trials) + i;
    struct trial *trial = ARENA_NEW(db->arena, struct trial);
    rows_to_trial(row, BATCH_ROWS(batch, samples) + row->samples, db->arena, trial);
    trial->message = arena_text(db->arena, row->message);
    trial->log = arena_text(db->arena, row->log);
    add(db, (struct entry){row->job_hash, context, -1, trial, row->samples_count, row->fidelity,
                           row->outcome, -1});
}

void rec_index_add(struct db *db, const struct batch *batch)
{
    add_row(db, batch, batch->count[TABLE_trials] - 1, context_of(BATCH_ROWS(batch, runs)));
}

static enum stax_status read_columns(struct h5file *file, struct arena *scratch,
                                     struct trials_row *rows)
{
    static const int columns[] = {COLUMN_trials_run, COLUMN_trials_job_hash,
                                  COLUMN_trials_samples_count, COLUMN_trials_fidelity,
                                  COLUMN_trials_outcome};
    for (size_t i = 0; i < STAX_COUNT(columns); i++) {
        STAX_TRY(h5_read_column(file, columns[i], 0, file->rows[TABLE_trials], scratch,
                                (char *)rows + record_columns[columns[i]].at, sizeof *rows));
    }
    return STAX_OK;
}

static enum stax_status load_file(struct db *db, struct h5file *file, struct arena *scratch)
{
    uint64_t runs = file->rows[TABLE_runs], trials = file->rows[TABLE_trials];
    struct runs_row *run = ARENA_ARRAY(scratch, struct runs_row, runs);
    struct hash128 *context = ARENA_ARRAY(scratch, struct hash128, runs);
    STAX_TRY(h5_read_rows(file, TABLE_runs, 0, runs, scratch, run));
    for (uint64_t i = 0; i < runs; i++) context[i] = context_of(&run[i]);
    struct trials_row *row = ARENA_ARRAY(scratch, struct trials_row, trials);
    STAX_TRY(read_columns(file, scratch, row));
    for (uint64_t i = 0; i < trials; i++, row++) {
        if (row->run < 0 || (uint64_t)row->run >= runs) {
            STAX_RETURN(STAX_FORMAT,
                        "%s: a trial names a run that does not exist: the file is damaged",
                        file->path);
        }
        add(db, (struct entry){row->job_hash, context[row->run], (int64_t)i, NULL,
                               row->samples_count, row->fidelity, row->outcome, -1});
    }
    return STAX_OK;
}

enum stax_status rec_index_load(struct db *db)
{
    struct view view;
    db->index = ARENA_NEW(db->arena, struct index);
    rebuild(db, 1);
    STAX_TRY(view_open(db, &view));
    enum stax_status status = load_file(db, view.file, view.arena);
    for (uint64_t i = 0; status == STAX_OK && i < view.runs - view.file_runs; i++) {
        struct hash128 context = context_of(BATCH_ROWS(&view.journal[i], runs));
        for (uint64_t t = 0; t < view.journal[i].count[TABLE_trials]; t++)
            add_row(db, &view.journal[i], t, context);
    }
    view_close(&view);
    return status;
}

/* A failure that repeating would not change answers whatever was asked. */
static bool answers(const struct entry *entry, int fidelity)
{
    if (entry->outcome != OUTCOME_OK) return !outcome_table[entry->outcome].again;
    return fidelity == FIDELITY_AUTO ? entry->fidelity == FIDELITY_AUTO
                                     : entry->samples >= fidelity;
}

static void copy_trial(const struct trial *from, struct arena *arena, struct trial *to)
{
    *to = *from;
    to->message = arena_text(arena, from->message);
    to->log = arena_text(arena, from->log);
    to->span_ns = arena_copy(arena, from->span_ns, (size_t)from->samples * sizeof(double));
    to->sum_ns = arena_copy(arena, from->sum_ns, (size_t)from->samples * sizeof(double));
}

static enum stax_status read_trial(struct h5file *file, const struct entry *entry,
                                   struct arena *arena, struct trial *trial, bool *found)
{
    struct trials_row row;
    if ((uint64_t)entry->row >= file->rows[TABLE_trials]) return STAX_OK;
    STAX_TRY(h5_read_rows(file, TABLE_trials, (uint64_t)entry->row, 1, arena, &row));
    if (!hash128_equal(row.job_hash, entry->job))
        return STAX_OK; /* the file was replaced meanwhile */
    uint64_t rows = file->rows[TABLE_samples];
    if (row.samples < 0 || row.samples_count < 0 || (uint64_t)row.samples > rows ||
        (uint64_t)row.samples_count > rows - (uint64_t)row.samples) {
        STAX_RETURN(STAX_FORMAT, "%s: a trial names samples that do not exist: the file is damaged",
                    file->path);
    }
    struct samples_row *samples = ARENA_ARRAY(arena, struct samples_row, row.samples_count);
    STAX_TRY(h5_read_rows(file, TABLE_samples, (uint64_t)row.samples, (uint64_t)row.samples_count,
                          arena, samples));
    rows_to_trial(&row, samples, arena, trial);
    *found = true;
    return STAX_OK;
}

static enum stax_status fetch(struct db *db, const struct entry *entry, struct arena *arena,
                              struct trial *trial, bool *found)
{
    if (entry->row < 0) {
        copy_trial(entry->trial, arena, trial);
        *found = true;
        return STAX_OK;
    }
    struct h5file *file;
    STAX_TRY(h5_open(db->path, false, db->wait_ms, &file));
    enum stax_status status = read_trial(file, entry, arena, trial, found);
    h5_close(file);
    return status;
}

/* Appends the samples of `more` to `into`. */
static void append_samples(struct trial *into, const struct trial *more, struct arena *arena)
{
    size_t have = (size_t)into->samples, total = have + (size_t)more->samples;
    into->span_ns = arena_grow(arena, into->span_ns, have, total, sizeof(double));
    into->sum_ns = arena_grow(arena, into->sum_ns, have, total, sizeof(double));
    for (size_t i = have; i < total; i++) {
        into->span_ns[i] = more->span_ns[i - have];
        into->sum_ns[i] = more->sum_ns[i - have];
    }
    into->samples = (int)total;
    into->verified |= more->verified;
    into->adverse_verified |= more->adverse_verified;
}

/* No single trial has as many samples as asked: those of all good ones together, newest first,
 * until there are enough. Strategies that come back for more samples leave such trials. */
static enum stax_status pool(struct db *db, struct hash128 job, struct hash128 context,
                             int fidelity, struct arena *arena, struct trial *trial, bool *found)
{
    struct index *index = db->index;
    for (int64_t i = index->newest[job.low & (index->slots - 1)]; i >= 0;
         i = index->entries[i].older) {
        const struct entry *entry = &index->entries[i];
        if (!hash128_equal(entry->job, job) || !hash128_equal(entry->context, context) ||
            entry->outcome != OUTCOME_OK || entry->samples == 0)
            continue;
        struct trial one;
        bool here = false;
        STAX_TRY(fetch(db, entry, arena, &one, &here));
        if (!here) continue;
        if (*found)
            append_samples(trial, &one, arena);
        else
            *trial = one;
        *found = true;
        if (trial->samples >= fidelity) break;
    }
    return STAX_OK;
}

enum stax_status db_find_trial(struct db *db, struct hash128 job, const struct device_info *device,
                               const char *protocol, uint64_t seed, int fidelity,
                               struct arena *arena, struct trial *trial, bool *found)
{
    struct index *index = db->index;
    struct hash128 context = rows_context(device, protocol, seed);
    bool other = false;
    *found = false;
    for (int64_t i = index->newest[job.low & (index->slots - 1)]; i >= 0;
         i = index->entries[i].older) {
        const struct entry *entry = &index->entries[i];
        if (!hash128_equal(entry->job, job)) continue;
        bool same = hash128_equal(entry->context, context);
        other = other || !same;
        if (same && answers(entry, fidelity)) return fetch(db, entry, arena, trial, found);
    }
    if (fidelity != FIDELITY_AUTO) STAX_TRY(pool(db, job, context, fidelity, arena, trial, found));
    if (*found) return STAX_OK;
    if (other && !index->said_other) {
        index->said_other = true;
        log_write(LOG_INFO, "stored trials of this kernel are of another device, driver, compiler, "
                            "protocol or seed "
                            "and are not used");
    }
    return STAX_OK;
}

static void give_result(const struct runs_row *run, struct arena *arena, struct run_result *result,
                        bool *found)
{
    struct stored_run stored;
    struct kernels_row none = {0};
    rows_to_run(run, &none, arena, &stored);
    *result = stored.result;
    result->best_text = arena_text(arena, run->best_text);
    if (stored.result.claim) result->claim = arena_text(arena, stored.result.claim);
    *found = true;
}

enum stax_status db_find_run(struct db *db, const char *key, struct arena *arena,
                             struct run_result *result, bool *found)
{
    struct view view;
    *found = false;
    STAX_TRY(view_open(db, &view));
    for (uint64_t i = view.runs; i-- > view.file_runs && !*found;) {
        const struct runs_row *run = BATCH_ROWS(&view.journal[i - view.file_runs], runs);
        if (run->complete && !strcmp(run->key, key)) give_result(run, arena, result, found);
    }
    struct runs_row *run = ARENA_ARRAY(view.arena, struct runs_row, view.file_runs);
    enum stax_status status = h5_read_rows(view.file, TABLE_runs, 0, view.file_runs, view.arena,
                                           run);
    for (uint64_t i = view.file_runs; status == STAX_OK && i-- > 0 && !*found;) {
        if (run[i].complete && !strcmp(run[i].key, key)) give_result(&run[i], arena, result, found);
    }
    view_close(&view);
    return status;
}
