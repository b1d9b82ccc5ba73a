/* The wheel: tasks move from compiling to ready to measuring to done, whatever finishes first; see
 * pool.h.
 *
 * Nothing here waits for a device. Compiling overlaps timing where the device is not the host
 * itself; on the host they take turns, because a compiler beside a kernel is noise. */
#include "measure/pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>

enum { MAX_POLLED = MAX_COMPILE_WORKERS + 1 };

static struct job copy_job(const struct job *job, struct arena *arena)
{
    struct text text = text_make(arena);
    struct job copy;
    job_put(&text, job);
    struct reader reader = {.bytes = (const unsigned char *)text.bytes, .length = text.length};
    STAX_CHECK(job_get(&reader, arena, &copy) == STAX_OK);
    return copy;
}

static struct hash128 check_key(const struct job *job)
{
    struct hash128 tuned = job_hash(job), reference = job_reference_hash(job);
    const uint64_t numbers[] = {tuned.low, tuned.high, reference.low, reference.high};
    return hash128_bytes(numbers, sizeof numbers);
}

enum stax_status pool_add(struct measure *measure, uint64_t ticket, const struct job *job,
                          const struct measure_plan *plan, struct task **result)
{
    if (job->device != measure->row->kind)
        STAX_RETURN(STAX_USAGE, "a job for another kind of device was handed to %s",
                    measure->info.spec);
    struct arena *arena = arena_create();
    struct task *task = ARENA_NEW(arena, struct task);
    *task = (struct task){
        .arena = arena, .ticket = ticket, .job = copy_job(job, arena), .plan = *plan};
    task->check_key = check_key(&task->job);
    task->program = unit_get(measure, &task->job.program, task->job.arch);
    if (task->job.reference.launches > 0 && (plan->verify || plan->adverse))
        task->reference = unit_get(measure, &task->job.reference, task->job.arch);
    *measure->last = task;
    measure->last = &task->next;
    if (result) *result = task;
    return STAX_OK;
}

void pool_free_task(struct measure *measure, struct task *task)
{
    struct task **at = &measure->first;
    while (*at != task) at = &(*at)->next;
    *at = task->next;
    if (measure->last == &task->next) measure->last = at;
    arena_destroy(task->arena);
}

void pool_finish_unmeasured(struct measure *measure, struct task *task, enum outcome outcome,
                            const char *message, const char *log)
{
    task->trial = (struct trial){
        .outcome = outcome,
        .message = message,
        .log = log,
        .timer = measure->timer,
        .l2 = measure->l2,
        .stage = task->race ? STAGE_FINAL : task->plan.stage,
        .compile = task->program->facts,
        .error_ratio = NAN,
        .clock_mhz = NAN,
        .temperature_c = NAN,
    };
    task->state = TASK_DONE;
}

static void settle_compiled(struct measure *measure, struct task *task)
{
    const struct unit *program = task->program, *reference = task->reference;
    if (task->state != TASK_COMPILING || !program->done || (reference && !reference->done)) return;
    if (program->outcome != OUTCOME_OK) {
        pool_finish_unmeasured(measure, task, program->outcome, program->message, program->log);
    } else if (program->facts.spill_bytes > measure->options.spill_limit) {
        const char *message = arena_printf(
            task->arena, "spills %lld bytes, more than the limit of %lld",
            (long long)program->facts.spill_bytes, (long long)measure->options.spill_limit);
        pool_finish_unmeasured(measure, task, OUTCOME_SPILL, message, program->log);
    } else if (reference && reference->outcome != OUTCOME_OK) {
        const char *message = arena_printf(task->arena, "the reference did not compile: %s",
                                           reference->message);
        pool_finish_unmeasured(measure, task, OUTCOME_COMPILE, message, reference->log);
    } else {
        task->state = TASK_READY;
    }
}

static enum stax_status dispatch(struct measure *measure)
{
    for (struct task *task = measure->first; task; task = task->next)
        settle_compiled(measure, task);
    bool may_measure = measure->row->overlap || !unit_any_running(measure);
    if (may_measure) STAX_TRY(side_dispatch(measure));
    bool may_compile = measure->row->overlap || (!side_busy(measure) && !side_has_work(measure));
    if (may_compile) STAX_TRY(unit_dispatch(measure));
    return STAX_OK;
}

static double nearest_deadline(const struct measure *measure, double wait_s)
{
    double now = measure_clock_s();
    double until = now + wait_s;
    if (side_busy(measure)) until = fmin(until, measure->bench.deadline_s);
    for (int i = 0; i < measure->compile_count; i++) {
        if (measure->compile[i].unit) until = fmin(until, measure->compile[i].deadline_s);
    }
    return until > now ? until - now : 0;
}

static void wait_for_any(struct measure *measure, double wait_s)
{
    struct pollfd poller[MAX_POLLED];
    nfds_t count = 0;
    for (int i = 0; i < measure->compile_count; i++) {
        if (measure->compile[i].process.pid)
            poller[count++] = (struct pollfd){.fd = measure->compile[i].process.channel.fd,
                                              .events = POLLIN};
    }
    if (measure->bench.process.pid)
        poller[count++] = (struct pollfd){.fd = measure->bench.process.channel.fd,
                                          .events = POLLIN};
    poll(poller, count, (int)ceil(1e3 * nearest_deadline(measure, wait_s)));
}

enum stax_status pool_step(struct measure *measure, double wait_s)
{
    STAX_TRY(dispatch(measure));
    for (struct task *task = measure->first; task && wait_s > 0; task = task->next) {
        if (task->state == TASK_DONE && !task->race)
            wait_s = 0; /* there is something to hand out already */
    }
    wait_for_any(measure, wait_s);
    for (int i = 0; i < measure->compile_count; i++) {
        struct compile_worker *worker = &measure->compile[i];
        if (worker->process.pid == 0) continue;
        STAX_TRY(unit_receive(measure, worker));
        STAX_TRY(unit_overdue(measure, worker));
    }
    if (measure->bench.process.pid) STAX_TRY(side_receive(measure));
    STAX_TRY(side_overdue(measure));
    return dispatch(measure);
}
