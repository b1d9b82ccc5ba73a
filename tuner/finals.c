/* The end of a run: adverse inputs for the leaders, an interleaved race, the verdict.
 *
 * Search samples were taken at different times and drift by 1-3 %; paired rounds decide a 1 %
 * difference where sequential ones cannot (docs/measuring.md). Candidate 0 wins ties, so a tuned
 * result is never slower than the heuristic one beyond noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tuner/session.h"

enum {
    FINALISTS = 6,    /* chosen: 5 leaders and candidate 0 */
    RACE_ROUNDS = 31, /* paired rounds; 30 and odd, so that the median is a sample */
};
static const double AGAIN_FRAC = 0.9; /* chosen: beyond what windows differ by */
static const double REPLAY_FRAC =
    0.03; /* equal configurations differ 1-3 % between windows (helion#3523) */
static const double TIE_FRAC =
    0.005; /* differences below 0.5 % are ties (nvbench-compare: clear gap) */

struct leader {
    struct entry *entry;
    uint64_t config;
    double time;
};

static int by_time(const void *a, const void *b)
{
    const struct leader *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->config < y->config ? -1 : x->config > y->config;
}

/* Verified entries, fastest first, each source once. */
static int leaders(struct session *session, struct arena *arena, struct leader **out)
{
    struct leader *list = ARENA_ARRAY(arena, struct leader, session->entries + 1);
    int count = 0;
    for (size_t i = 0; i < session->slots; i++) {
        struct entry *entry = session->slot[i];
        if (!entry || !entry->known || !entry->trial.verified) continue;
        double time = trial_time_ns(&entry->trial);
        if (isfinite(time)) list[count++] = (struct leader){entry, entry->config, time};
    }
    if (count) qsort(list, (size_t)count, sizeof *list, by_time);
    *out = list;
    return count;
}

/* Takes leaders from the fastest on until enough have passed on adverse inputs too; candidate 0 is
 * always among them if it passes. */
static enum stax_status choose(struct session *session, const struct leader *list, int count,
                               struct leader *final, int *finals)
{
    *finals = 0;
    for (int i = 0; i < count; i++) {
        bool standard = list[i].entry == session->standard;
        if (*finals >= FINALISTS - 1 && !standard) continue;
        struct entry *entry = list[i].entry;
        if (!entry->trial.adverse_verified && !session->setup.replay) {
            struct measure_plan plan = {
                .samples = 1,
                .verify = true,
                .adverse = true,
                .stage = STAGE_FINAL,
                .config = space_config_hash(session->setup.space, list[i].config)};
            STAX_TRY(session_measure(session, entry, &plan));
        }
        if (entry->trial.outcome == OUTCOME_OK) final[(*finals)++] = list[i];
    }
    return STAX_OK;
}

/* Paired medians of a / b with the order-statistic interval. */
static struct summary ratio_of(const struct trial *a, const struct trial *b, struct arena *arena)
{
    int n = a->samples < b->samples ? a->samples : b->samples;
    double *ratio = ARENA_ARRAY(arena, double, n + 1);
    for (int i = 0; i < n; i++) ratio[i] = a->span_ns[i] / b->span_ns[i];
    return stats_summary(ratio, n, 0.95);
}

/* Is a better by the fixed key of ties: fewer registers, less shared memory, lower rank? */
static bool before(const struct leader *a, const struct leader *b)
{
    const struct compile_facts *x = &a->entry->trial.compile, *y = &b->entry->trial.compile;
    if (x->registers != y->registers) return x->registers < y->registers;
    if (x->shared_bytes != y->shared_bytes) return x->shared_bytes < y->shared_bytes;
    return a->config < b->config;
}

static bool is_tie(const struct summary *ratio)
{
    double half = (ratio->high - ratio->low) / 2;
    return fabs(1 - ratio->median) <= fmax(TIE_FRAC, half);
}

static enum stax_status judge(struct session *session, const struct leader *final, int finals,
                              const struct trial *race, struct arena *arena)
{
    int fastest = -1, standard = -1;
    for (int i = 0; i < finals; i++) {
        if (race[i].outcome != OUTCOME_OK || race[i].samples == 0) continue;
        if (final[i].entry == session->standard) standard = i;
        if (fastest < 0 || trial_time_ns(&race[i]) < trial_time_ns(&race[fastest])) fastest = i;
    }
    if (fastest < 0) return STAX_OK;
    int best = fastest;
    for (int i = 0; i < finals; i++) {
        if (race[i].outcome != OUTCOME_OK || i == fastest) continue;
        struct summary ratio = ratio_of(&race[fastest], &race[i], arena);
        if (!is_tie(&ratio) || best == standard) continue;
        if (i == standard || before(&final[i], &final[best])) best = i;
    }
    session->tie = best == standard;
    session->best = final[best].entry;
    session->best_config = best == standard ? session->setup.candidates.config[0]
                                            : final[best].config;
    session->best_summary = stats_summary(race[best].span_ns, race[best].samples, 0.95);
    if (standard >= 0)
        session->standard_summary = stats_summary(race[standard].span_ns, race[standard].samples,
                                                  0.95);
    for (int i = 0; i < finals && session->run; i++) {
        if (race[i].outcome != OUTCOME_OK || i == best) continue;
        struct summary ratio = ratio_of(&race[i], &race[best], arena);
        STAX_TRY(run_pair(session->run, final[i].config, session->best_config, ratio.n,
                          ratio.median, ratio.low, ratio.high));
    }
    return STAX_OK;
}

static enum stax_status run_race(struct session *session, const struct leader *final, int finals,
                                 struct arena *arena)
{
    const struct job **jobs = ARENA_ARRAY(arena, const struct job *, finals);
    struct trial *race = ARENA_ARRAY(arena, struct trial, finals);
    for (int i = 0; i < finals; i++) {
        struct job *job;
        STAX_TRY(setup_job(&session->setup, final[i].config, arena, &job));
        jobs[i] = job;
    }
    session_progress(session, "finals", true);
    STAX_TRY(measure_race(session->setup.measure, finals, jobs, RACE_ROUNDS, session->setup.seed,
                          arena, race));
    for (int i = 0; i < finals; i++) {
        race[i].stage = STAGE_FINAL;
        if (session->run)
            STAX_TRY(run_trial(session->run, final[i].config, final[i].entry->job_hash, RACE_ROUNDS,
                               &race[i]));
        if (race[i].outcome != OUTCOME_OK)
            log_write(LOG_WARNING, "a finalist failed in the race: %s", race[i].message);
    }
    return judge(session, final, finals, race, arena);
}

/* The finalists ran slower together than others were measured alone, as where a busy host starves
 * some: those others race the winner too, so that the answer is not the best of an unlucky choice.
 */
static enum stax_status race_again(struct session *session, const struct leader *list, int count,
                                   struct arena *arena, struct leader *final, int *finals)
{
    struct leader next[FINALISTS];
    int called = 0, taken = 0;
    for (int i = 0; i < count && called < FINALISTS - 2; i++) {
        bool raced = false;
        for (int k = 0; k < *finals; k++) raced |= final[k].entry == list[i].entry;
        if (!raced && list[i].time < AGAIN_FRAC * session->best_summary.median)
            next[called++] = list[i];
    }
    if (called == 0) return STAX_OK;
    taken = called;
    for (int k = 0; k < *finals; k++)
        if (final[k].entry == session->best || final[k].entry == session->standard)
            next[taken++] = final[k];
    log_write(LOG_INFO,
              "the finalists ran slower than %d others were measured: these race the best too",
              called);
    STAX_TRY(choose(session, next, taken, final, finals));
    return *finals > 0 ? run_race(session, final, *finals, arena) : STAX_OK;
}

/* The winner once more in fresh processes: what holds only in the process that chose it is no
 * result (pytorch#159525). */
static enum stax_status replay_winner(struct session *session, struct arena *arena)
{
    struct job *job;
    struct trial trial;
    uint64_t ticket = UINT64_MAX;
    struct measure_plan plan = {
        .samples = RACE_ROUNDS,
        .verify = true,
        .adverse = true,
        .stage = STAGE_FINAL,
        .config = space_config_hash(session->setup.space, session->best_config)};
    STAX_TRY(setup_reopen(session->tuner, &session->setup));
    STAX_TRY(setup_job(&session->setup, session->best_config, arena, &job));
    STAX_TRY(measure_submit(session->setup.measure, 0, job, &plan));
    while (ticket == UINT64_MAX) {
        if (session->tuner->interrupted) return STAX_OK;
        STAX_TRY(measure_next(session->setup.measure, 0.1, arena, &ticket, &trial));
    }
    if (session->run)
        STAX_TRY(run_trial(session->run, session->best->config, session->best->job_hash,
                           RACE_ROUNDS, &trial));
    if (trial.outcome != OUTCOME_OK) {
        log_write(LOG_WARNING,
                  "the best failed when it was replayed in a fresh process: %s; it is dropped",
                  trial.message);
        session->best->trial.outcome = trial.outcome;
        session->best = NULL;
        return STAX_OK;
    }
    session->replayed = stats_summary(trial.span_ns, trial.samples, 0.95);
    double off = session->replayed.median / session->best_summary.median - 1;
    if (fabs(off) > REPLAY_FRAC)
        log_write(LOG_WARNING,
                  "replayed in a fresh process the best takes %+.1f %%: the device is unsteady, so "
                  "measure again "
                  "on a quiet one",
                  100 * off);
    return STAX_OK;
}

/* Nothing passed: the configuration that surely fits is measured, so that there is a result if
 * there can be one. */
static enum stax_status try_safe(struct session *session)
{
    struct entry *entry;
    STAX_TRY(session_entry(session, session->setup.candidates.safe, &entry));
    STAX_TRY(session_look_up(session, entry, FIDELITY_AUTO));
    if (entry->known) return STAX_OK;
    struct measure_plan plan = {
        .verify = true,
        .adverse = true,
        .stage = STAGE_SEARCH,
        .config = space_config_hash(session->setup.space, session->setup.candidates.safe)};
    return session_measure(session, entry, &plan);
}

/* Candidate 0 is always measured, also when the search never asked for it: the comparison needs it.
 */
static enum stax_status measure_standard(struct session *session)
{
    uint64_t config = session->setup.candidates.config[0];
    struct entry *entry;
    STAX_TRY(session_entry(session, config, &entry));
    session->standard = entry;
    STAX_TRY(session_look_up(session, entry, FIDELITY_AUTO));
    if (entry->known || session->tuner->interrupted) return STAX_OK;
    struct measure_plan plan = {.verify = true,
                                .stage = STAGE_SEARCH,
                                .config = space_config_hash(session->setup.space, config)};
    return session_measure(session, entry, &plan);
}

enum stax_status session_finals(struct session *session)
{
    struct arena *arena = arena_create();
    struct leader *list, final[FINALISTS];
    int finals = 0;
    enum stax_status status = measure_standard(session);
    session->best = NULL;
    int count = status == STAX_OK ? leaders(session, arena, &list) : 0;
    if (status == STAX_OK && count == 0 && !session->tuner->interrupted) {
        status = try_safe(session);
        if (status == STAX_OK) count = leaders(session, arena, &list);
    }
    if (count > 0) { /* what stands if the finals are cut short */
        session->best = list[0].entry;
        session->best_config = list[0].config;
        session->best_summary = stats_summary(list[0].entry->trial.span_ns,
                                              list[0].entry->trial.samples, 0.95);
    }
    if (session->standard && session->standard->known)
        session->standard_summary = stats_summary(
            session->standard->trial.span_ns,
            session->standard->trial.outcome == OUTCOME_OK ? session->standard->trial.samples : 0,
            0.95);
    if (status == STAX_OK && count > 0 && !session->tuner->interrupted) {
        status = choose(session, list, count, final, &finals);
        if (status == STAX_OK && finals == 0) session->best = NULL;
        if (status == STAX_OK && finals > 0) status = run_race(session, final, finals, arena);
        if (status == STAX_OK && session->best && !session->tuner->interrupted)
            status = race_again(session, list, count, arena, final, &finals);
        if (status == STAX_OK && session->best && !session->setup.replay)
            status = replay_winner(session, arena);
    }
    arena_destroy(arena);
    return status;
}
