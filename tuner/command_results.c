/* results: what a database holds, and whole files of it. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "tuner/tuner.h"

/* ---- tables ---- */

static char *when(int64_t unix_ns, struct arena *arena)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm tm;
    char text[32] = "";
    if (gmtime_r(&seconds, &tm)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    return arena_text(arena, text);
}

/* At most `width` characters on screen; what is cut ends in an ellipsis. */
static const char *cut(const char *cell, int width, struct arena *arena)
{
    size_t keep = 0, at = 0;
    for (int columns = 0; cell[at]; at++) {
        if (((unsigned char)cell[at] & 0xc0) == 0x80) continue; /* goes on in UTF-8 */
        if (++columns == width) keep = at;
        if (columns > width) return arena_printf(arena, "%.*s…", (int)keep, cell);
    }
    return cell;
}

/* Which rows --limit leaves: `*first` and on, `*shown` of them. */
static enum stax_status limit_rows(stax_tuner *tuner, uint64_t count, bool newest, uint64_t *first,
                                   uint64_t *shown)
{
    int64_t limit;
    STAX_TRY(option_int(tuner, OPTION_LIMIT, 0, INT32_MAX, &limit));
    *shown = limit && count > (uint64_t)limit ? (uint64_t)limit : count;
    *first = newest ? count - *shown : 0;
    return STAX_OK;
}

static void say_left_out(stax_tuner *tuner, const char *what, uint64_t left_out)
{
    if (left_out)
        say(tuner, 2, "%llu more %s: --limit 0 shows all\n", (unsigned long long)left_out, what);
}

enum { CONFIG_WIDTH = 100, PROBLEM_WIDTH = 48 }; /* chosen: a line stays one on a wide terminal */

static const char *best_cell(const struct stored_run *run, struct arena *arena)
{
    if (run->result.has_best) return time_text(run->result.best_ns, arena);
    return run->live ? "(live)" : run->result.complete ? "none" : "(unfinished)";
}

static enum stax_status list_runs(stax_tuner *tuner, struct db *db, struct arena *arena)
{
    enum { COLUMNS = 9 };
    struct stored_run *runs;
    uint64_t count, first, shown;
    STAX_TRY(db_runs(db, arena, &runs, &count));
    STAX_TRY(limit_rows(tuner, count, true, &first, &shown));
    const char **cells = ARENA_ARRAY(arena, const char *, COLUMNS *(shown + 1));
    static const char *const heading[COLUMNS] = {"run",     "started (UTC)", "kernel",
                                                 "device",  "strategy",      "trials",
                                                 "default", "best",          "config"};
    memcpy(cells, heading, sizeof heading);
    for (uint64_t i = 0; i < shown; i++) {
        const struct stored_run *run = &runs[first + i];
        const char **row = cells + COLUMNS * (i + 1);
        row[0] = arena_printf(arena, "%llu", (unsigned long long)run->id);
        row[1] = when(run->info.started_unix_ns, arena);
        row[2] = cut(run->info.problem, PROBLEM_WIDTH, arena);
        row[3] = run->info.device->name[0] ? run->info.device->name : "-"; /* T4 names none */
        row[4] = run->info.strategy;
        row[5] = arena_printf(arena, "%llu", (unsigned long long)run->trials);
        row[6] = time_text(run->result.default_ns, arena);
        row[7] = best_cell(run, arena);
        row[8] = run->result.has_best ? cut(run->result.best_text, CONFIG_WIDTH, arena) : "";
    }
    say_table(tuner, 1, COLUMNS, (int)shown + 1, cells);
    if (count == 0) say(tuner, 2, "%s holds no run yet\n", db_path(db));
    say_left_out(tuner, "runs before these", count - shown);
    return STAX_OK;
}

enum stax_status results_chosen_run(stax_tuner *tuner, struct db *db, struct arena *arena,
                                    uint64_t *run)
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
    STAX_RETURN(STAX_NOTFOUND, "--run %lld: no such run; `stax-tune results ls` lists them",
                (long long)id);
}

static enum stax_status show_run(stax_tuner *tuner, struct db *db, struct arena *arena)
{
    enum { COLUMNS = 7 };
    uint64_t run, count, first, shown;
    struct stored_trial *trials;
    STAX_TRY(results_chosen_run(tuner, db, arena, &run));
    if (option_given(tuner, OPTION_CSV)) {
        const char *csv;
        STAX_TRY(db_csv_columns(db, run, option_text(tuner, OPTION_COLUMNS), arena, &csv));
        say(tuner, 1, "%s", csv);
        return STAX_OK;
    }
    STAX_TRY(db_trials(db, run, arena, &trials, &count));
    STAX_TRY(limit_rows(tuner, count, false, &first, &shown));
    const char **cells = ARENA_ARRAY(arena, const char *, COLUMNS *(shown + 1));
    static const char *const heading[COLUMNS] = {"trial",   "stage",  "outcome", "asked",
                                                 "samples", "median", "config"};
    memcpy(cells, heading, sizeof heading);
    for (uint64_t i = 0; i < shown; i++) {
        const struct stored_trial *trial = &trials[first + i];
        const char **row = cells + COLUMNS * (i + 1);
        row[0] = arena_printf(arena, "%llu", (unsigned long long)(first + i));
        row[1] = stage_names[trial->trial.stage];
        row[2] = outcome_table[trial->trial.outcome].name;
        row[3] = trial->fidelity ? arena_printf(arena, "%d", trial->fidelity) : "auto";
        row[4] = arena_printf(arena, "%d", trial->trial.samples);
        row[5] = time_text(trial_time_ns(&trial->trial), arena);
        row[6] = trial->trial.message && trial->trial.message[0]
                     ? arena_printf(arena, "%s  (%s)", trial->config_text, trial->trial.message)
                     : trial->config_text;
    }
    say_table(tuner, 1, COLUMNS, (int)shown + 1, cells);
    say_left_out(tuner, "trials", count - shown);
    return STAX_OK;
}

/* ---- whole files ---- */

static void say_copied(stax_tuner *tuner, const char *from, const char *to,
                       const struct db_copied *copied)
{
    say(tuner, 1, "%s: %llu run%s from %s", to, (unsigned long long)copied->copied,
        copied->copied == 1 ? "" : "s", from);
    if (copied->present) say(tuner, 1, ", %llu there already", (unsigned long long)copied->present);
    if (copied->damaged)
        say(tuner, 1, ", %llu damaged and left out", (unsigned long long)copied->damaged);
    if (copied->live)
        say(tuner, 1, ", %llu still running and left for later", (unsigned long long)copied->live);
    say(tuner, 1, "\n");
}

static enum stax_status merge_files(stax_tuner *tuner, int count, const char *const *files,
                                    struct arena *arena)
{
    const char *into = option_text(tuner, OPTION_DB);
    int first = into ? 0 : 1;
    if (!into && count > 0) into = files[0];
    if (count <= first)
        STAX_RETURN(STAX_USAGE,
                    "say what to add to what: stax-tune results merge INTO.h5 FROM.h5 ...");
    struct db *db = NULL;
    enum stax_status status = db_open(into, true, arena, &db);
    for (int i = first; i < count && status == STAX_OK; i++) {
        struct db_copied copied = {0};
        status = db_merge(db, files[i], &copied);
        if (status == STAX_OK) say_copied(tuner, files[i], db_path(db), &copied);
    }
    db_close(db);
    return status;
}

static enum stax_status compact_file(stax_tuner *tuner, int count, const char *const *files,
                                     struct arena *arena)
{
    (void)arena;
    if (count != 2)
        STAX_RETURN(STAX_USAGE,
                    "name a database and a new file: stax-tune results compact SRC.h5 DST.h5");
    struct db_copied copied = {0};
    STAX_TRY(db_compact(files[0], files[1], &copied));
    say_copied(tuner, files[0], files[1], &copied);
    return STAX_OK;
}

/* The damaged file stays as it is: what could be read is beside it until the user has looked. */
static enum stax_status repair_file(stax_tuner *tuner, int count, const char *const *files,
                                    struct arena *arena)
{
    const char *from = count ? files[0] : option_text(tuner, OPTION_DB);
    if (count > 1) STAX_RETURN(STAX_USAGE, "unexpected argument %s", files[1]);
    if (!from) STAX_TRY(db_default_path(arena, &from));
    const char *to = option_text(tuner, OPTION_OUTPUT);
    if (!to) to = arena_printf(arena, "%s.repaired", from);
    struct db_copied copied = {0};
    STAX_TRY(db_repair(from, to, &copied));
    say_copied(tuner, from, to, &copied);
    return STAX_OK;
}

static void say_imported(stax_tuner *tuner, const char *file, const struct db_imported *imported)
{
    const struct recording *recording = imported->recording;
    uint64_t ran = 0;
    for (uint64_t i = 0; i < recording->rows; i++) ran += recording->row[i].outcome == OUTCOME_OK;
    say(tuner, 1, "%s: %s as run %llu, %llu configurations, %llu ran (%s%s%s)\n", file,
        imported->present ? "there already" : "added", (unsigned long long)imported->run,
        (unsigned long long)recording->rows, (unsigned long long)ran, recording->format,
        recording->device[0] ? ", " : "", recording->device);
    warn_of_recording(file, recording);
}

static enum stax_status import_files(stax_tuner *tuner, int count, const char *const *files,
                                     struct arena *arena)
{
    if (count == 0)
        STAX_RETURN(STAX_USAGE,
                    "name a file: stax-tune results import FILE.json (a Kernel Tuner cache or T4)");
    struct db *db = NULL;
    enum stax_status status = db_open(option_text(tuner, OPTION_DB), true, arena, &db);
    for (int i = 0; i < count && status == STAX_OK; i++) {
        struct db_imported imported;
        struct arena *scratch = arena_create();
        status = db_import(db, files[i], scratch, &imported);
        if (status == STAX_OK) say_imported(tuner, files[i], &imported);
        arena_destroy(scratch);
    }
    db_close(db);
    return status;
}

/* ---- dispatch ---- */

/* `read` gets the open database; `whole` the words after the action's name. */
static const struct {
    const char *name;
    enum stax_status (*read)(stax_tuner *tuner, struct db *db, struct arena *arena);
    enum stax_status (*whole)(stax_tuner *tuner, int count, const char *const *files,
                              struct arena *arena);
} actions[] = {
    {"ls", list_runs, NULL},         {"show", show_run, NULL},      {"merge", NULL, merge_files},
    {"compact", NULL, compact_file}, {"repair", NULL, repair_file}, {"import", NULL, import_files},
};

static enum stax_status run_action(stax_tuner *tuner, size_t action, int count,
                                   const char *const *words, struct arena *arena)
{
    if (actions[action].whole) return actions[action].whole(tuner, count, words, arena);
    if (count > 1) STAX_RETURN(STAX_USAGE, "unexpected argument %s", words[1]);
    struct db *db = NULL;
    enum stax_status status = db_open(count ? words[0] : option_text(tuner, OPTION_DB), false,
                                      arena, &db);
    if (status == STAX_OK) status = actions[action].read(tuner, db, arena);
    db_close(db);
    return status;
}

enum stax_status command_results(stax_tuner *tuner, int count, const char *const *arguments,
                                 int *exit_code)
{
    (void)exit_code;
    struct arena *arena = arena_create();
    struct text names = text_make(arena);
    size_t action = 0;
    while (action < STAX_COUNT(actions) &&
           (count == 0 || strcmp(actions[action].name, arguments[0]) != 0))
        action++;
    for (size_t i = 0; i < STAX_COUNT(actions); i++)
        text_printf(&names, "%s%s",
                    i == 0                        ? ""
                    : i + 1 < STAX_COUNT(actions) ? ", "
                                                  : " or ",
                    actions[i].name);
    enum stax_status status;
    if (action < STAX_COUNT(actions))
        status = run_action(tuner, action, count - 1, arguments + 1, arena);
    else if (count)
        status = status_set(STAX_USAGE, "results %s: choose %s", arguments[0], text_string(&names));
    else
        status = status_set(STAX_USAGE, "say what to do: stax-tune results %s",
                            text_string(&names));
    arena_destroy(arena);
    return status;
}
