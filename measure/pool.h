/* The session's side of measuring: tasks, what they need compiled, the workers, and what is known
 * already. */
#ifndef STAX_MEASURE_POOL_H
#define STAX_MEASURE_POOL_H

#include "measure/measure.h"
#include "measure/process.h"

enum { MAX_COMPILE_WORKERS = 64, TABLE_BUCKETS = 1024 };                     /* chosen */
static const double default_time_limit_s = 10, default_compile_limit_s = 60; /* measure.h */

/* Something to compile, once a run: programs of several tasks may be the same one. */
struct unit {
    struct unit *next; /* in its bucket */
    struct unit *queue;
    struct hash128 key;
    bool done, queued;
    int deaths;
    struct arena *arena; /* its source, until it is done */
    struct compile_request request;
    const char *path;
    enum outcome outcome;
    const char *message, *log;
    struct compile_facts facts;
};

enum task_state { TASK_COMPILING, TASK_READY, TASK_MEASURING, TASK_DONE };

struct task {
    struct task *next;
    struct arena *arena; /* everything of this task, freed when its trial is taken */
    enum task_state state;
    uint64_t ticket;
    struct job job;
    struct measure_plan plan;
    struct hash128 check_key;         /* of what is verified: the job and its reference */
    struct unit *program, *reference; /* reference NULL: nothing to compare */
    bool twin_checked;
    int deaths;
    struct race *race; /* of a race: not measured by itself */
    struct trial trial;
};

/* Tasks of one race: compiled like any, then sent together. */
struct race {
    int count, deaths;
    struct task **task;
    int rounds;
    uint64_t seed;
    bool finished;
    int blamed; /* index among those sent, of the last phase */
    int *sent;  /* task of each entry sent */
    int sent_count;
};

/* A trial that answers for another configuration with the same binary and launches. */
struct twin {
    struct twin *next;
    struct hash128 key, owner;
    int plan_samples;
    bool adverse;
    struct arena *arena;
    struct trial trial;
    struct hash128 used[8];
    int used_count;
};

struct checked {
    struct checked *next;
    struct hash128 key;
    bool plain, adverse;
};

struct compile_worker {
    struct process process;
    struct unit *unit;
    double deadline_s;
};

struct measure_worker {
    struct process process;
    struct task *task;
    struct race *race;
    double deadline_s;
    enum phase phase;
    bool calibrating;
    double copy_bytes_s, read_bytes_s;
};

struct replay_count {
    struct replay_count *next;
    struct hash128 config;
    uint64_t repeat;
};

/* Replay: which configuration a job is; finals name jobs alone. */
struct replay_job {
    struct replay_job *next;
    struct hash128 job, config;
};

/* Workers that may die before they say who they are: killed from outside as they start. More and
 * the program is no worker. */
enum { MOST_STRANGERS = 3 };

struct measure {
    int strangers;
    struct arena *arena;
    struct measure_options options;
    struct device_info info;
    enum timer timer;
    enum l2_mode l2;
    const char *protocol, *worker, *temp, *cache, *compiled;
    const struct measure_row *row;
    struct task *first, **last;
    int pending;
    struct unit *units[TABLE_BUCKETS], *queue_first, **queue_last;
    struct checked *checked[TABLE_BUCKETS];
    struct twin *twins[TABLE_BUCKETS];
    struct compile_worker compile[MAX_COMPILE_WORKERS];
    int compile_count;
    struct measure_worker bench;
    int deaths_in_row;
    struct hash128 last_dead;
    struct replay_count *counts;
    struct replay_job *replay_jobs;
    bool cache_warned;
};

/* A row of the device table: how a device spec is answered. */
struct measure_row {
    struct measure_device_row shown;
    enum device_kind kind;
    bool replay;
    enum timer timer;
    enum l2_mode l2;
    bool overlap; /* may compile while it times */
};
const struct measure_row *measure_row_of(const char *spec);

/* pool.c: one turn of the wheel. Waits up to `wait_s` for something to happen. */
enum stax_status pool_step(struct measure *measure, double wait_s);
enum stax_status pool_add(struct measure *measure, uint64_t ticket, const struct job *job,
                          const struct measure_plan *plan, struct task **task);
void pool_free_task(struct measure *measure, struct task *task);
/* Ends a task with an outcome and no samples; the texts outlive it. */
void pool_finish_unmeasured(struct measure *measure, struct task *task, enum outcome outcome,
                            const char *message, const char *log);
/* folders.c: a folder for temporary files that ends with the session. */
enum stax_status folder_make_temporary(struct arena *arena, const char **path);
void folder_remove(const char *path);
/* side.c: the measure worker. */
enum stax_status side_start(struct measure *measure);
enum stax_status side_dispatch(struct measure *measure);
enum stax_status side_receive(struct measure *measure);
enum stax_status side_overdue(struct measure *measure);
bool side_busy(const struct measure *measure);
bool side_has_work(const struct measure *measure);
/* known.c: what is known already. */
struct checked *known_checked(struct measure *measure, struct hash128 key);
bool known_twin(struct measure *measure, struct task *task);
void known_remember(struct measure *measure, struct task *task);
/* units.c: what is compiled. */
struct unit *unit_get(struct measure *measure, const struct job_program *program, const char *arch);
enum stax_status unit_dispatch(struct measure *measure);
enum stax_status unit_receive(struct measure *measure, struct compile_worker *worker);
enum stax_status unit_overdue(struct measure *measure, struct compile_worker *worker);
bool unit_any_running(const struct measure *measure);
/* Forgets what waits to be compiled, but for what a task still needs. */
void unit_drop_queue(struct measure *measure);

#endif
