/* What a run says at its end: the table and the JSON document (schema 1, docs/json.md). */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/session.h"

static json_t *config_json(const struct session *session, uint64_t config)
{
    json_t *object = json_object();
    const struct space *space = session->setup.space;
    for (int i = 0; i < space_params(space); i++) {
        const struct value *value = space_value(space, config, i);
        json_t *item = value->kind == VALUE_INT     ? json_integer(value->i)
                       : value->kind == VALUE_FLOAT ? json_real(value->f)
                       : value->kind == VALUE_BOOL  ? json_boolean(value->i)
                                                    : json_string(value->text);
        json_object_set_new(object, space_param(space, i)->name, item);
    }
    return object;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *timed_json(const struct session *session, uint64_t config,
                          const struct summary *summary, bool rates)
{
    if (summary->n == 0 || !isfinite(summary->median)) return json_null();
    json_t *object = json_object();
    json_object_set_new(object, "config", config_json(session, config));
    json_object_set_new(object, "time_us", json_real(summary->median / 1e3));
    json_object_set_new(
        object, "ci_us",
        json_pack("[o,o]", real_or_null(summary->low / 1e3), real_or_null(summary->high / 1e3)));
    if (rates) {
        double bytes_s = session->setup.bytes / (summary->median * 1e-9);
        double copy = session->setup.device->copy_bytes_s;
        json_object_set_new(object, "gbps", real_or_null(bytes_s > 0 ? bytes_s / 1e9 : NAN));
        json_object_set_new(object, "frac_of_roof",
                            copy > 0 ? json_real(bytes_s / copy) : json_null());
    }
    return object;
}

static json_t *document(const struct session *session)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_integer(1));
    json_object_set_new(root, "kernel", json_string(session->setup.problem));
    json_object_set_new(root, "device", json_string(session->setup.device->name));
    json_object_set_new(root, "strategy", json_string(session->strategy->name));
    json_object_set_new(root, "seed", json_integer((json_int_t)session->setup.seed));
    json_object_set_new(
        root, "best",
        session->best ? timed_json(session, session->best_config, &session->best_summary, true)
                      : json_null());
    json_object_set_new(root, "default",
                        timed_json(session, session->setup.candidates.config[0],
                                   &session->standard_summary, false));
    json_t *outcomes = json_object();
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (session->by_outcome[i])
            json_object_set_new(outcomes, outcome_table[i].name,
                                json_integer((json_int_t)session->by_outcome[i]));
    json_object_set_new(root, "trials",
                        json_pack("{s:I,s:I,s:I,s:o}", "total", (json_int_t)session->configs,
                                  "measured", (json_int_t)session->measured, "from_db",
                                  (json_int_t)session->from_db, "by_outcome", outcomes));
    json_object_set_new(root, "space",
                        json_pack("{s:f,s:I}", "total", space_cartesian(session->setup.space),
                                  "valid", (json_int_t)space_count(session->setup.space)));
    json_object_set_new(root, "elapsed_s", json_real(now_s() - session->started_s));
    json_object_set_new(root, "timer",
                        json_string(timer_names[measure_timer(session->setup.measure)]));
    json_object_set_new(root, "l2", json_string(l2_names[measure_l2(session->setup.measure)]));
    json_object_set_new(root, "replay_us",
                        session->replayed.n ? json_real(session->replayed.median / 1e3)
                                            : json_null());
    json_object_set_new(root, "claim", session->claim ? json_string(session->claim) : json_null());
    json_object_set_new(root, "interrupted", json_boolean(session->stopped));
    json_object_set_new(root, "warm_start", json_integer(session->answered ? 0 : session->warm));
    json_object_set_new(root, "database",
                        session->db ? json_string(db_path(session->db)) : json_null());
    return root;
}

static void say_timed(struct session *session, int stream, const char *label, uint64_t config,
                      const struct summary *summary, struct arena *arena)
{
    double copy = session->setup.device->copy_bytes_s;
    double bytes_s = session->setup.bytes / (summary->median * 1e-9);
    say(session->tuner, stream, "%-8s %s  [%s, %s]", label, time_text(summary->median, arena),
        time_text(summary->low, arena), time_text(summary->high, arena));
    if (bytes_s > 0) /* unknown for a kernel that another tuner recorded */
        say(session->tuner, stream, "  %.1f GB/s", bytes_s / 1e9);
    if (copy > 0) say(session->tuner, stream, "  %.1f %% of copy bandwidth", 100 * bytes_s / copy);
    say(session->tuner, stream, "\n         %s\n",
        space_config_text(session->setup.space, config, arena));
}

enum { MESSAGE_WIDTH = 100 }; /* chosen: a compiler's first line, mostly */

/* What an outcome means, and what the first configuration with a message says of itself. */
static const char *meaning_of(const struct session *session, enum outcome outcome,
                              struct arena *arena)
{
    const char *text = outcome_table[outcome].text;
    for (size_t i = 0; i < session->config_slots; i++) {
        const struct entry *entry = session->config_entry[i];
        if (!entry || !entry->known || entry->trial.outcome != outcome) continue;
        const char *message = entry->trial.message;
        if (!message || !message[0]) continue;
        int length = (int)strcspn(message, "\n");
        bool cut = length > MESSAGE_WIDTH;
        return arena_printf(arena, "%s: %.*s%s", text, cut ? MESSAGE_WIDTH : length, message,
                            cut ? "..." : "");
    }
    return text;
}

static void say_outcomes(struct session *session, int stream, struct arena *arena)
{
    const char *cells[3 * (OUTCOME_COUNT + 1)] = {"outcome", "configs", "meaning"};
    int rows = 1;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (!session->by_outcome[i]) continue;
        cells[3 * rows] = outcome_table[i].name;
        cells[3 * rows + 1] = arena_printf(arena, "%llu",
                                           (unsigned long long)session->by_outcome[i]);
        cells[3 * rows + 2] = meaning_of(session, (enum outcome)i, arena);
        rows++;
    }
    say_table(session->tuner, stream, 3, rows, cells);
}

static void say_result(struct session *session, int stream, struct arena *arena)
{
    stax_tuner *tuner = session->tuner;
    const struct setup *setup = &session->setup;
    say(tuner, stream, "%s on %s, strategy %s\n", setup->problem, setup->device->name,
        session->strategy->name);
    say(tuner, stream,
        "timer %s, L2 %s; space %llu valid of %.0f; %llu configs, %llu measured, %llu from the "
        "database\n",
        timer_names[measure_timer(setup->measure)], l2_names[measure_l2(setup->measure)],
        (unsigned long long)space_count(setup->space), space_cartesian(setup->space),
        (unsigned long long)session->configs, (unsigned long long)session->measured,
        (unsigned long long)session->from_db);
    if (session->warm_text && !session->answered)
        say(tuner, stream, "warm start: %s\n", session->warm_text);
    say(tuner, stream, "\n");
    if (session->configs) say_outcomes(session, stream, arena);
    say(tuner, stream, "\n");
    if (session->best) {
        say_timed(session, stream, "best", session->best_config, &session->best_summary, arena);
    } else {
        say(tuner, stream, "best     none: nothing passed verification\n");
    }
    if (session->standard_summary.n > 0) {
        say_timed(session, stream, "default", setup->candidates.config[0],
                  &session->standard_summary, arena);
        if (session->best)
            say(tuner, stream, "speed-up %.3f%s\n",
                session->standard_summary.median / session->best_summary.median,
                session->tie ? " (nothing was faster beyond noise; the default wins ties)" : "");
    } else {
        say(tuner, stream, "default  %s\n", session->stopped ? "not measured" : "failed");
    }
    if (session->best && measure_l2(setup->measure) == L2_WARM && setup->bytes > 0 &&
        setup->bytes < (double)setup->device->l2_bytes)
        say(tuner, stream,
            "note     L2 warm: the data stays in cache, so the rate may pass the copy bandwidth of "
            "memory\n");
    if (session->replayed.n)
        say(tuner, stream, "replay   %s in fresh processes (%+.1f %%)\n",
            time_text(session->replayed.median, arena),
            100 * (session->replayed.median / session->best_summary.median - 1));
    if (session->claim) say(tuner, stream, "claim    %s\n", session->claim);
    if (session->stopped)
        say(tuner, stream, "stopped by a signal; everything measured so far is kept\n");
    if (session->db) say(tuner, stream, "database %s\n", db_path(session->db));
}

enum stax_status session_report(struct session *session)
{
    struct arena *arena = arena_create();
    const char *path = option_text(session->tuner, OPTION_JSON);
    json_t *root = document(session);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(root);
    session->tuner->json = arena_text(session->tuner->arena, text ? text : "");
    free(text);
    say_result(session, path && strcmp(path, "-") == 0 ? 2 : 1, arena);
    arena_destroy(arena);
    return path ? write_document(session->tuner, path, session->tuner->json) : STAX_OK;
}
