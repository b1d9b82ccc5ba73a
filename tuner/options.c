/* The option table: setting, defaults, checked numbers, nearest names. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/tuner.h"

struct option_row {
    const char *name, *argument, *fallback;
    bool repeat;
    const char *commands, *help;
};

static const struct option_row option_table[OPTION_COUNT] = {
#define OPTION(id, name, argument, fallback, repeat, commands, help) \
    [OPTION_##id] = {name, argument, fallback, repeat, commands, help},
#include "tuner/options.def"
#undef OPTION
};

int stax_option_row(int row, const char **name, const char **argument, const char **fallback,
                    const char **commands, const char **help)
{
    if (row < 0 || row >= OPTION_COUNT) return 0;
    *name = option_table[row].name;
    *argument = option_table[row].argument;
    *fallback = option_table[row].fallback;
    *commands = option_table[row].commands;
    *help = option_table[row].help;
    return 1;
}

static enum stax_status set_option(stax_tuner *tuner, const char *name, const char *value)
{
    const char *names[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT; i++) {
        names[i] = option_table[i].name;
        if (strcmp(option_table[i].name, name) != 0) continue;
        const struct option_row *row = &option_table[i];
        if (row->argument && (!value || !*value))
            STAX_RETURN(STAX_USAGE, "--%s needs a value: --%s %s", name, name, row->argument);
        if (!row->argument && value) STAX_RETURN(STAX_USAGE, "--%s takes no value", name);
        struct option_values *values = &tuner->option[i];
        if (values->count && !row->repeat)
            values->count = 0; /* the last one counts, as in most programs */
        values->text = arena_grow(tuner->arena, values->text, (size_t)values->count,
                                  (size_t)values->count + 1, sizeof *values->text);
        values->text[values->count++] = arena_text(tuner->arena, value ? value : "");
        return STAX_OK;
    }
    const char *near = nearest_name(name, nearest_in_array, names, OPTION_COUNT);
    if (near) STAX_RETURN(STAX_USAGE, "unknown option --%s; did you mean --%s?", name, near);
    STAX_RETURN(STAX_USAGE, "unknown option --%s; `stax-tune --help` lists the options", name);
}

int stax_set(stax_tuner *tuner, const char *option, const char *value)
{
    if (set_option(tuner, option, value) == STAX_OK) return STAX_EXIT_OK;
    tuner->message = arena_text(tuner->arena, status_message());
    return STAX_EXIT_USAGE;
}

bool option_given(const stax_tuner *tuner, enum option option)
{
    return tuner->option[option].count > 0;
}

const char *option_text(const stax_tuner *tuner, enum option option)
{
    const struct option_values *values = &tuner->option[option];
    return values->count ? values->text[values->count - 1] : option_table[option].fallback;
}

enum stax_status option_int(const stax_tuner *tuner, enum option option, int64_t low, int64_t high,
                            int64_t *value)
{
    const char *text = option_text(tuner, option);
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < low || number > high)
        STAX_RETURN(STAX_USAGE, "--%s %s: give a whole number from %lld to %lld",
                    option_table[option].name, text, (long long)low, (long long)high);
    *value = number;
    return STAX_OK;
}

enum stax_status option_real(const stax_tuner *tuner, enum option option, double low, double high,
                             double *value)
{
    const char *text = option_text(tuner, option);
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high))
        STAX_RETURN(STAX_USAGE, "--%s %s: give a number from %g to %g", option_table[option].name,
                    text, low, high);
    *value = number;
    return STAX_OK;
}

enum stax_status option_choice(const stax_tuner *tuner, enum option option,
                               const char *const *names, int count, int absent, int *value)
{
    *value = absent;
    const char *text = option_text(tuner, option);
    if (!text) return STAX_OK;
    struct arena *scratch = arena_create();
    struct text list = text_make(scratch);
    for (int i = 0; i < count; i++) {
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
        if (strcmp(names[i], text) == 0) *value = i;
    }
    enum stax_status status = STAX_OK;
    if (*value == absent)
        status = status_set(STAX_USAGE, "--%s %s: choose one of %s", option_table[option].name,
                            text, text_string(&list));
    arena_destroy(scratch);
    return status;
}
