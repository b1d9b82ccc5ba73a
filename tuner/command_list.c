/* list: kernels, strategies, devices, options, each straight from its table. */
#include <string.h>

#include "tuner/tuner.h"

static void list_kernels(stax_tuner *tuner, struct arena *arena)
{
    const struct cg_entry *entries;
    int count = cg_catalogue(&entries);
    const char **cells = ARENA_ARRAY(arena, const char *, 2 * count);
    for (int i = 0; i < count; i++) {
        cells[2 * i] = entries[i].name;
        cells[2 * i + 1] = entries[i].summary;
    }
    say_table(tuner, 1, 2, count, cells);
}

static void list_strategies(stax_tuner *tuner, struct arena *arena)
{
    (void)arena;
    const struct search_ops *const *rows;
    int count = search_table(&rows);
    for (int i = 0; i < count; i++) {
        say(tuner, 1, "%-12s %s (%s)\n", rows[i]->name, rows[i]->summary, rows[i]->source);
        for (const struct search_option *option = rows[i]->options; option && option->name;
             option++) {
            say(tuner, 1, "  --set %s.%s=%s", rows[i]->name, option->name, option->fallback);
            if (option->kind == SEARCH_OPTION_CHOICE)
                say(tuner, 1, "  (%s)", option->choices);
            else
                say(tuner, 1, "  (%g to %g)", option->low, option->high);
            say(tuner, 1, "  %s\n", option->help);
        }
    }
}

static void list_devices(stax_tuner *tuner, struct arena *arena)
{
    const struct measure_device_row *rows;
    int count = measure_devices(&rows);
    for (int i = 0; i < count; i++) {
        struct measure_options options = {.device = rows[i].name};
        struct device_info info;
        say(tuner, 1, "%-8s %s\n", rows[i].name, rows[i].summary);
        if (strcmp(rows[i].name, "replay") == 0) continue;
        if (measure_probe(&options, arena, &info) == STAX_OK)
            say(tuner, 1, "         here: %s, %s\n", info.name, info.arch);
        else
            say(tuner, 1, "         not here: %s\n", status_message());
    }
}

static void list_options(stax_tuner *tuner, struct arena *arena)
{
    const char *name, *argument, *fallback, *commands, *help;
    for (int i = 0; stax_option_row(i, &name, &argument, &fallback, &commands, &help); i++) {
        char *left = arena_printf(arena, "--%s%s%s", name, argument ? " " : "",
                                  argument ? argument : "");
        say(tuner, 1, "  %-40s %s", left, help);
        if (fallback) say(tuner, 1, " [%s]", fallback);
        say(tuner, 1, " (%s)\n", commands);
    }
}

static const struct {
    const char *name;
    void (*list)(stax_tuner *tuner, struct arena *arena);
} lists[] = {
    {"kernels", list_kernels},
    {"strategies", list_strategies},
    {"devices", list_devices},
    {"options", list_options},
};

enum stax_status command_list(stax_tuner *tuner, int count, const char *const *arguments,
                              int *exit_code)
{
    (void)exit_code;
    for (size_t i = 0; count == 1 && i < STAX_COUNT(lists); i++) {
        if (strcmp(lists[i].name, arguments[0]) != 0) continue;
        struct arena *arena = arena_create();
        lists[i].list(tuner, arena);
        arena_destroy(arena);
        return STAX_OK;
    }
    STAX_RETURN(STAX_USAGE,
                "say what to list: stax-tune list kernels, strategies, devices or options");
}
