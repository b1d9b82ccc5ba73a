/* results: reading the database. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner/tuner.h"

static char *when(int64_t unix_ns, struct arena *arena)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm tm;
    char text[32] = "";
    if (gmtime_r(&seconds, &tm)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    return arena_text(arena, text);
}

static enum stax_status list_runs(stax_tuner *tuner, struct db *db, struct arena *arena)
{
    enum { COLUMNS = 9 };
    struct stored_run *runs;
    uint64_t count;
    STAX_TRY(db_runs(db, arena, &runs, &count));
    const char **cells = ARENA_ARRAY(arena, const char *, COLUMNS * (count + 1));
    static const char *const heading[COLUMNS] = {"run",    "started (UTC)", "kernel", "device", "strategy",
                                                 "trials", "default",       "best",   "config"};
    memcpy(cells, heading, sizeof heading);
    for (uint64_t i = 0; i < count; i++) {
        const struct stored_run *run = &runs[i];
        const char **row = cells + COLUMNS * (i + 1);
        row[0] = arena_printf(arena, "%llu", (unsigned long long)run->id);
        row[1] = when(run->info.started_unix_ns, arena);
        row[2] = run->info.problem;
        row[3] = run->info.device ? run->info.device->name : "";
        row[4] = run->info.strategy;
        row[5] = arena_printf(arena, "%llu", (unsigned long long)run->trials);
        row[6] = time_text(run->result.default_ns, arena);
        row[7] = run->result.has_best ? time_text(run->result.best_ns, arena) : run->live ? "(live)" : "-";
        row[8] = run->result.best_text ? run->result.best_text : "";
    }
    say_table(tuner, 1, COLUMNS, (int)count + 1, cells);
    return STAX_OK;
}

static enum stax_status chosen_run(stax_tuner *tuner, struct db *db, struct arena *arena, uint64_t *run)
{
    struct stored_run *runs;
    uint64_t count;
    STAX_TRY(db_runs(db, arena, &runs, &count));
    if (count == 0) STAX_RETURN(STAX_NOTFOUND, "%s holds no run yet", db_path(db));
    *run = runs[count - 1].id;
    if (!option_given(tuner, OPTION_RUN)) return STAX_OK;
    int64_t id;
    STAX_TRY(option_int(tuner, OPTION_RUN, 0, INT64_MAX, &id));
    for (uint64_t i = 0; i < count; i++)
        if (runs[i].id == (uint64_t)id) return *run = (uint64_t)id, STAX_OK;
    STAX_RETURN(STAX_NOTFOUND, "--run %lld: no such run; `stax-tune results ls` lists them", (long long)id);
}

static enum stax_status show_run(stax_tuner *tuner, struct db *db, struct arena *arena)
{
    enum { COLUMNS = 7 };
    uint64_t run, count;
    struct stored_trial *trials;
    STAX_TRY(chosen_run(tuner, db, arena, &run));
    if (option_given(tuner, OPTION_CSV)) {
        const char *csv;
        STAX_TRY(db_csv(db, run, arena, &csv));
        say(tuner, 1, "%s", csv);
        return STAX_OK;
    }
    STAX_TRY(db_trials(db, run, arena, &trials, &count));
    const char **cells = ARENA_ARRAY(arena, const char *, COLUMNS * (count + 1));
    static const char *const heading[COLUMNS] = {"trial", "stage", "outcome", "asked", "samples", "median", "config"};
    memcpy(cells, heading, sizeof heading);
    for (uint64_t i = 0; i < count; i++) {
        const struct stored_trial *trial = &trials[i];
        const char **row = cells + COLUMNS * (i + 1);
        row[0] = arena_printf(arena, "%llu", (unsigned long long)i);
        row[1] = stage_names[trial->trial.stage];
        row[2] = outcome_table[trial->trial.outcome].name;
        row[3] = trial->fidelity ? arena_printf(arena, "%d", trial->fidelity) : "auto";
        row[4] = arena_printf(arena, "%d", trial->trial.samples);
        row[5] = time_text(trial_time_ns(&trial->trial), arena);
        row[6] = trial->trial.message && trial->trial.message[0]
                     ? arena_printf(arena, "%s  (%s)", trial->config_text, trial->trial.message)
                     : trial->config_text;
    }
    say_table(tuner, 1, COLUMNS, (int)count + 1, cells);
    return STAX_OK;
}

static const struct {
    const char *name;
    enum stax_status (*run)(stax_tuner *tuner, struct db *db, struct arena *arena);
} actions[] = {
    {"ls", list_runs},
    {"show", show_run},
};

enum stax_status command_results(stax_tuner *tuner, int count, const char *const *arguments, int *exit_code)
{
    (void)exit_code;
    if (count < 1) STAX_RETURN(STAX_USAGE, "say what to do: stax-tune results ls, or results show [--run ID] [--csv]");
    for (size_t i = 0; i < STAX_COUNT(actions); i++) {
        if (strcmp(actions[i].name, arguments[0]) != 0) continue;
        if (count > 2) STAX_RETURN(STAX_USAGE, "unexpected argument %s", arguments[2]);
        const char *path = count == 2 ? arguments[1] : option_text(tuner, OPTION_DB);
        struct arena *arena = arena_create();
        struct db *db = NULL;
        enum stax_status status = db_open(path, false, arena, &db);
        if (status == STAX_OK) status = actions[i].run(tuner, db, arena);
        db_close(db);
        arena_destroy(arena);
        return status;
    }
    STAX_RETURN(STAX_USAGE, "results %s: choose ls or show", arguments[0]);
}
