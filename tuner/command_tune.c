/* tune: opens everything, asks the database for the whole answer, else searches, races, records and
 * reports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "tuner/session.h"

/* Options of the chosen strategy from --set strategy.option=value; those of another strategy are an
 * error, not ignored. */
static enum stax_status strategy_settings(struct session *session, int *count,
                                          const char ***settings)
{
    const struct option_values *set = &session->tuner->option[OPTION_SET];
    *settings = ARENA_ARRAY(session->arena, const char *, set->count + 1);
    *count = 0;
    for (int i = 0; i < set->count; i++) {
        const char *dot = strchr(set->text[i], '.');
        size_t length = dot ? (size_t)(dot - set->text[i]) : 0;
        if (!dot || strlen(session->strategy->name) != length ||
            strncmp(session->strategy->name, set->text[i], length) != 0)
            STAX_RETURN(STAX_USAGE, "--set %s: the strategy is %s, so write --set %s.OPTION=VALUE",
                        set->text[i], session->strategy->name, session->strategy->name);
        (*settings)[(*count)++] = dot + 1;
    }
    const char *stop;
    STAX_TRY(stop_within(session->tuner, session->strategy, session->arena, &stop));
    if (stop) (*settings)[(*count)++] = stop;
    return STAX_OK;
}

static enum stax_status find_strategy(struct session *session)
{
    const char *name = option_text(session->tuner, OPTION_STRATEGY);
    session->strategy = search_find(name);
    if (session->strategy) return STAX_OK;
    const struct search_ops *const *rows;
    int count = search_table(&rows);
    const char **names = ARENA_ARRAY(session->arena, const char *, count);
    struct text list = text_make(session->arena);
    for (int i = 0; i < count; i++) {
        names[i] = rows[i]->name;
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    STAX_RETURN(STAX_USAGE, "--strategy %s: choose one of %s", name, text_string(&list));
}

static enum stax_status open_search(struct session *session)
{
    int count;
    const char **settings;
    double quantile, confidence;
    STAX_TRY(strategy_settings(session, &count, &settings));
    STAX_TRY(option_real(session->tuner, OPTION_QUANTILE, 1e-9, 1, &quantile));
    STAX_TRY(option_real(session->tuner, OPTION_CONFIDENCE, 1e-9, 1 - 1e-12, &confidence));
    struct search_problem problem = {.space = session->setup.space,
                                     .candidates = session->setup.candidates.count,
                                     .candidate = session->setup.candidates.config,
                                     .seed = session->setup.seed,
                                     .budget_configs = session->budget.configs,
                                     .quantile = quantile,
                                     .confidence = confidence};
    STAX_TRY(warm_start(session, &problem));
    STAX_TRY(search_open(session->strategy, &problem, count, settings, session->arena,
                         &session->search));
    session->settings = search_settings(session->search, session->arena);
    return STAX_OK;
}

/* What makes two runs the same question (book algorithm 9.1 line 1: source and candidate set; and
 * how it is asked). */
static const char *question(struct session *session)
{
    const struct setup *setup = &session->setup;
    struct text text = text_make(session->arena);
    struct arena *scratch = arena_create();
    text_printf(&text, "%s\n%s\n%s\n%s\n%s\n", STAX_VERSION, setup->problem, setup->source,
                setup->device->uuid, setup->device->driver);
    text_printf(&text, "%s\n%s\n%s\n%s\n%llu\n%s\n", setup->device->compiler,
                measure_protocol(setup->measure), session->strategy->name, session->settings,
                (unsigned long long)setup->seed, session->budget.text);
    text_printf(&text, "%s\n%s\n%s\n", option_text(session->tuner, OPTION_SPILL_LIMIT),
                option_text(session->tuner, OPTION_QUANTILE),
                option_text(session->tuner, OPTION_CONFIDENCE));
    for (int i = 0; i < setup->candidates.count; i++) {
        struct job *job; /* emitted texts: a changed emitter asks a new question */
        if (setup_job(setup, setup->candidates.config[i], scratch, &job) != STAX_OK) continue;
        char hex[33];
        hash128_hex(job_hash(job), hex);
        text_printf(&text, "%s\n", hex);
    }
    for (int i = 0; i < space_params(setup->space); i++) {
        const struct param *param = space_param(setup->space, i);
        text_printf(&text, "%s:", param->name);
        for (int k = 0; k < param->count; k++)
            text_printf(&text, " %s", value_text(&param->values[k], scratch));
        text_add(&text, "\n");
    }
    for (int i = 0; i < space_constraints(setup->space); i++)
        text_printf(&text, "%s\n", space_constraint(setup->space, i));
    for (int i = 0; i < space_definitions(setup->space); i++) {
        struct value value;
        const char *name = space_definition(setup->space, i, &value);
        text_printf(&text, "%s=%s\n", name, value_text(&value, scratch));
    }
    arena_destroy(scratch);
    char hex[33];
    hash128_hex(hash128_bytes(text.bytes, text.length), hex);
    return arena_text(session->arena, hex);
}

static enum stax_status begin_run(struct session *session, const char *key)
{
    const struct setup *setup = &session->setup;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    struct run_info info = {.kernel = setup->name,
                            .problem = setup->problem,
                            .source = setup->source,
                            .source_hash = hash128_bytes(setup->source, strlen(setup->source)),
                            .device = setup->device,
                            .timer = measure_timer(setup->measure),
                            .l2 = measure_l2(setup->measure),
                            .protocol = measure_protocol(setup->measure),
                            .strategy = session->strategy->name,
                            .settings = session->settings,
                            .command = "tune",
                            .host = host,
                            .version = STAX_VERSION,
                            .seed = setup->seed,
                            .bytes = setup->bytes,
                            .flop = setup->flop,
                            .key = key,
                            .space = setup->space,
                            .started_unix_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec};
    return run_begin(session->db, &info, session->arena, &session->run);
}

/* Counts the stored run's configurations by outcome, each once, and finds the race's samples of the
 * default. */
static enum stax_status recount(struct session *session, const char *key)
{
    struct stored_run *runs;
    struct stored_trial *trials;
    uint64_t run_count, count, at = UINT64_MAX;
    STAX_TRY(db_runs(session->db, session->arena, &runs, &run_count));
    for (uint64_t i = 0; i < run_count; i++)
        if (runs[i].result.complete && runs[i].info.key && strcmp(runs[i].info.key, key) == 0)
            at = i;
    if (at == UINT64_MAX) return STAX_OK;
    STAX_TRY(db_trials(session->db, runs[at].id, session->arena, &trials, &count));
    struct hash128 standard = space_config_hash(session->setup.space,
                                                session->setup.candidates.config[0]);
    for (uint64_t i = 0; i < count; i++) {
        const struct trial *trial = &trials[i].trial;
        bool seen = false;
        for (uint64_t k = 0; k < i && !seen; k++)
            seen = hash128_equal(trials[k].config, trials[i].config);
        if (!seen) session->by_outcome[trial->outcome]++, session->configs++;
        if (trial->stage != STAGE_FINAL || trial->samples <= 1 ||
            !hash128_equal(trials[i].config, standard))
            continue;
        /* The race's, not those of the replay: the recorded median tells. It was stored as f32. */
        struct summary summary = stats_summary(trial->span_ns, trial->samples, 0.95);
        double recorded = session->standard_summary.median;
        if (fabs(summary.median - recorded) <= 1e-6 * recorded) session->standard_summary = summary;
    }
    session->from_db = session->configs;
    return STAX_OK;
}

/* The stored answer of the same question, put where a search would have put it. */
static enum stax_status answer_from_database(struct session *session, const char *key)
{
    struct run_result result;
    bool found = false;
    if (option_given(session->tuner, OPTION_FRESH)) return STAX_OK;
    STAX_TRY(db_find_run(session->db, key, session->arena, &result, &found));
    if (!found || !result.has_best) return STAX_OK;
    uint64_t config;
    if (space_parse_config(session->setup.space, result.best_text,
                           session->setup.candidates.config[0], &config) != STAX_OK)
        return STAX_OK; /* a space that changed under the same key cannot answer: search again */
    session->answered = true;
    session->claim = result.claim;
    session->best_config = config;
    STAX_TRY(session_entry(session, config, &session->best));
    session->best_summary = (struct summary){
        .n = 1, .median = result.best_ns, .low = result.best_low_ns, .high = result.best_high_ns};
    session->standard_summary = (struct summary){.n = isfinite(result.default_ns) ? 1 : 0,
                                                 .median = result.default_ns,
                                                 .low = result.default_ns,
                                                 .high = result.default_ns};
    session->tie = config == session->setup.candidates.config[0];
    session->configs = 0;
    return recount(session, key);
}

static void count_outcomes(struct session *session)
{
    for (size_t i = 0; i < session->config_slots; i++) {
        const struct entry *entry = session->config_entry[i];
        if (!entry) continue;
        session->by_outcome[entry->known ? entry->trial.outcome : OUTCOME_SKIPPED]++;
    }
}

static enum stax_status end_run(struct session *session)
{
    if (!session->run) return STAX_OK;
    struct arena *scratch = arena_create();
    struct run_result result = {
        .complete = !session->stopped,
        .has_best = session->best != NULL,
        .default_ns = session->standard_summary.n ? session->standard_summary.median : NAN,
        .best_ns = NAN,
        .best_low_ns = NAN,
        .best_high_ns = NAN,
        .best_text = "",
        .elapsed_s = now_s() - session->started_s,
        .claim = session->claim,
    };
    if (session->best) {
        result.best_config = space_config_hash(session->setup.space, session->best_config);
        result.best_text = space_config_text(session->setup.space, session->best_config, scratch);
        result.best_ns = session->best_summary.median;
        result.best_low_ns = session->best_summary.low;
        result.best_high_ns = session->best_summary.high;
    }
    enum stax_status status = run_end(session->run, &result);
    session->run = NULL;
    arena_destroy(scratch);
    return status;
}

static void starting(void *data, uint64_t ticket)
{
    struct session *session = data;
    if (!session->run || ticket >= session->tickets) return;
    const struct entry *entry = session->ticket[ticket];
    if (run_start(session->run, entry->config, entry->job_hash) != STAX_OK)
        log_write(LOG_WARNING, "the journal could not be written: %s", status_message());
}

static enum stax_status tune(struct session *session)
{
    stax_tuner *tuner = session->tuner;
    STAX_TRY(find_strategy(session));
    STAX_TRY(check_document(option_text(tuner, OPTION_JSON)));
    struct setup kernel_only = {0};
    if (!setup_foreign(tuner)) /* a mistake in the text shows before anything starts */
        STAX_TRY(setup_kernel(tuner, session->arena, &kernel_only));
    STAX_TRY(db_open(option_text(tuner, OPTION_DB), true, session->arena, &session->db));
    STAX_TRY(setup_open(tuner, session->arena, starting, session, &session->setup));
    STAX_TRY(budget_parse(tuner, space_count(session->setup.space), &session->budget));
    STAX_TRY(open_search(session));
    const char *key = question(session);
    if (!session->setup.replay) STAX_TRY(answer_from_database(session, key));
    if (session->answered) {
        say(tuner, 2,
            "the database holds this very run: nothing is measured; --fresh measures again\n");
        return session_report(session);
    }
    if (!session->setup.replay) STAX_TRY(begin_run(session, key));
    STAX_TRY(session_search(session));
    STAX_TRY(session_finals(session));
    if (tuner->interrupted) session->stopped = true;
    count_outcomes(session);
    STAX_TRY(end_run(session));
    return session_report(session);
}

enum stax_status command_tune(stax_tuner *tuner, int count, const char *const *arguments,
                              int *exit_code)
{
    if (count)
        STAX_RETURN(STAX_USAGE, "unexpected argument %s; options begin with --", arguments[0]);
    struct arena *arena = arena_create();
    struct session session = {.tuner = tuner, .arena = arena, .started_s = now_s()};
    enum stax_status status = tune(&session);
    if (status != STAX_OK &&
        session.run) { /* what was measured is kept; the reason stays the message */
        char *reason = arena_text(arena, status_message());
        session.stopped = true;
        if (end_run(&session) != STAX_OK) log_write(LOG_WARNING, "%s", status_message());
        status_set(status, "%s", reason);
    }
    if (status == STAX_OK) {
        if (session.stopped)
            *exit_code = STAX_EXIT_INTERRUPTED;
        else if (!session.best)
            *exit_code = STAX_EXIT_NOTHING;
    }
    setup_close(&session.setup);
    db_close(session.db);
    arena_destroy(arena);
    return status;
}
