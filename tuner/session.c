/* The search loop: asks go to the pool, the database or the device; tells come back in ask order.
 */
#include "tuner/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum { ASK_AHEAD = 64 }; /* chosen: keeps 16 compile workers busy */

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "30s" seconds, "200" configurations, "10%" of the valid space; without one: 200 configurations or
 * 60 s. */
enum stax_status budget_parse(stax_tuner *tuner, uint64_t valid, struct budget *budget)
{
    const char *text = option_text(tuner, OPTION_BUDGET);
    *budget = (struct budget){.configs = 200, .seconds = 60, .text = "200 or 60s"};
    if (!text) return STAX_OK;
    char *end;
    double number = strtod(text, &end);
    bool whole = number == floor(number);
    *budget = (struct budget){.configs = UINT64_MAX, .seconds = INFINITY, .text = text};
    if (end != text && number > 0 && number < 1e15) {
        if (strcmp(end, "s") == 0) return budget->seconds = number, STAX_OK;
        if (*end == '\0' && whole) return budget->configs = (uint64_t)number, STAX_OK;
        if (strcmp(end, "%") == 0 && number <= 100)
            return budget->configs = (uint64_t)ceil(number / 100 * (double)valid), STAX_OK;
    }
    STAX_RETURN(
        STAX_USAGE,
        "--budget %s: give seconds (30s), configurations (200) or a share of the space (10%%)",
        text);
}

enum stax_status stop_within(stax_tuner *tuner, const struct search_ops *strategy,
                             struct arena *arena, const char **setting)
{
    const char *text = option_text(tuner, OPTION_STOP_WITHIN);
    *setting = NULL;
    if (!text) return STAX_OK;
    char *end;
    double percent = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(percent > 0 && percent < 100))
        STAX_RETURN(STAX_USAGE,
                    "--stop-within %s: give a share in per cent, as in --stop-within 1%%", text);
    for (const struct search_option *o = strategy->options; o && o->name; o++) {
        if (strcmp(o->name, "stop_within") != 0) continue;
        *setting = arena_printf(arena, "stop_within=%g", percent / 100);
        return STAX_OK;
    }
    STAX_RETURN(STAX_USAGE, "--stop-within: strategy %s goes on to its end; use --strategy auto",
                strategy->name);
}

/* Configurations that have an answer; a strategy may ask for many before the first has one. */
static uint64_t count_known(const struct session *session)
{
    uint64_t known = 0;
    for (size_t i = 0; i < session->config_slots; i++)
        known += session->config_entry[i] && session->config_entry[i]->known;
    return known;
}

void session_progress(struct session *session, const char *phase, bool force)
{
    stax_tuner *tuner = session->tuner;
    double now = now_s();
    if (!tuner->show || (!force && now - session->shown_s < 0.1))
        return; /* chosen: ten times a second */
    session->shown_s = now;
    struct arena *scratch = arena_create();
    double best = session->best ? trial_time_ns(&session->best->trial) : NAN;
    double standard = session->standard && session->standard->known
                          ? trial_time_ns(&session->standard->trial)
                          : NAN;
    double copy = session->setup.device->copy_bytes_s;
    struct stax_progress progress = {
        .struct_size = sizeof progress,
        .phase = phase,
        .trials = count_known(session),
        .limit = session->budget.configs == UINT64_MAX ? 0 : session->budget.configs,
        .elapsed_s = now - session->started_s,
        .limit_s = isfinite(session->budget.seconds) ? session->budget.seconds : 0,
        .best_us = best / 1e3,
        .default_us = isfinite(standard) ? standard / 1e3 : NAN,
        .roof_frac = copy > 0 ? session->setup.bytes / (best * 1e-9) / copy : NAN,
        .best = session->best
                    ? space_config_text(session->setup.space, session->best_config, scratch)
                    : "",
    };
    tuner->show(tuner->show_data, &progress);
    arena_destroy(scratch);
}

/* A strategy sees the first `fidelity` samples, so that its answer does not depend on what others
 * asked. */
static struct trial trial_for(const struct entry *entry, int fidelity)
{
    struct trial trial = entry->trial;
    if (fidelity != FIDELITY_AUTO && trial.samples > fidelity) trial.samples = fidelity;
    return trial;
}

static void note_best(struct session *session, struct entry *entry, uint64_t config)
{
    if (!entry->trial.verified) return;
    double time = trial_time_ns(&entry->trial);
    if (!isfinite(time)) return;
    if (session->best && entry != session->best && !(time < trial_time_ns(&session->best->trial)))
        return;
    session->best = entry;
    session->best_config = config;
}

static void answer(struct session *session, struct entry *entry, const struct ask *ask)
{
    struct trial trial = trial_for(entry, ask->fidelity);
    if (ask->fidelity == FIDELITY_AUTO) entry->automatic = true;
    note_best(session, entry, ask->config);
    search_tell(session->search, ask, &trial);
    session->told++;
    session_progress(session, "search", false);
}

static bool enough(const struct entry *entry, const struct ask *ask)
{
    if (!entry->known) return false;
    if (entry->trial.outcome != OUTCOME_OK) return true;
    if (ask->fidelity == FIDELITY_AUTO) return entry->automatic;
    return entry->trial.samples >= ask->fidelity;
}

/* Stored samples answer when the same job was measured on the same device in the same way with at
 * least as many. */
enum stax_status session_look_up(struct session *session, struct entry *entry, int fidelity)
{
    if (entry->known || !session->db || option_given(session->tuner, OPTION_FRESH) ||
        session->setup.replay)
        return STAX_OK;
    struct arena *scratch = arena_create();
    struct trial trial;
    bool found = false;
    enum stax_status status = db_find_trial(session->db, entry->job_hash, session->setup.device,
                                            measure_protocol(session->setup.measure),
                                            session->setup.seed, fidelity, scratch, &trial, &found);
    if (status == STAX_OK && found && !outcome_table[trial.outcome].again) {
        entry_merge(session, entry, &trial);
        entry->stored = trial.samples;
        entry->automatic = fidelity == FIDELITY_AUTO;
        session->from_db++;
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status launch(struct session *session, struct entry *entry,
                               const struct measure_plan *plan, int asked)
{
    struct arena *scratch = arena_create();
    struct job *job;
    enum stax_status status = setup_job(&session->setup, entry->config, scratch, &job);
    if (session->tickets == session->tickets_room) {
        session->tickets_room = session->tickets_room ? session->tickets_room * 2 : 64;
        session->ticket = arena_grow(session->arena, session->ticket, session->tickets,
                                     session->tickets_room, sizeof *session->ticket);
    }
    if (status == STAX_OK)
        status = measure_submit(session->setup.measure, session->tickets, job, plan);
    arena_destroy(scratch);
    if (status != STAX_OK) return status;
    session->ticket[session->tickets++] = entry;
    entry->flight_asked = asked;
    entry->in_flight = true;
    session->outstanding++;
    return STAX_OK;
}

static void wait_on(struct session *session, struct entry *entry, const struct ask *ask)
{
    struct waiter *waiter = ARENA_NEW(session->arena, struct waiter);
    waiter->ask = *ask;
    struct waiter **last = &entry->waiters;
    while (*last) last = &(*last)->next;
    *last = waiter;
}

static enum stax_status handle_ask(struct session *session, const struct ask *ask)
{
    struct entry *entry;
    STAX_TRY(session_entry(session, ask->config, &entry));
    session->asked++;
    if (entry->in_flight) return wait_on(session, entry, ask), STAX_OK;
    STAX_TRY(session_look_up(session, entry, ask->fidelity));
    if (enough(entry, ask)) return answer(session, entry, ask), STAX_OK;
    struct measure_plan plan = {
        .samples = ask->fidelity == FIDELITY_AUTO
                       ? 0
                       : ask->fidelity - (entry->known ? entry->trial.samples : 0),
        .verify = !(entry->known && entry->trial.verified && entry->stored == 0),
        .stage = STAGE_SEARCH,
        .config = space_config_hash(session->setup.space, ask->config),
    };
    wait_on(session, entry, ask);
    return launch(session, entry, &plan, ask->fidelity);
}

/* Records a finished flight and answers everybody who waited for it; one who wanted more flies
 * again. */
static enum stax_status land(struct session *session, struct entry *entry,
                             const struct trial *trial, int asked)
{
    entry->in_flight = false;
    session->outstanding--;
    bool fresh = !entry->known || entry->stored == entry->trial.samples;
    if (fresh) session->measured++;
    entry_merge(session, entry, trial);
    if (session->run && !session->setup.replay)
        STAX_TRY(run_trial(session->run, entry->config, entry->job_hash, asked, trial));
    struct waiter *waiter = entry->waiters;
    entry->waiters = NULL;
    for (; waiter; waiter = waiter->next) {
        if (asked == FIDELITY_AUTO) entry->automatic = true;
        if (enough(entry, &waiter->ask) || entry->trial.outcome != OUTCOME_OK ||
            waiter->ask.fidelity == asked)
            answer(session, entry, &waiter->ask);
        else
            STAX_TRY(handle_ask(session, &waiter->ask));
    }
    return STAX_OK;
}

/* A cancelled flight leaves the entry as it was before. */
static void drop(struct session *session, struct entry *entry)
{
    entry->in_flight = false;
    entry->waiters = NULL;
    session->outstanding--;
}

static enum stax_status collect(struct session *session, double wait_s)
{
    struct arena *scratch = arena_create();
    struct trial trial;
    uint64_t ticket;
    enum stax_status status = measure_next(session->setup.measure, wait_s, scratch, &ticket,
                                           &trial);
    if (status == STAX_OK && ticket < session->tickets) {
        struct entry *entry = session->ticket[ticket];
        if (trial.outcome == OUTCOME_SKIPPED)
            drop(session, entry);
        else
            status = land(session, entry, &trial, entry->flight_asked);
    }
    arena_destroy(scratch);
    return status;
}

enum stax_status session_measure(struct session *session, struct entry *entry,
                                 const struct measure_plan *plan)
{
    STAX_TRY(launch(session, entry, plan, plan->samples));
    while (entry->in_flight) {
        STAX_TRY(collect(session, 0.1));
        session_progress(session, "finals", false);
    }
    return STAX_OK;
}

static bool over(struct session *session)
{
    if (session->tuner->interrupted) session->stopped = true;
    return session->stopped || now_s() - session->started_s >= session->budget.seconds;
}

/* Asks that are over the budget are dropped untold: the strategy is not asked again. */
static enum stax_status ask_more(struct session *session)
{
    while (!session->search_done && session->outstanding < ASK_AHEAD && !over(session)) {
        struct ask ask;
        int n = search_ask(session->search, &ask, 1);
        if (n == SEARCH_DONE) session->search_done = true;
        if (n == SEARCH_WAIT && session->outstanding == 0)
            STAX_RETURN(STAX_INTERNAL, "strategy %s waits though nothing is under way",
                        session->strategy->name);
        if (n <= 0) return STAX_OK;
        bool known = session->config_slots &&
                     session->config_entry[config_slot_of(session, ask.config)];
        if (!known && session->configs >= session->budget.configs) {
            session->search_done = true;
            return STAX_OK;
        }
        STAX_TRY(handle_ask(session, &ask));
    }
    return STAX_OK;
}

enum stax_status session_search(struct session *session)
{
    for (;;) {
        STAX_TRY(ask_more(session));
        if (session->outstanding == 0) {
            if (session->search_done || over(session)) break;
            continue; /* everything was answered at once: ask again */
        }
        STAX_TRY(collect(session, 0.05));
        session_progress(session, "search", false);
        if (over(session)) break;
    }
    measure_cancel(
        session->setup.measure); /* what is being measured ends; what only waits is dropped */
    while (session->outstanding) {
        STAX_TRY(collect(session, 0.05));
        session_progress(session, "search", false);
    }
    if (session->best) session->claim = search_claim(session->search, session->arena);
    return STAX_OK;
}
