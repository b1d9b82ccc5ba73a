/* One tuning run: the loop between strategy and measuring, its pool of samples, its budget, its
 * end. Private to tuner/. */
#ifndef STAX_TUNER_SESSION_H
#define STAX_TUNER_SESSION_H

#include "tuner/tuner.h"

/* What is known of one configuration in this run. Configurations with the same emitted source share
 * an entry. */
struct entry {
    uint64_t config; /* the first configuration that gave this source */
    struct hash128 job_hash;
    struct trial trial; /* merged: all samples so far, in order */
    int stored;         /* of them, taken from the database */
    bool known;         /* some trial came in */
    bool automatic;     /* the stopping rule has had its say */
    int flight_asked;   /* samples asked by what is in flight, those stored included */
    bool in_flight;
    bool adverse_checked;
    struct waiter *waiters; /* asks that wait for the flight */
};

struct waiter {
    struct ask ask;
    struct waiter *next;
};

struct budget {
    uint64_t configs; /* UINT64_MAX: no limit */
    double seconds;   /* INFINITY: no limit */
    const char *text;
};

struct session {
    stax_tuner *tuner;
    struct setup setup;
    struct db *db;
    struct run *run;
    struct search *search;
    const struct search_ops *strategy;
    const char *settings;
    struct budget budget;
    struct arena *arena;
    struct entry **slot; /* open addressing by job hash; grows */
    size_t slots, entries;
    uint64_t *config_key; /* configuration -> entry, open addressing */
    struct entry **config_entry;
    size_t config_slots, configs; /* configs: distinct configurations asked */
    struct entry **ticket;        /* by ticket number */
    uint64_t tickets, tickets_room;
    uint64_t asked, told, measured, from_db;
    uint64_t by_outcome[OUTCOME_COUNT];
    int outstanding;
    bool search_done, stopped;
    double started_s, shown_s;
    struct entry *best, *standard; /* standard: candidate 0 */
    uint64_t best_config;
    struct summary best_summary, standard_summary;
    struct summary replayed; /* the best in fresh processes; n 0 when it was not */
    bool tie;                /* the winner is not faster than candidate 0 beyond noise */
    bool answered;           /* whole answer from the database */
    const char *claim;
    int warm;              /* configurations that the search was started with */
    const char *warm_text; /* where they are from; NULL without */
};

double now_s(void); /* monotonic */
size_t config_slot_of(const struct session *session,
                      uint64_t config); /* where it is, or the free slot for it */
enum stax_status budget_parse(stax_tuner *tuner, uint64_t valid, struct budget *budget);
/* --stop-within 1% as a setting of `strategy`; NULL when not given. STAX_USAGE where the strategy
 * cannot stop early. */
enum stax_status stop_within(stax_tuner *tuner, const struct search_ops *strategy,
                             struct arena *arena, const char **setting);
/* What won before for the same kernel at other shapes and on other devices, nearest first. */
enum stax_status warm_start(struct session *session, struct search_problem *problem);
enum stax_status session_search(struct session *session);
/* Entry of a configuration, made when new; emits its job for the identity. */
enum stax_status session_entry(struct session *session, uint64_t config, struct entry **entry);
/* Blocks until `entry` has a trial by `plan`; records it. */
enum stax_status session_measure(struct session *session, struct entry *entry,
                                 const struct measure_plan *plan);
/* Takes what the database holds of an entry nothing is known of yet. */
enum stax_status session_look_up(struct session *session, struct entry *entry, int fidelity);
enum stax_status session_finals(struct session *session);
void session_progress(struct session *session, const char *phase, bool force);
enum stax_status session_report(struct session *session);
void entry_merge(struct session *session, struct entry *entry, const struct trial *trial);

#endif
