/* Compiling: each distinct program once a run, from the cache on disk or by a pool of processes;
 * see pool.h. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "measure/cache.h"
#include "measure/pool.h"

static void finish(struct unit *unit, enum outcome outcome, const char *message, const char *log,
                   struct arena *arena)
{
    unit->done = true;
    unit->outcome = outcome;
    unit->message = arena_text(arena, message);
    unit->log = arena_text(arena, log);
    arena_destroy(unit->arena);
    unit->arena = NULL;
}

/* An artifact that cannot be read back is no failure of the candidate: it is compiled again. */
static bool take_from_cache(struct measure *measure, struct unit *unit)
{
    struct arena *scratch = arena_create();
    struct artifact artifact;
    enum stax_status status = artifact_read(unit->path, scratch, &artifact);
    if (status == STAX_FORMAT) log_write(LOG_WARNING, "compiled again: %s", status_message());
    if (status == STAX_OK) {
        unit->facts = artifact.facts;
        finish(unit, OUTCOME_OK, "", artifact.log, measure->arena);
    }
    arena_destroy(scratch);
    return status == STAX_OK;
}

static void queue(struct measure *measure, struct unit *unit)
{
    unit->queue = NULL;
    unit->queued = true;
    *measure->queue_last = unit;
    measure->queue_last = &unit->queue;
}

struct unit *unit_get(struct measure *measure, const struct job_program *program, const char *arch)
{
    struct hash128 key = cache_program_key(program->source, program->options, arch,
                                           measure->info.compiler);
    struct unit **bucket = &measure->units[key.low % TABLE_BUCKETS];
    for (struct unit *at = *bucket; at; at = at->next) {
        if (!hash128_equal(at->key, key)) continue;
        bool dropped = !at->done && !at->queued;
        for (int i = 0; i < measure->compile_count; i++)
            dropped = dropped && measure->compile[i].unit != at;
        if (dropped) queue(measure, at);
        return at;
    }
    struct unit *unit = ARENA_NEW(measure->arena, struct unit);
    *unit = (struct unit){
        .next = *bucket, .key = key, .arena = arena_create(), .message = "", .log = ""};
    *bucket = unit;
    const char *ending = measure->row->kind == DEVICE_CPU ? ".so" : ".cubin";
    unit->path = cache_path(measure->arena, measure->compiled, key, ending);
    if (take_from_cache(measure, unit)) {
        unit->facts.cached = true;
        return unit;
    }
    unit->request = (struct compile_request){
        .arch = arena_text(unit->arena, arch),
        .source = arena_text(unit->arena, program->source),
        .options = arena_text(unit->arena, program->options),
        .path = unit->path,
    };
    queue(measure, unit);
    return unit;
}

void unit_drop_queue(struct measure *measure)
{
    for (struct unit *unit = measure->queue_first; unit; unit = unit->queue) unit->queued = false;
    measure->queue_first = NULL;
    measure->queue_last = &measure->queue_first;
    for (struct task *task = measure->first; task; task = task->next) {
        if (task->state != TASK_COMPILING) continue;
        unit_get(measure, &task->job.program, task->job.arch);
        if (task->reference) unit_get(measure, &task->job.reference, task->job.arch);
    }
}

bool unit_any_running(const struct measure *measure)
{
    for (int i = 0; i < measure->compile_count; i++) {
        if (measure->compile[i].unit) return true;
    }
    return false;
}

static enum stax_status start_worker(struct measure *measure, struct compile_worker *worker)
{
    struct arena *scratch = arena_create();
    const char *const args[] = {"--role=compile",
                                arena_printf(scratch, "--device=%s", measure->info.spec),
                                arena_printf(scratch, "--temp=%s", measure->temp), NULL};
    enum stax_status status = process_start(&worker->process, measure->worker, args);
    arena_destroy(scratch);
    return status;
}

static enum stax_status send_unit(struct measure *measure, struct compile_worker *worker,
                                  struct unit *unit)
{
    if (worker->process.pid == 0) STAX_TRY(start_worker(measure, worker));
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    compile_request_put(&text, &unit->request);
    /* A worker that died meanwhile shows as closed, and its unit is queued again like that of any
     * that dies. */
    channel_send(&worker->process.channel, MESSAGE_COMPILE, &text);
    arena_destroy(scratch);
    worker->unit = unit;
    worker->deadline_s = measure_clock_s() + measure->options.compile_limit_s;
    return STAX_OK;
}

enum stax_status unit_dispatch(struct measure *measure)
{
    for (int i = 0; i < measure->compile_count && measure->queue_first; i++) {
        struct compile_worker *worker = &measure->compile[i];
        if (worker->unit) continue;
        struct unit *unit = measure->queue_first;
        measure->queue_first = unit->queue;
        unit->queued = false;
        if (!measure->queue_first) measure->queue_last = &measure->queue_first;
        STAX_TRY(send_unit(measure, worker, unit));
    }
    return STAX_OK;
}

/* The worker is gone. Its unit goes to a fresh one once; a second death is the unit's own doing. */
static enum stax_status bury(struct measure *measure, struct compile_worker *worker, bool overdue)
{
    struct arena *scratch = arena_create();
    const char *how = "";
    struct unit *unit = worker->unit;
    bool met = worker->process.met;
    const char *why = worker->process.channel.why;
    process_end(&worker->process, scratch, &how);
    worker->unit = NULL;
    enum stax_status status = STAX_OK;
    if (!met && !overdue && ++measure->strangers > MOST_STRANGERS) {
        status = status_set(STAX_IO, "%s is no stax-worker that works: it was %s (%s)",
                            measure->worker, how, why);
    } else if (unit && overdue) {
        finish(unit, OUTCOME_TIMEOUT,
               arena_printf(scratch, "compiling passed its limit of %g s",
                            measure->options.compile_limit_s),
               "", measure->arena);
    } else if (unit && (!met || ++unit->deaths < 2)) { /* nothing of it had begun, or once more */
        queue(measure, unit);
    } else if (unit) {
        finish(unit, OUTCOME_COMPILE, arena_printf(scratch, "the compiler crashed twice: %s", how),
               "", measure->arena);
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status take_reply(struct measure *measure, struct compile_worker *worker,
                                   struct reader *body, struct arena *scratch)
{
    struct unit *unit = worker->unit;
    uint32_t outcome = reader_u32(body);
    const char *message = reader_string(body, scratch), *log = reader_string(body, scratch);
    if (body->bad || !message || !log || outcome >= OUTCOME_COUNT || !unit)
        STAX_RETURN(STAX_INTERNAL, "a compile worker sent a damaged reply");
    worker->unit = NULL;
    if (outcome != OUTCOME_OK) {
        finish(unit, (enum outcome)outcome, message, log, measure->arena);
        return STAX_OK;
    }
    if (take_from_cache(measure, unit)) return STAX_OK;
    STAX_RETURN(STAX_IO, "a compiled program cannot be read back: %s", status_message());
}

enum stax_status unit_receive(struct measure *measure, struct compile_worker *worker)
{
    struct message message;
    channel_read(&worker->process.channel);
    while (channel_take(&worker->process.channel, &message)) {
        bool handled;
        STAX_TRY(process_handle(&worker->process, &message, &handled));
        if (handled) continue;
        struct arena *scratch = arena_create();
        enum stax_status status = STAX_OK;
        if (message.kind == MESSAGE_COMPILED) {
            status = take_reply(measure, worker, &message.body, scratch);
        } else if (message.kind == MESSAGE_FAILED) {
            uint32_t code = reader_u32(&message.body);
            const char *line = reader_string(&message.body, scratch);
            status = status_set(code && code <= STAX_INTERNAL ? (enum stax_status)code
                                                              : STAX_INTERNAL,
                                "%s", line ? line : "a compile worker failed");
        }
        arena_destroy(scratch);
        STAX_TRY(status);
    }
    return worker->process.channel.closed ? bury(measure, worker, false) : STAX_OK;
}

enum stax_status unit_overdue(struct measure *measure, struct compile_worker *worker)
{
    if (!worker->unit || measure_clock_s() < worker->deadline_s) return STAX_OK;
    return bury(measure, worker, true);
}
