/* A recorded enumeration as a device; see results.h.
 *
 * Of our own files: the last complete exhaustive or imported run (else the last run), and from
 * every other run of the same kernel, space, device, timer, L2 mode and protocol the configurations
 * that it lacks. Of several trials of one configuration the one with the most samples is kept.
 * Other tuners' files come through import.h.
 *
 * Noise is replayed: repeat k at fidelity f takes f samples from number (k f) mod n on, going
 * round. */
#include <string.h>

#include "results/db.h"
#include "results/import_json.h"

struct replay {
    struct space *space;
    struct device_info device;
    const char *kernel;
    const struct recording *recording; /* NULL for runs of ours */
    uint64_t count;
    const struct trial *trial; /* by rank in the space */
    uint64_t slots;
    uint64_t *slot;         /* rank + 1 by configuration hash; 0 is empty */
    struct hash128 *hash;   /* by rank */
    const double *verify_s; /* the part of measure_s that does not shrink with fewer samples; NULL
                               where unknown */
};

static void build_slots(struct replay *replay, struct arena *arena)
{
    replay->slots = 16;
    while (replay->slots < 2 * replay->count) replay->slots *= 2;
    replay->slot = ARENA_ARRAY(arena, uint64_t, replay->slots);
    replay->hash = ARENA_ARRAY(arena, struct hash128, replay->count);
    for (uint64_t rank = 0; rank < replay->count; rank++) {
        replay->hash[rank] = space_config_hash(replay->space, rank);
        uint64_t at = replay->hash[rank].low & (replay->slots - 1);
        while (replay->slot[at]) at = (at + 1) & (replay->slots - 1);
        replay->slot[at] = rank + 1;
    }
}

static bool find_rank(const struct replay *replay, const struct hash128 *config, uint64_t *rank)
{
    for (uint64_t at = config->low & (replay->slots - 1); replay->slot[at];
         at = (at + 1) & (replay->slots - 1)) {
        *rank = replay->slot[at] - 1;
        if (hash128_equal(replay->hash[*rank], *config)) return true;
    }
    return false;
}

/* ---- our own files ---- */
struct gather {
    struct arena *arena; /* of the result */
    uint64_t count, capacity;
    struct gathered {
        struct hash128 hash;
        struct trial trial;
        const int *index;
    } * config;
    uint64_t slots;
    uint64_t *slot; /* place + 1 */
};

static void gather_grow(struct gather *gather)
{
    gather->capacity = gather->capacity ? 2 * gather->capacity : 512; /* chosen */
    gather->config = arena_grow(gather->arena, gather->config, gather->count, gather->capacity,
                                sizeof *gather->config);
    gather->slots = 2 * gather->capacity;
    gather->slot = ARENA_ARRAY(gather->arena, uint64_t, gather->slots);
    for (uint64_t i = 0; i < gather->count; i++) {
        uint64_t at = gather->config[i].hash.low & (gather->slots - 1);
        while (gather->slot[at]) at = (at + 1) & (gather->slots - 1);
        gather->slot[at] = i + 1;
    }
}

static struct gathered *gather_find(struct gather *gather, struct hash128 hash)
{
    if (gather->count == gather->capacity) gather_grow(gather);
    uint64_t at = hash.low & (gather->slots - 1);
    for (; gather->slot[at]; at = (at + 1) & (gather->slots - 1)) {
        if (hash128_equal(gather->config[gather->slot[at] - 1].hash, hash))
            return &gather->config[gather->slot[at] - 1];
    }
    gather->slot[at] = ++gather->count;
    gather->config[gather->count - 1] = (struct gathered){.hash = hash};
    return &gather->config[gather->count - 1];
}

static bool better(const struct trials_row *row, const struct trial *have)
{
    bool ok = row->outcome == OUTCOME_OK, had = have->outcome == OUTCOME_OK;
    return ok != had ? ok : row->samples_count > have->samples;
}

static enum stax_status gather_run(struct gather *gather, const struct batch *batch)
{
    const struct trials_row *row = BATCH_ROWS(batch, trials);
    int params = (int)batch->count[TABLE_params];
    for (uint64_t i = 0; i < batch->count[TABLE_trials]; i++, row++) {
        if (row->values_count != params)
            STAX_RETURN(STAX_FORMAT, "a recorded configuration lacks parameters");
        struct gathered *config = gather_find(gather, row->config_hash);
        if (config->index && !better(row, &config->trial)) continue;
        int *index = ARENA_ARRAY(gather->arena, int, params);
        const struct config_values_row *value = BATCH_ROWS(batch, config_values) + row->values;
        for (int p = 0; p < params; p++) {
            const struct params_row *param = &BATCH_ROWS(batch, params)[value[p].param];
            if (value[p].param != p || value[p].value_index < 0 ||
                value[p].value_index >= param->values_count) {
                STAX_RETURN(STAX_FORMAT,
                            "a recorded configuration has values that its space lacks");
            }
            index[p] = value[p].value_index;
        }
        rows_to_trial(row, BATCH_ROWS(batch, samples) + row->samples, gather->arena,
                      &config->trial);
        config->trial.message = arena_text(gather->arena, row->message);
        config->trial.log = arena_text(gather->arena, row->log);
        config->trial.timer = TIMER_RECORDED;
        config->index = index;
    }
    return STAX_OK;
}

static bool same_question(const struct runs_row *a, const struct runs_row *b)
{
    return a->kernel == b->kernel && hash128_equal(a->space, b->space) && a->timer == b->timer &&
           a->l2 == b->l2 && !strcmp(a->device_uuid, b->device_uuid) &&
           !strcmp(a->device_name, b->device_name) && !strcmp(a->protocol, b->protocol);
}

/* The run that says what is replayed. */
static uint64_t choose(const struct runs_row *run, uint64_t runs)
{
    for (uint64_t i = runs; i-- > 0;) {
        bool recording = !strcmp(run[i].strategy, "exhaustive") ||
                         !strcmp(run[i].strategy, IMPORT_STRATEGY);
        if (run[i].complete && run[i].trials_count > 0 && recording) return i;
    }
    for (uint64_t i = runs; i-- > 0;) {
        if (run[i].trials_count > 0) return i;
    }
    return UINT64_MAX;
}

static enum stax_status finish_ours(struct gather *gather, const struct batch *batch,
                                    struct replay *replay)
{
    uint64_t params = batch->count[TABLE_params];
    int *rows = ARENA_ARRAY(gather->arena, int, gather->count *params);
    for (uint64_t i = 0; i < gather->count; i++) {
        memcpy(rows + i * params, gather->config[i].index, params * sizeof *rows);
    }
    STAX_TRY(rows_to_space(batch, rows, gather->count, gather->arena, &replay->space));
    replay->count = space_count(replay->space);
    build_slots(replay, gather->arena);
    struct trial *trial = ARENA_ARRAY(gather->arena, struct trial, replay->count);
    uint64_t placed = 0, rank;
    for (uint64_t i = 0; i < gather->count; i++) {
        if (!find_rank(replay, &gather->config[i].hash, &rank)) continue;
        trial[rank] = gather->config[i].trial;
        placed++;
    }
    replay->trial = trial;
    if (placed != gather->count || placed != replay->count) {
        STAX_RETURN(STAX_FORMAT, "its recorded configurations do not fit their space");
    }
    return STAX_OK;
}

/* What another tuner recorded, from its file or from a run that holds it. */
static void take_recording(struct replay *replay, const struct recording *recording,
                           struct arena *arena)
{
    replay->recording = recording;
    replay->space = recording->space;
    replay->count = recording->rows;
    struct trial *trial = ARENA_ARRAY(arena, struct trial, recording->rows);
    double *verify_s = ARENA_ARRAY(arena, double, recording->rows);
    for (uint64_t i = 0; i < recording->rows; i++) {
        trial[i] = import_trial(&recording->row[i], arena);
        verify_s[i] = recording->row[i].verify_s;
    }
    replay->trial = trial;
    replay->verify_s = verify_s;
    build_slots(replay, arena);
}

static enum stax_status read_ours(struct h5file *file, struct arena *scratch, struct arena *arena,
                                  struct replay *replay)
{
    uint64_t runs = file->rows[TABLE_runs];
    struct runs_row *run = ARENA_ARRAY(scratch, struct runs_row, runs);
    struct gather gather = {.arena = arena};
    STAX_TRY(h5_read_rows(file, TABLE_runs, 0, runs, scratch, run));
    uint64_t chosen = choose(run, runs);
    if (chosen == UINT64_MAX)
        STAX_RETURN(STAX_USAGE, "it holds no trials: record an exhaustive run into it first");
    struct batch first, batch;
    STAX_TRY(h5_read_run(file, chosen, arena,
                         &first)); /* kept: texts of the device and the kernel point into it */
    rows_to_device(BATCH_ROWS(&first, runs), &replay->device);
    const struct kernels_row *kernel = BATCH_ROWS(&first, kernels);
    replay->kernel = kernel->problem[0] ? kernel->problem : kernel->name;
    if (!strcmp(run[chosen].strategy, IMPORT_STRATEGY)) {
        struct recording *recording = ARENA_NEW(arena, struct recording);
        STAX_TRY(recording_from_run(&first, scratch, arena, recording));
        take_recording(replay, recording, arena);
        return STAX_OK;
    }
    STAX_TRY(gather_run(&gather, &first));
    uint64_t own = gather.count;
    bool whole = run[chosen].complete && own == (uint64_t)run[chosen].space_valid;
    for (uint64_t i = 0; i < runs && !whole; i++) {
        if (i == chosen || !same_question(&run[i], &run[chosen])) continue;
        STAX_TRY(h5_read_run(file, i, scratch, &batch));
        STAX_TRY(gather_run(&gather, &batch));
    }
    return finish_ours(&gather, &first, replay);
}

static enum stax_status open_ours(const char *path, struct arena *arena, struct replay *replay)
{
    struct h5file *file;
    STAX_TRY(h5_open(path, false, DB_WAIT_MS, &file));
    struct arena *scratch = arena_create();
    enum stax_status status = read_ours(file, scratch, arena, replay);
    arena_destroy(scratch);
    h5_close(file);
    if (status != STAX_OK && !strstr(status_message(), path)) status_prefix(status, "%s", path);
    return status;
}

/* ---- other tuners' files ---- */
static enum stax_status open_imported(const char *path, struct arena *arena, struct replay *replay)
{
    struct recording *recording;
    STAX_TRY(import_recording(path, arena, &recording));
    replay->kernel = import_kernel(recording, path, arena);
    replay->device = (struct device_info){.kind = DEVICE_CUDA,
                                          .name = recording->device[0] ? recording->device
                                                                       : "unknown",
                                          .uuid = "",
                                          .arch = "",
                                          .driver = "",
                                          .compiler = "",
                                          .timer_note = recording->format};
    take_recording(replay, recording, arena);
    return STAX_OK;
}

enum stax_status replay_open(const char *path, struct arena *arena, struct replay **out)
{
    struct replay *replay = ARENA_NEW(arena, struct replay);
    STAX_TRY(db_is_hdf5(path) ? open_ours(path, arena, replay)
                              : open_imported(path, arena, replay));
    replay->device.spec = arena_printf(arena, "replay:%s", path);
    *out = replay;
    return STAX_OK;
}

const struct space *replay_space(const struct replay *replay)
{
    return replay->space;
}

const struct device_info *replay_device(const struct replay *replay)
{
    return &replay->device;
}

const char *replay_kernel(const struct replay *replay)
{
    return replay->kernel;
}

const struct recording *replay_recording(const struct replay *replay)
{
    return replay->recording;
}

enum stax_status replay_trial(struct replay *replay, const struct hash128 *config, int fidelity,
                              uint64_t repeat, struct arena *arena, struct trial *trial)
{
    uint64_t rank;
    if (!find_rank(replay, config, &rank)) {
        STAX_RETURN(STAX_NOTFOUND, "the recording of %s lacks this configuration", replay->kernel);
    }
    const struct trial *recorded = &replay->trial[rank];
    *trial = *recorded;
    if (recorded->samples == 0) return STAX_OK;
    uint64_t n = (uint64_t)recorded->samples;
    uint64_t take = fidelity == FIDELITY_AUTO ? n : (uint64_t)fidelity;
    uint64_t from = (repeat % n) * (take % n) % n;
    trial->samples = (int)take;
    trial->span_ns = ARENA_ARRAY(arena, double, take);
    trial->sum_ns = ARENA_ARRAY(arena, double, take);
    for (uint64_t i = 0; i < take; i++) {
        trial->span_ns[i] = recorded->span_ns[(from + i) % n];
        trial->sum_ns[i] = recorded->sum_ns[(from + i) % n];
    }
    if (replay->verify_s && take < n) { /* what timing cost goes with the samples taken */
        double verify_s = replay->verify_s[rank];
        trial->measure_s = verify_s + (recorded->measure_s - verify_s) * (double)take / (double)n;
    }
    return STAX_OK;
}
