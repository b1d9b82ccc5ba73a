/* export: a run of a database, or another tuner's recording, as a file for other tools. Formats are
 * one table; docs/formats.md says what maps to what. */
#include <string.h>

#include "tuner/tuner.h"

static const struct {
    const char *name;
    const char *(*write)(const struct recording *recording, struct arena *arena); /* NULL: CSV */
} formats[] = {
    {"csv", NULL},
    {"t4", export_t4},
    {"cache", export_cache},
};

static enum stax_status chosen_format(const stax_tuner *tuner, int *format)
{
    const char *names[STAX_COUNT(formats)];
    for (size_t i = 0; i < STAX_COUNT(formats); i++) names[i] = formats[i].name;
    STAX_TRY(option_choice(tuner, OPTION_FORMAT, names, STAX_COUNT(formats), -1, format));
    if (*format < 0)
        STAX_RETURN(STAX_USAGE,
                    "name a format: --format csv, t4 (T4 results) or cache (Kernel Tuner)");
    return STAX_OK;
}

static enum stax_status export_run(stax_tuner *tuner, const char *path, int format,
                                   struct arena *arena, const char **text)
{
    uint64_t run;
    struct recording *recording = NULL;
    struct db *db = NULL;
    enum stax_status status = db_open(path, false, arena, &db);
    if (status == STAX_OK) status = results_chosen_run(tuner, db, arena, &run);
    if (status == STAX_OK && !formats[format].write)
        status = db_csv_columns(db, run, option_text(tuner, OPTION_COLUMNS), arena, text);
    else if (status == STAX_OK)
        status = db_recording(db, run, arena, &recording);
    db_close(db);
    if (recording) *text = formats[format].write(recording, arena);
    return status;
}

static enum stax_status export_file(const char *path, int format, struct arena *arena,
                                    const char **text)
{
    struct recording *recording;
    STAX_TRY(import_recording(path, arena, &recording));
    if (!formats[format].write)
        STAX_RETURN(STAX_USAGE, "CSV is made from a database: stax-tune results import %s first",
                    path);
    warn_of_recording(path, recording);
    *text = formats[format].write(recording, arena);
    return STAX_OK;
}

enum stax_status command_export(stax_tuner *tuner, int count, const char *const *arguments,
                                int *exit_code)
{
    (void)exit_code;
    int format;
    const char *text = "", *to = option_text(tuner, OPTION_OUTPUT);
    const char *from = count ? arguments[0] : option_text(tuner, OPTION_DB);
    STAX_TRY(chosen_format(tuner, &format));
    if (count > 1)
        STAX_RETURN(STAX_USAGE, "unexpected argument %s; name the file with -o PATH", arguments[1]);
    struct arena *arena = arena_create();
    size_t length = from ? strlen(from) : 0;
    bool recording = (length > 5 && !strcmp(from + length - 5, ".json")) ||
                     (length > 8 && !strcmp(from + length - 8, ".json.gz"));
    enum stax_status status = recording ? export_file(from, format, arena, &text)
                                        : export_run(tuner, from, format, arena, &text);
    if (status == STAX_OK && to && strcmp(to, "-") != 0)
        status = write_file(to, text, strlen(text));
    else if (status == STAX_OK)
        say(tuner, 1, "%s%s", text, formats[format].write ? "\n" : "");
    arena_destroy(arena);
    return status;
}
