/* Creation, callbacks and dispatch of commands. */
#include "tuner/tuner.h"

#include <string.h>

#include "base/log.h"

struct command_row {
    const char *name, *usage, *summary;
    enum stax_status (*run)(stax_tuner *tuner, int count, const char *const *arguments,
                            int *exit_code);
};

static const struct command_row command_table[] = {
#define COMMAND(name, usage, summary) {#name, usage, summary, command_##name},
#include "tuner/commands.def"
#undef COMMAND
};

const char *stax_version(void)
{
    return STAX_VERSION;
}

stax_tuner *stax_create(void)
{
    struct arena *arena = arena_create();
    stax_tuner *tuner = ARENA_NEW(arena, stax_tuner);
    tuner->arena = arena;
    tuner->message = "";
    return tuner;
}

void stax_destroy(stax_tuner *tuner)
{
    if (tuner) arena_destroy(tuner->arena);
}

int stax_command_row(int row, const char **name, const char **usage, const char **summary)
{
    if (row < 0 || (size_t)row >= STAX_COUNT(command_table)) return 0;
    *name = command_table[row].name;
    *usage = command_table[row].usage;
    *summary = command_table[row].summary;
    return 1;
}

static void log_line(void *data, enum log_level level, const char *line)
{
    stax_tuner *tuner = data;
    if (level == LOG_DEBUG || option_given(tuner, OPTION_QUIET)) return;
    say(tuner, 2, "%s%s\n", level == LOG_WARNING ? "warning: " : "", line);
}

static int exit_of(enum stax_status status)
{
    switch (status) {
    case STAX_OK: return STAX_EXIT_OK;
    case STAX_USAGE:
    case STAX_NOTFOUND: return STAX_EXIT_USAGE;
    case STAX_CANCELLED: return STAX_EXIT_INTERRUPTED;
    default: return STAX_EXIT_FAILED;
    }
}

int stax_run(stax_tuner *tuner, const char *command, int count, const char *const *arguments)
{
    const char *names[STAX_COUNT(command_table)];
    tuner->message = "";
    log_set_sink(log_line, tuner);
    for (size_t i = 0; i < STAX_COUNT(command_table); i++) {
        names[i] = command_table[i].name;
        if (strcmp(names[i], command) != 0) continue;
        int exit_code = STAX_EXIT_OK;
        enum stax_status status = command_table[i].run(tuner, count, arguments, &exit_code);
        if (status != STAX_OK) {
            tuner->message = arena_text(tuner->arena, status_message());
            exit_code = exit_of(status);
        }
        log_set_sink(NULL, NULL);
        return exit_code;
    }
    const char *near = nearest_name(command, nearest_in_array, names,
                                    (int)STAX_COUNT(command_table));
    tuner->message =
        near ? arena_printf(tuner->arena, "unknown command %s; did you mean %s?", command, near)
             : arena_printf(tuner->arena, "unknown command %s; `stax-tune --help` lists them",
                            command);
    log_set_sink(NULL, NULL);
    return STAX_EXIT_USAGE;
}

const char *stax_message(const stax_tuner *tuner)
{
    return tuner->message;
}

const char *stax_json(const stax_tuner *tuner)
{
    return tuner->json;
}

void stax_on_text(stax_tuner *tuner, void (*write)(void *data, int stream, const char *text),
                  void *data)
{
    tuner->write = write;
    tuner->write_data = data;
}

void stax_on_progress(stax_tuner *tuner,
                      void (*show)(void *data, const struct stax_progress *progress), void *data)
{
    tuner->show = show;
    tuner->show_data = data;
}

void stax_interrupt(stax_tuner *tuner)
{
    tuner->interrupted = 1;
}
