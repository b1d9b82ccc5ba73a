/* The session's pool of what is known: configuration -> entry, emitted source -> entry. */
#include <math.h>
#include <string.h>

#include "tuner/session.h"

static void grow_slots(struct session *session)
{
    size_t slots = session->slots ? session->slots * 2 : 64;
    struct entry **fresh = ARENA_ARRAY(session->arena, struct entry *, slots);
    for (size_t i = 0; i < session->slots; i++) {
        struct entry *entry = session->slot[i];
        if (!entry) continue;
        size_t at = entry->job_hash.low % slots;
        while (fresh[at]) at = (at + 1) % slots;
        fresh[at] = entry;
    }
    session->slot = fresh;
    session->slots = slots;
}

static struct entry *entry_of_job(struct session *session, struct hash128 hash)
{
    if (session->entries * 2 >= session->slots) grow_slots(session);
    size_t at = hash.low % session->slots;
    for (; session->slot[at]; at = (at + 1) % session->slots)
        if (hash128_equal(session->slot[at]->job_hash, hash)) return session->slot[at];
    struct entry *entry = ARENA_NEW(session->arena, struct entry);
    entry->job_hash = hash;
    session->slot[at] = entry;
    session->entries++;
    return entry;
}

size_t config_slot_of(const struct session *session, uint64_t config)
{
    size_t at = rng_mix(config) % session->config_slots;
    while (session->config_entry[at] && session->config_key[at] != config)
        at = (at + 1) % session->config_slots;
    return at;
}

static void grow_configs(struct session *session)
{
    size_t old = session->config_slots;
    const uint64_t *key = session->config_key;
    struct entry **entry = session->config_entry;
    session->config_slots = old ? old * 2 : 64;
    session->config_key = ARENA_ARRAY(session->arena, uint64_t, session->config_slots);
    session->config_entry = ARENA_ARRAY(session->arena, struct entry *, session->config_slots);
    for (size_t i = 0; i < old; i++) {
        if (!entry[i]) continue;
        size_t at = config_slot_of(session, key[i]);
        session->config_key[at] = key[i];
        session->config_entry[at] = entry[i];
    }
}

enum stax_status session_entry(struct session *session, uint64_t config, struct entry **entry)
{
    if (session->configs * 2 >= session->config_slots) grow_configs(session);
    size_t at = config_slot_of(session, config);
    if (!session->config_entry[at]) {
        struct arena *scratch = arena_create();
        struct job *job;
        enum stax_status status = setup_job(&session->setup, config, scratch, &job);
        if (status == STAX_OK) {
            struct entry *found = entry_of_job(session, job_hash(job));
            if (!found->known && !found->in_flight) found->config = config;
            session->config_key[at] = config;
            session->config_entry[at] = found;
            session->configs++;
        }
        arena_destroy(scratch);
        if (status != STAX_OK) return status;
    }
    *entry = session->config_entry[at];
    return STAX_OK;
}

/* Keeps every sample; the latest bad outcome counts, since a configuration that failed once is
 * never best. */
void entry_merge(struct session *session, struct entry *entry, const struct trial *trial)
{
    struct trial *into = &entry->trial;
    int have = entry->known ? into->samples : 0;
    int total = have + trial->samples;
    double *span = ARENA_ARRAY(session->arena, double, total);
    double *sum = ARENA_ARRAY(session->arena, double, total);
    for (int i = 0; i < have; i++) span[i] = into->span_ns[i], sum[i] = into->sum_ns[i];
    for (int i = 0; i < trial->samples; i++)
        span[have + i] = trial->span_ns[i], sum[have + i] = trial->sum_ns[i];
    bool was_bad = entry->known && into->outcome != OUTCOME_OK;
    struct trial before = *into;
    *into = *trial;
    into->samples = total;
    into->span_ns = span;
    into->sum_ns = sum;
    into->message = arena_text(session->arena, trial->message ? trial->message : "");
    into->log = arena_text(session->arena, trial->log ? trial->log : "");
    into->verified = trial->verified || (entry->known && before.verified);
    into->adverse_verified = trial->adverse_verified || (entry->known && before.adverse_verified);
    if (was_bad) {
        into->outcome = before.outcome;
        into->message = before.message;
    }
    entry->known = true;
}
