/* The measure worker from the session's side: sending, listening, blaming, burying; see pool.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "measure/pool.h"

enum {
    DEATHS_TO_PROBE = 3
}; /* in a row, each of another job: is the device ill? (docs/measuring) */
static const double start_limit_s = 60;      /* chosen: a context takes 0.3 s, on a bad day many */
static const double wait_limit_s = 120;      /* chosen: for another session's turn to end */
static const double reference_limit_s = 300; /* chosen: the reference is untuned and runs once */
static const double grace_frac =
    1.1; /* the worker keeps the limit itself; it is killed a little later */

bool side_busy(const struct measure *measure)
{
    const struct measure_worker *bench = &measure->bench;
    return bench->task || bench->race || bench->calibrating;
}

static void set_deadline(struct measure *measure, enum phase phase)
{
    double limit = phase == PHASE_START       ? start_limit_s
                   : phase == PHASE_WAIT      ? wait_limit_s
                   : phase == PHASE_REFERENCE ? reference_limit_s
                                              : measure->options.time_limit_s * grace_frac + 0.2;
    measure->bench.phase = phase;
    measure->bench.deadline_s = measure_clock_s() + limit;
}

enum stax_status side_start(struct measure *measure)
{
    struct arena *scratch = arena_create();
    const char *const args[] = {
        "--role=measure",
        arena_printf(scratch, "--device=%s", measure->info.spec),
        arena_printf(scratch, "--timer=%s", timer_names[measure->timer]),
        arena_printf(scratch, "--l2=%s", l2_names[measure->l2]),
        arena_printf(scratch, "--cache=%s", measure->cache),
        arena_printf(scratch, "--temp=%s", measure->temp),
        arena_printf(scratch, "--read-ceiling=%.17g", measure->info.read_bytes_s),
        NULL,
    };
    enum stax_status status = process_start(&measure->bench.process, measure->worker, args);
    arena_destroy(scratch);
    return status;
}

static void put_entry(struct measure *measure, const struct task *task, struct measure_entry *entry)
{
    const struct checked *checked = known_checked(measure, task->check_key);
    *entry = (struct measure_entry){
        .job = task->job,
        .compile = task->program->facts,
        .program = task->program->path,
        .reference = task->reference ? task->reference->path : "",
        .verify = task->plan.verify && !checked->plain,
        .adverse = task->plan.adverse && !checked->adverse,
    };
}

static enum stax_status send_request(struct measure *measure, const struct measure_request *request)
{
    if (measure->bench.process.pid == 0) STAX_TRY(side_start(measure));
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    measure_request_put(&text, request);
    enum stax_status status = text.length > MESSAGE_LIMIT_BYTES
                                  ? status_set(STAX_LIMIT, "a job of %zu bytes is too large",
                                               text.length)
                                  : STAX_OK;
    if (status == STAX_OK) channel_send(&measure->bench.process.channel, MESSAGE_MEASURE, &text);
    arena_destroy(scratch);
    set_deadline(measure, PHASE_START); /* until the worker says what it does */
    return status;
}

static enum stax_status send_task(struct measure *measure, struct task *task)
{
    struct measure_entry entry;
    put_entry(measure, task, &entry);
    struct measure_request request = {.samples = task->plan.samples,
                                      .stage = task->plan.stage,
                                      .limit_s = measure->options.time_limit_s,
                                      .entries = 1,
                                      .entry = &entry};
    if (measure->options.starting) measure->options.starting(measure->options.data, task->ticket);
    STAX_TRY(send_request(measure, &request));
    task->state = TASK_MEASURING;
    measure->bench.task = task;
    return STAX_OK;
}

static enum stax_status send_race(struct measure *measure, struct race *race)
{
    struct arena *scratch = arena_create();
    struct measure_entry *entries = ARENA_ARRAY(scratch, struct measure_entry, race->count);
    race->sent_count = 0;
    for (int i = 0; i < race->count; i++) {
        struct task *task = race->task[i];
        if (task->state == TASK_DONE) continue;
        put_entry(measure, task, &entries[race->sent_count]);
        race->sent[race->sent_count++] = i;
        task->state = TASK_MEASURING;
    }
    struct measure_request request = {.race = true,
                                      .samples = race->rounds,
                                      .stage = STAGE_FINAL,
                                      .limit_s = measure->options.time_limit_s,
                                      .seed = race->seed,
                                      .entries = race->sent_count,
                                      .entry = entries};
    enum stax_status status = STAX_OK;
    race->blamed = -1;
    race->finished = race->sent_count == 0;
    if (!race->finished) {
        status = send_request(measure, &request);
        measure->bench.race = race;
    }
    arena_destroy(scratch);
    return status;
}

static bool race_is_ready(const struct race *race)
{
    for (int i = 0; i < race->count; i++) {
        if (race->task[i]->state == TASK_COMPILING) return false;
    }
    return !race->finished;
}

/* The next task or race that waits for the worker. */
static struct task *next_ready(const struct measure *measure)
{
    for (struct task *task = measure->first; task; task = task->next) {
        if (task->state == TASK_READY && (!task->race || race_is_ready(task->race))) return task;
    }
    return NULL;
}

bool side_has_work(const struct measure *measure)
{
    return next_ready(measure) != NULL;
}

enum stax_status side_dispatch(struct measure *measure)
{
    struct task *task;
    while (!side_busy(measure) && (task = next_ready(measure))) {
        if (task->race) {
            STAX_TRY(send_race(measure, task->race));
        } else if (known_twin(measure, task)) {
            task->state = TASK_DONE;
        } else {
            STAX_TRY(send_task(measure, task));
        }
    }
    return STAX_OK;
}

static void finish_task(struct measure *measure, struct task *task)
{
    struct checked *checked = known_checked(measure, task->check_key);
    struct trial *trial = &task->trial;
    /* What was verified before in this run is verified; what failed just now is not. */
    if (trial->outcome == OUTCOME_OK && checked->plain) trial->verified = true;
    if (trial->outcome == OUTCOME_OK && checked->adverse) trial->adverse_verified = true;
    if (!trial->log[0]) trial->log = task->program->log;
    known_remember(measure, task);
    task->state = TASK_DONE;
}

static void fail_task(struct measure *measure, struct task *task, enum outcome outcome,
                      const char *message)
{
    pool_finish_unmeasured(measure, task, outcome, arena_text(task->arena, message),
                           task->program->log);
}

/* Is the device still there after several deaths? A probe in a process of its own tells. */
static enum stax_status look_after_device(struct measure *measure, struct hash128 job)
{
    if (!hash128_equal(measure->last_dead, job) || measure->deaths_in_row == 0)
        measure->deaths_in_row++;
    measure->last_dead = job;
    if (measure->deaths_in_row < DEATHS_TO_PROBE) return STAX_OK;
    measure->deaths_in_row = 0;
    struct arena *scratch = arena_create();
    struct device_info info;
    struct measure_options options = measure->options;
    options.device = measure->info.spec;
    options.worker = measure->worker;
    enum stax_status status = measure_probe(&options, scratch, &info);
    arena_destroy(scratch);
    if (status != STAX_OK) return status_prefix(STAX_DEVICE, "%s is gone", measure->info.spec);
    log_write(LOG_WARNING, "%d candidates in a row ended the measure worker; %s still answers",
              DEATHS_TO_PROBE, measure->info.spec);
    return STAX_OK;
}

static void race_died(struct measure *measure, struct race *race, enum outcome outcome,
                      const char *how)
{
    bool known = race->blamed >= 0 && race->blamed < race->sent_count;
    race->deaths++;
    for (int i = 0; i < race->sent_count; i++) {
        struct task *task = race->task[race->sent[i]];
        if (task->state != TASK_MEASURING) continue;
        bool guilty = known && i == race->blamed && ++task->deaths >= 2;
        /* Nobody to blame twice over: then none of them can be told apart. */
        if (guilty || (!known && race->deaths >= 2))
            fail_task(measure, task, outcome, how);
        else
            task->state = TASK_READY;
    }
    bool left = false;
    for (int i = 0; i < race->count; i++) left = left || race->task[i]->state != TASK_DONE;
    race->finished = !left;
}

/* The worker is gone, by itself or by our hand. */
static enum stax_status bury(struct measure *measure, enum outcome outcome, const char *said)
{
    struct measure_worker *bench = &measure->bench;
    struct arena *scratch = arena_create();
    const char *how = "";
    struct task *task = bench->task;
    struct race *race = bench->race;
    bool met = bench->process.met, calibrating = bench->calibrating;
    process_end(&bench->process, scratch, &how);
    bench->task = NULL;
    bench->race = NULL;
    bench->calibrating = false;
    const char *blame = bench->phase == PHASE_REFERENCE ? "the reference or its inputs: " : "";
    const char *message = arena_printf(scratch, "%s%s", blame, said ? said : how);
    enum stax_status status = STAX_OK;
    if (!met && !said && ++measure->strangers > MOST_STRANGERS) {
        status = status_set(STAX_IO, "%s is no stax-worker that works: it was %s", measure->worker,
                            how);
    } else if (calibrating) {
        log_write(LOG_WARNING, "the memory's ceilings could not be measured: the worker was %s",
                  how);
    } else if (race) {
        race_died(measure, race, outcome, message);
        status = look_after_device(measure, (struct hash128){0, 0});
    } else if (task) {
        if ((!met && !said) || ++task->deaths < 2)
            task->state = TASK_READY; /* once more, alone in a fresh process, before it is blamed */
        else
            fail_task(measure, task, outcome, message);
        status = look_after_device(measure, task->check_key);
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status take_trials(struct measure *measure, struct reader *body)
{
    struct measure_worker *bench = &measure->bench;
    uint32_t end = reader_u32(body);
    bool spent = end == WORKER_SPENT;
    if (bench->task) {
        struct task *task = bench->task;
        STAX_TRY(trial_get(body, task->arena, &task->trial));
        if (spent)
            return bury(measure, task->trial.outcome, arena_text(task->arena, task->trial.message));
        finish_task(measure, task);
        bench->task = NULL;
    } else if (bench->race) {
        struct race *race = bench->race;
        for (int i = 0; i < race->sent_count; i++) {
            struct task *task = race->task[race->sent[i]];
            STAX_TRY(trial_get(body, task->arena, &task->trial));
            if (spent && i == race->blamed)
                return bury(measure, task->trial.outcome,
                            arena_text(task->arena, task->trial.message));
        }
        if (spent) return bury(measure, OUTCOME_FAULT, "the device faulted during the race");
        for (int i = 0; i < race->sent_count; i++) finish_task(measure, race->task[race->sent[i]]);
        race->finished = true;
        bench->race = NULL;
    } else {
        STAX_RETURN(STAX_INTERNAL, "the measure worker answered what nobody asked");
    }
    measure->deaths_in_row = 0;
    if (end == WORKER_WORN) process_end(&bench->process, measure->arena, NULL);
    return STAX_OK;
}

static enum stax_status take_message(struct measure *measure, struct message *message)
{
    struct measure_worker *bench = &measure->bench;
    struct reader *body = &message->body;
    if (message->kind == MESSAGE_PHASE) {
        uint32_t phase = reader_u32(body);
        int index = (int)reader_u32(body);
        if (phase == PHASE_WAIT)
            log_write(LOG_INFO, "another session times on this device: waiting for it");
        if (phase <= PHASE_CANDIDATE) set_deadline(measure, (enum phase)phase);
        if (bench->race) bench->race->blamed = index;
        return STAX_OK;
    }
    if (message->kind == MESSAGE_MEASURED) return take_trials(measure, body);
    if (message->kind == MESSAGE_CALIBRATED) {
        bench->copy_bytes_s = reader_f64(body);
        bench->read_bytes_s = reader_f64(body);
        bench->calibrating = false;
        return STAX_OK;
    }
    if (message->kind != MESSAGE_FAILED)
        STAX_RETURN(STAX_INTERNAL, "the measure worker sent message %d", message->kind);
    uint32_t code = reader_u32(body);
    const char *line = reader_string(body, bench->process.arena);
    STAX_RETURN(code && code <= STAX_INTERNAL ? (enum stax_status)code : STAX_INTERNAL, "%s",
                line ? line : "the measure worker failed");
}

enum stax_status side_receive(struct measure *measure)
{
    struct measure_worker *bench = &measure->bench;
    struct message message;
    channel_read(&bench->process.channel);
    while (bench->process.pid != 0 && channel_take(&bench->process.channel, &message)) {
        bool handled;
        STAX_TRY(process_handle(&bench->process, &message, &handled));
        if (!handled) STAX_TRY(take_message(measure, &message));
    }
    if (bench->process.pid == 0 || !bench->process.channel.closed) return STAX_OK;
    const char *said = bench->process.channel.garbled ? bench->process.channel.why : NULL;
    return bury(measure, OUTCOME_FAULT, said);
}

enum stax_status side_overdue(struct measure *measure)
{
    struct measure_worker *bench = &measure->bench;
    if (!side_busy(measure) || measure_clock_s() < bench->deadline_s) return STAX_OK;
    if (bench->phase == PHASE_WAIT)
        STAX_RETURN(STAX_DEVICE,
                    "another session has been timing on %s (%s) for %g s: wait for it to end",
                    measure->info.spec, measure->info.uuid, wait_limit_s);
    char said[128];
    snprintf(said, sizeof said, "ran past its time limit of %g s and was killed",
             bench->phase == PHASE_START       ? start_limit_s
             : bench->phase == PHASE_REFERENCE ? reference_limit_s
                                               : measure->options.time_limit_s);
    return bury(measure, OUTCOME_TIMEOUT, said);
}
