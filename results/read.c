/* Reading runs, in the file or still in a journal; see results.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "results/db.h"

static bool is_live(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool live = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return live;
}

static bool in_file(const struct hash128 *uuids, uint64_t count, struct hash128 uuid)
{
    for (uint64_t i = 0; i < count; i++) {
        if (hash128_equal(uuids[i], uuid)) return true;
    }
    return false;
}

/* Runs whose journals are not folded: those that live, and those that a fold had to leave. */
static enum stax_status read_journals(struct view *view)
{
    const char **paths;
    int count;
    struct hash128 *uuids = ARENA_ARRAY(view->arena, struct hash128, view->file_runs);
    STAX_TRY(h5_read_column(view->file, COLUMN_runs_uuid, 0, view->file_runs, view->arena, uuids,
                            sizeof *uuids));
    STAX_TRY(db_journals(view->db, false, view->arena, &paths, &count));
    view->journal = ARENA_ARRAY(view->arena, struct batch, count);
    view->journal_live = ARENA_ARRAY(view->arena, bool, count);
    for (int i = 0; i < count; i++) {
        uint64_t at = view->runs - view->file_runs;
        struct journal_report report;
        struct batch *batch = &view->journal[at];
        if (journal_read(paths[i], view->arena, batch, &report) != STAX_OK ||
            !batch->count[TABLE_runs])
            continue;
        if (in_file(uuids, view->file_runs, BATCH_ROWS(batch, runs)->uuid)) continue;
        view->journal_live[at] = is_live(paths[i]);
        view->runs++;
    }
    return STAX_OK;
}

/* File and journals under one shared lock: no fold can move a run between the two looks. */
enum stax_status view_open(struct db *db, struct view *view)
{
    *view = (struct view){.db = db, .arena = arena_create(), .lock = -1};
    enum stax_status status = db_lock(db, LOCK_SH, &view->lock);
    if (status == STAX_OK) status = h5_open(db->path, false, db->wait_ms, &view->file);
    if (status == STAX_OK) {
        view->file_runs = view->runs = view->file->rows[TABLE_runs];
        status = read_journals(view);
    }
    if (status != STAX_OK) view_close(view);
    return status;
}

void view_close(struct view *view)
{
    h5_close(view->file);
    db_unlock(view->lock);
    arena_destroy(view->arena);
}

/* Points into the file of the view or copies what the journal gave. */
enum stax_status view_run(struct view *view, uint64_t run, struct arena *arena, struct batch *batch)
{
    STAX_CHECK(run < view->runs);
    if (run < view->file_runs) return h5_read_run(view->file, run, arena, batch);
    *batch = view->journal[run - view->file_runs];
    return STAX_OK;
}

/* Texts of a journal's rows live in the view; those given out must outlive it. */
static void keep_texts(enum record_table table, void *row, struct arena *arena)
{
    for (int c = record_tables[table].first;
         c < record_tables[table].first + record_tables[table].count; c++) {
        if (record_columns[c].kind != KIND_TEXT) continue;
        const char **member = (const char **)(void *)((char *)row + record_columns[c].at);
        *member = arena_text(arena, *member);
    }
}

static enum stax_status list_run(struct view *view, uint64_t number, struct arena *arena,
                                 struct stored_run *stored)
{
    struct runs_row run;
    struct kernels_row kernel;
    bool live = false;
    if (number < view->file_runs) {
        STAX_TRY(h5_read_rows(view->file, TABLE_runs, number, 1, arena, &run));
        if (run.kernel < 0 || (uint64_t)run.kernel >= view->file->rows[TABLE_kernels]) {
            STAX_RETURN(STAX_FORMAT,
                        "%s: run %llu names a kernel that does not exist: the file is damaged",
                        view->file->path, (unsigned long long)number);
        }
        STAX_TRY(h5_read_rows(view->file, TABLE_kernels, (uint64_t)run.kernel, 1, arena, &kernel));
    } else {
        const struct batch *batch = &view->journal[number - view->file_runs];
        run = *BATCH_ROWS(batch, runs);
        kernel = *BATCH_ROWS(batch, kernels);
        keep_texts(TABLE_runs, &run, arena);
        keep_texts(TABLE_kernels, &kernel, arena);
        live = view->journal_live[number - view->file_runs];
    }
    *stored = (struct stored_run){.id = number, .live = live};
    rows_to_run(&run, &kernel, arena, stored);
    view->db->listed[number] = run.uuid;
    return STAX_OK;
}

enum stax_status db_runs(struct db *db, struct arena *arena, struct stored_run **runs,
                         uint64_t *count)
{
    struct view view;
    *count = 0;
    STAX_TRY(view_open(db, &view));
    *runs = ARENA_ARRAY(arena, struct stored_run, view.runs);
    db->listed = ARENA_ARRAY(db->arena, struct hash128, view.runs);
    enum stax_status status = STAX_OK;
    for (uint64_t i = 0; i < view.runs && status == STAX_OK; i++)
        status = list_run(&view, i, arena, &(*runs)[i]);
    if (status == STAX_OK) *count = db->listed_count = view.runs;
    view_close(&view);
    return status;
}

/* A number given out by db_runs still means the same run after a fold moved it. */
enum stax_status view_find(struct view *view, uint64_t number, uint64_t *run)
{
    struct db *db = view->db;
    *run = number;
    if (number < view->runs && (number < view->file_runs || number >= db->listed_count))
        return STAX_OK;
    for (uint64_t i = 0; number < db->listed_count && i < view->runs; i++) {
        struct hash128 uuid;
        if (i < view->file_runs) {
            STAX_TRY(h5_read_column(view->file, COLUMN_runs_uuid, i, 1, view->arena, &uuid,
                                    sizeof uuid));
        } else {
            uuid = BATCH_ROWS(&view->journal[i - view->file_runs], runs)->uuid;
        }
        *run = i;
        if (hash128_equal(uuid, db->listed[number])) return STAX_OK;
    }
    STAX_RETURN(STAX_NOTFOUND, "%s has no run %llu: `stax-tune results ls` lists them", db->path,
                (unsigned long long)number);
}

static void give_trials(const struct batch *batch, uint64_t run, struct arena *arena,
                        struct stored_trial *out)
{
    struct trials_row *row = BATCH_ROWS(batch, trials);
    for (uint64_t i = 0; i < batch->count[TABLE_trials]; i++, row++) {
        struct trials_row kept = *row;
        keep_texts(TABLE_trials, &kept, arena);
        out[i] = (struct stored_trial){
            .run = run, .config = row->config_hash, .fidelity = row->fidelity};
        out[i].config_text = rows_config_text(batch, row, arena);
        rows_to_trial(&kept, BATCH_ROWS(batch, samples) + row->samples, arena, &out[i].trial);
    }
}

static enum stax_status read_trials(struct view *view, uint64_t first, uint64_t end,
                                    uint64_t number, struct arena *arena,
                                    struct stored_trial **trials, uint64_t *count)
{
    for (uint64_t run = first; run < end; run++) {
        struct batch batch;
        struct arena *scratch = arena_create();
        enum stax_status status = view_run(view, run, scratch, &batch);
        if (status == STAX_OK) {
            uint64_t more = batch.count[TABLE_trials];
            *trials = arena_grow(arena, *trials, *count, *count + more, sizeof **trials);
            give_trials(&batch, number == UINT64_MAX ? run : number, arena, *trials + *count);
            *count += more;
        }
        arena_destroy(scratch);
        STAX_TRY(status);
    }
    return STAX_OK;
}

enum stax_status db_trials(struct db *db, uint64_t run, struct arena *arena,
                           struct stored_trial **trials, uint64_t *count)
{
    struct view view;
    *trials = NULL;
    *count = 0;
    STAX_TRY(view_open(db, &view));
    uint64_t first = 0;
    enum stax_status status = run == UINT64_MAX ? STAX_OK : view_find(&view, run, &first);
    if (status == STAX_OK) {
        status = read_trials(&view, first, run == UINT64_MAX ? view.runs : first + 1, run, arena,
                             trials, count);
    }
    view_close(&view);
    return status;
}

enum stax_status db_space(struct db *db, uint64_t run, struct arena *arena, struct space **space)
{
    struct view view;
    struct batch batch;
    uint64_t number;
    STAX_TRY(view_open(db, &view));
    enum stax_status status = view_find(&view, run, &number);
    if (status == STAX_OK) status = view_run(&view, number, view.arena, &batch);
    if (status == STAX_OK) status = rows_to_space(&batch, NULL, 0, arena, space);
    view_close(&view);
    return status;
}
