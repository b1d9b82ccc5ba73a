/* simulate: strategies on recorded spaces, judged by the published method; and counts of described
 * spaces. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "tuner/gnuplot.h"
#include "tuner/session.h"
#include "tuner/simulate.h"

/* Other tuners' recordings: everything but running is the compile cost, as the published budgets
 * count it. */
static const struct recorded_config *take_recording(const struct recording *recording,
                                                    struct arena *arena)
{
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, recording->rows);
    for (uint64_t i = 0; i < recording->rows; i++) {
        const struct recording_row *row = &recording->row[i];
        config[i] = (struct recorded_config){.outcome = row->outcome,
                                             .time_ns = row->time_ns,
                                             .compile_s = row->compile_s + row->verify_s +
                                                          row->overhead_s,
                                             .run_s = row->benchmark_s,
                                             .samples = row->samples,
                                             .sample_ns = row->sample_ns};
    }
    return config;
}

/* Configurations that a constraint could not be evaluated for are not in the space. */
static void warn_of_space(const char *path, const struct space *space)
{
    if (space_warning(space)) log_write(LOG_WARNING, "%s: %s", path, space_warning(space));
}

static enum stax_status take_space(const char *path, struct arena *arena, struct recorded *out)
{
    struct replay *replay;
    STAX_TRY(replay_open(path, arena, &replay));
    const struct space *space = replay_space(replay);
    *out = (struct recorded){.name = path, .space = space};
    warn_of_space(path, space);
    if (replay_recording(replay)) {
        warn_of_recording(path, replay_recording(replay));
        out->config = take_recording(replay_recording(replay), arena);
        return STAX_OK;
    }
    uint64_t count = space_count(space);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, count);
    for (uint64_t i = 0; i < count; i++) {
        struct hash128 hash = space_config_hash(space, i);
        struct trial trial;
        STAX_TRY(replay_trial(replay, &hash, FIDELITY_AUTO, 0, arena, &trial));
        config[i] = (struct recorded_config){.outcome = trial.outcome,
                                             .time_ns = trial_time_ns(&trial),
                                             .compile_s = trial.compile.seconds,
                                             .run_s = trial.measure_s,
                                             .samples = trial.samples,
                                             .sample_ns = trial.span_ns};
    }
    out->config = config;
    return STAX_OK;
}

static bool is_of(const char *setting, const char *strategy)
{
    size_t length = strlen(strategy);
    return strncmp(setting, strategy, length) == 0 && setting[length] == '.';
}

/* Every --set is of a strategy that is simulated; search_open judges what is after the dot. */
static enum stax_status check_settings(const stax_tuner *tuner, int count,
                                       const struct simulate_entry *entry)
{
    const struct option_values *set = &tuner->option[OPTION_SET];
    for (int i = 0; i < set->count; i++) {
        bool known = false;
        for (int e = 0; e < count; e++) known |= is_of(set->text[i], entry[e].strategy);
        if (!known)
            STAX_RETURN(STAX_USAGE,
                        "--set %s: write --set STRATEGY.OPTION=VALUE of a strategy of --strategy "
                        "%s, as in --set %s.OPTION=VALUE",
                        set->text[i], option_text(tuner, OPTION_STRATEGY), entry[0].strategy);
    }
    return STAX_OK;
}

/* --strategy A,B,C (or auto) and, for each, its own --set values and --stop-within. */
static enum stax_status take_strategies(stax_tuner *tuner, struct arena *arena, int *count,
                                        struct simulate_entry **entries)
{
    const struct option_values *set = &tuner->option[OPTION_SET];
    char *list = arena_text(arena, option_text(tuner, OPTION_STRATEGY)), *save = NULL;
    *entries = ARENA_ARRAY(arena, struct simulate_entry, strlen(list) + 1);
    *count = 0;
    for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        const char **own = ARENA_ARRAY(arena, const char *, set->count + 1);
        struct simulate_entry entry = {.strategy = name, .setting = own};
        const struct search_ops *ops = search_find(name); /* unknown: simulate says so */
        const char *stop = NULL;
        for (int i = 0; i < set->count; i++)
            if (is_of(set->text[i], name)) own[entry.settings++] = set->text[i] + strlen(name) + 1;
        if (ops) STAX_TRY(stop_within(tuner, ops, arena, &stop));
        if (stop) own[entry.settings++] = stop;
        (*entries)[(*count)++] = entry;
    }
    if (*count == 0)
        STAX_RETURN(STAX_USAGE, "--strategy: name one or more, as in --strategy random,auto");
    return check_settings(tuner, *count, *entries);
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3; /* of kilobytes */
}

/* One line a file: valid configurations, combinations, seconds, bytes. */
static enum stax_status count_spaces(stax_tuner *tuner, struct arena *arena)
{
    const struct option_values *files = &tuner->option[OPTION_SPACE];
    for (int i = 0; i < files->count; i++) {
        struct t1 *t1 = ARENA_NEW(arena, struct t1);
        double start = now_s();
        enum stax_status status = import_t1(files->text[i], arena, t1);
        if (status != STAX_OK) return status_prefix(status, "--count takes a T1 file");
        warn_of_space(files->text[i], t1->space);
        say(tuner, 1, "%llu\n", (unsigned long long)space_count(t1->space));
        say(tuner, 2,
            "%s: %llu valid of %.0f in %.3f s, trees of %.0f kB, peak of the process %.1f MB\n",
            files->text[i], (unsigned long long)space_count(t1->space), space_cartesian(t1->space),
            now_s() - start, (double)space_bytes(t1->space) / 1e3, peak_mb());
    }
    return STAX_OK;
}

static enum stax_status take_options(stax_tuner *tuner, uint64_t valid,
                                     struct simulate_options *options)
{
    int64_t repeats, seed;
    struct budget budget;
    STAX_TRY(option_int(tuner, OPTION_REPEATS, 1, 1000000, &repeats));
    STAX_TRY(option_int(tuner, OPTION_SEED, 0, INT64_MAX, &seed));
    *options = (struct simulate_options){
        .repeats = (int)repeats,
        .seed = (uint64_t)seed,
        .cutoff = 0.95, /* autotuning methodology 2024, section 4.1 */
        .start = 0.01,
        .budget_configs = UINT64_MAX,
        .quantile = 0.05,
        .confidence = 0.95};
    if (!option_given(tuner, OPTION_BUDGET)) return STAX_OK;
    STAX_TRY(budget_parse(tuner, valid, &budget));
    options->budget_configs = budget.configs;
    options->budget_s = isfinite(budget.seconds) ? budget.seconds : 0;
    return STAX_OK;
}

static enum stax_status draw(const struct simulate_report *report, const char *picture,
                             struct arena *arena)
{
    struct text script = text_make(arena);
    STAX_TRY(simulate_plot(report, picture, arena, &script));
    return gnuplot_draw(picture, &script);
}

static enum stax_status run_simulation(stax_tuner *tuner, struct arena *arena)
{
    struct text head = text_make(arena);
    const struct option_values *files = &tuner->option[OPTION_SPACE];
    int entries;
    struct simulate_entry *entry;
    const char *path = option_text(tuner, OPTION_JSON), *picture = option_text(tuner, OPTION_PLOT);
    if (path && files->count > 1) STAX_RETURN(STAX_USAGE, "--json takes one --space at a time");
    if (picture && files->count > 1) STAX_RETURN(STAX_USAGE, "--plot takes one --space at a time");
    if (picture)
        STAX_TRY(gnuplot_begin(&head, picture, 0, 0)); /* a bad name is said before the work */
    STAX_TRY(take_strategies(tuner, arena, &entries, &entry));
    for (int i = 0; i < files->count; i++) {
        struct recorded recorded;
        struct simulate_options options;
        struct simulate_report report;
        STAX_TRY(take_space(files->text[i], arena, &recorded));
        STAX_TRY(take_options(tuner, space_count(recorded.space), &options));
        STAX_TRY(simulate(&recorded, &options, entries, entry, arena, &report));
        bool to_stdout = path && strcmp(path, "-") == 0;
        say(tuner, to_stdout ? 2 : 1, "%s", simulate_table(&report, arena));
        if (path) STAX_TRY(write_document(tuner, path, simulate_json(&report, arena)));
        if (picture) STAX_TRY(draw(&report, picture, arena));
    }
    return STAX_OK;
}

/* An option of other commands would change nothing here: refused, not ignored. */
static enum stax_status check_options(const stax_tuner *tuner)
{
    const char *name, *argument, *fallback, *commands, *help;
    for (int i = 0; stax_option_row(i, &name, &argument, &fallback, &commands, &help); i++)
        if (option_given(tuner, (enum option)i) && !strstr(commands, "simulate"))
            STAX_RETURN(STAX_USAGE, "--%s is an option of %s, not of simulate", name, commands);
    return STAX_OK;
}

enum stax_status command_simulate(stax_tuner *tuner, int count, const char *const *arguments,
                                  int *exit_code)
{
    (void)exit_code;
    if (count)
        STAX_RETURN(STAX_USAGE, "unexpected argument %s; name files with --space", arguments[0]);
    if (!option_given(tuner, OPTION_SPACE))
        STAX_RETURN(STAX_USAGE, "name a recorded space: --space FILE (a .h5 of ours, a Kernel "
                                "Tuner cache or T4; T1 with --count)");
    STAX_TRY(check_options(tuner));
    struct arena *arena = arena_create();
    enum stax_status status = option_given(tuner, OPTION_ONLY_COUNT) ? count_spaces(tuner, arena)
                                                                     : run_simulation(tuner, arena);
    arena_destroy(arena);
    return status;
}
