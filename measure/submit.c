/* Jobs in, trials out: measure_submit, measure_next, the race and the assembly; and replay, which
 * asks nobody. */
#include <math.h>
#include <string.h>

#include "measure/cache.h"
#include "measure/pool.h"

static uint64_t *repeat_of(struct measure *measure, struct hash128 config)
{
    for (struct replay_count *at = measure->counts; at; at = at->next) {
        if (hash128_equal(at->config, config)) return &at->repeat;
    }
    struct replay_count *fresh = ARENA_NEW(measure->arena, struct replay_count);
    *fresh = (struct replay_count){.next = measure->counts, .config = config};
    measure->counts = fresh;
    return &fresh->repeat;
}

static enum stax_status answer(struct measure *measure, struct hash128 config, int samples,
                               enum trial_stage stage, struct arena *arena, struct trial *trial)
{
    enum stax_status status = measure->options.lookup(
        measure->options.data, &config, samples, (*repeat_of(measure, config))++, arena, trial);
    if (status == STAX_OK) {
        trial->stage = stage;
        return STAX_OK;
    }
    if (status != STAX_NOTFOUND) return status;
    *trial = (struct trial){
        .outcome = OUTCOME_SKIPPED,
        .message = "the recording has no such configuration",
        .log = "",
        .timer = TIMER_RECORDED,
        .stage = stage,
        .error_ratio = NAN,
        .clock_mhz = NAN,
        .temperature_c = NAN,
        .compile = {.registers = -1, .shared_bytes = -1, .spill_bytes = -1, .stack_bytes = -1},
    };
    return STAX_OK;
}

static enum stax_status submit_replay(struct measure *measure, uint64_t ticket,
                                      const struct job *job, const struct measure_plan *plan)
{
    struct replay_job *known = ARENA_NEW(measure->arena, struct replay_job);
    *known = (struct replay_job){measure->replay_jobs, job_hash(job), plan->config};
    measure->replay_jobs = known;
    struct arena *arena = arena_create();
    struct task *task = ARENA_NEW(arena, struct task);
    *task = (struct task){.arena = arena, .ticket = ticket, .plan = *plan, .state = TASK_DONE};
    enum stax_status status = answer(measure, plan->config, plan->samples, plan->stage, arena,
                                     &task->trial);
    if (status != STAX_OK) {
        arena_destroy(arena);
        return status;
    }
    *measure->last = task;
    measure->last = &task->next;
    return STAX_OK;
}

enum stax_status measure_submit(struct measure *measure, uint64_t ticket, const struct job *job,
                                const struct measure_plan *plan)
{
    enum stax_status status = measure->row->replay ? submit_replay(measure, ticket, job, plan)
                                                   : pool_add(measure, ticket, job, plan, NULL);
    if (status == STAX_OK) measure->pending++;
    return status;
}

int measure_pending(const struct measure *measure)
{
    return measure->pending;
}

static void copy_trial(const struct trial *from, struct arena *arena, struct trial *to)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    trial_put(&text, from);
    struct reader reader = {.bytes = (const unsigned char *)text.bytes, .length = text.length};
    STAX_CHECK(trial_get(&reader, arena, to) == STAX_OK);
    arena_destroy(scratch);
}

static struct task *finished(const struct measure *measure)
{
    for (struct task *task = measure->first; task; task = task->next) {
        if (task->state == TASK_DONE && !task->race) return task;
    }
    return NULL;
}

enum stax_status measure_next(struct measure *measure, double wait_s, struct arena *arena,
                              uint64_t *ticket, struct trial *trial)
{
    double end = measure_clock_s() + wait_s;
    *ticket = UINT64_MAX;
    struct task *task = finished(measure);
    while (!task && measure->pending > 0) {
        double left = end - measure_clock_s();
        STAX_TRY(pool_step(measure, left > 0 ? left : 0));
        task = finished(measure);
        if (left <= 0) break;
    }
    if (!task) return STAX_OK;
    *ticket = task->ticket;
    copy_trial(&task->trial, arena, trial);
    pool_free_task(measure, task);
    measure->pending--;
    /* The worker goes on with the next one while the caller looks at this one. */
    return measure->row->replay ? STAX_OK : pool_step(measure, 0);
}

static enum stax_status race_replay(struct measure *measure, int jobs, const struct job *const *job,
                                    int rounds, struct arena *arena, struct trial *trials)
{
    for (int i = 0; i < jobs; i++) {
        struct hash128 hash = job_hash(job[i]), config = {0, 0};
        for (struct replay_job *at = measure->replay_jobs; at; at = at->next) {
            if (hash128_equal(at->job, hash)) config = at->config;
        }
        STAX_TRY(answer(measure, config, rounds, STAGE_FINAL, arena, &trials[i]));
    }
    return STAX_OK;
}

static enum stax_status run_race(struct measure *measure, struct race *race)
{
    bool done = false;
    while (!done) {
        STAX_TRY(pool_step(measure, 1.0));
        done = true;
        for (int i = 0; i < race->count; i++) done = done && race->task[i]->state == TASK_DONE;
    }
    return STAX_OK;
}

enum stax_status measure_race(struct measure *measure, int jobs, const struct job *const *job,
                              int rounds, uint64_t seed, struct arena *arena, struct trial *trials)
{
    if (measure->row->replay) return race_replay(measure, jobs, job, rounds, arena, trials);
    struct race *race = ARENA_NEW(arena, struct race);
    *race = (struct race){.rounds = rounds, .seed = seed};
    race->task = ARENA_ARRAY(arena, struct task *, jobs);
    race->sent = ARENA_ARRAY(arena, int, jobs);
    struct measure_plan plan = {
        .samples = rounds, .verify = true, .adverse = true, .stage = STAGE_FINAL};
    enum stax_status status = STAX_OK;
    for (int i = 0; i < jobs && status == STAX_OK; i++) {
        status = pool_add(measure, UINT64_MAX, job[i], &plan, &race->task[i]);
        if (status != STAX_OK) break;
        race->task[i]->race = race;
        race->count++;
    }
    if (status == STAX_OK) status = run_race(measure, race);
    for (int i = 0; i < race->count; i++) {
        if (status == STAX_OK) copy_trial(&race->task[i]->trial, arena, &trials[i]);
        pool_free_task(measure, race->task[i]);
    }
    if (measure->bench.race == race) measure->bench.race = NULL;
    return status;
}

void measure_cancel(struct measure *measure)
{
    for (struct task *task = measure->first; task; task = task->next) {
        if (task->race || (task->state != TASK_COMPILING && task->state != TASK_READY)) continue;
        pool_finish_unmeasured(measure, task, OUTCOME_SKIPPED, "cancelled before it began", "");
    }
    unit_drop_queue(measure);
}

static enum stax_status assemble(const char *worker, const char *temp, const struct job *job,
                                 double limit_s, struct arena *arena, const char **text)
{
    struct process process;
    struct message message;
    const char *const args[] = {"--role=compile",
                                job->device == DEVICE_CUDA ? "--device=cuda" : "--device=cpu",
                                arena_printf(arena, "--temp=%s", temp), NULL};
    STAX_TRY(process_start(&process, worker, args));
    struct compile_request request = {.arch = job->arch,
                                      .source = job->program.source,
                                      .options = job->program.options,
                                      .path = "",
                                      .assembly = true};
    struct text body = text_make(arena);
    compile_request_put(&body, &request);
    enum stax_status status = channel_send(&process.channel, MESSAGE_COMPILE, &body);
    if (status == STAX_OK) status = process_wait(&process, limit_s, MESSAGE_COMPILED, &message);
    if (status == STAX_OK) {
        uint32_t outcome = reader_u32(&message.body);
        const char *why = reader_string(&message.body, arena);
        reader_string(&message.body, arena); /* the log */
        *text = reader_string(&message.body, arena);
        if (outcome != OUTCOME_OK || !*text)
            status = status_set(STAX_FORMAT, "does not compile: %s", why ? why : "no reason given");
    }
    process_end(&process, arena, NULL);
    return status;
}

enum stax_status measure_assembly(const struct measure_options *options, const struct job *job,
                                  struct arena *arena, const char **text)
{
    const char *worker, *temp;
    double limit_s = options->compile_limit_s > 0 ? options->compile_limit_s
                                                  : default_compile_limit_s;
    STAX_TRY(process_find_worker(options->worker, arena, &worker));
    STAX_TRY(folder_make_temporary(arena, &temp));
    enum stax_status status = assemble(worker, temp, job, limit_s, arena, text);
    folder_remove(temp);
    return status;
}
