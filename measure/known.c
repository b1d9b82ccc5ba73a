/* What a run knows already: which sources are verified, and trials of other configurations with the
 * same binary. */
#include <string.h>

#include "measure/pool.h"

struct checked *known_checked(struct measure *measure, struct hash128 key)
{
    struct checked **bucket = &measure->checked[key.low % TABLE_BUCKETS];
    for (struct checked *at = *bucket; at; at = at->next) {
        if (hash128_equal(at->key, key)) return at;
    }
    struct checked *fresh = ARENA_NEW(measure->arena, struct checked);
    *fresh = (struct checked){.next = *bucket, .key = key};
    return *bucket = fresh;
}

static bool is_zero(struct hash128 hash)
{
    return hash.low == 0 && hash.high == 0;
}

/* Same binary, same launches, same buffers: the source text is left out. */
static struct hash128 twin_key(const struct task *task)
{
    struct job bare = task->job;
    bare.program.source = bare.program.options = "";
    struct hash128 launches = job_hash(&bare), binary = task->program->facts.binary;
    const uint64_t numbers[] = {launches.low, launches.high, binary.low, binary.high};
    return hash128_bytes(numbers, sizeof numbers);
}

static bool applies(const struct task *task)
{
    return task->plan.stage == STAGE_SEARCH && !is_zero(task->plan.config) &&
           !is_zero(task->program->facts.binary);
}

static struct twin *find(struct measure *measure, struct hash128 key)
{
    struct twin *at = measure->twins[key.low % TABLE_BUCKETS];
    while (at && !hash128_equal(at->key, key)) at = at->next;
    return at;
}

static void copy_trial(const struct trial *from, struct arena *arena, struct trial *to)
{
    struct text text = text_make(arena);
    trial_put(&text, from);
    struct reader reader = {.bytes = (const unsigned char *)text.bytes, .length = text.length};
    STAX_CHECK(trial_get(&reader, arena, to) == STAX_OK);
}

/* A configuration gets its twin's trial once for each trial of the twin: samples of its own are
 * never counted twice. */
bool known_twin(struct measure *measure, struct task *task)
{
    if (!applies(task)) return false;
    struct twin *twin = find(measure, twin_key(task));
    if (!twin || hash128_equal(twin->owner, task->plan.config)) return false;
    if (twin->plan_samples != task->plan.samples || (task->plan.adverse && !twin->adverse))
        return false;
    for (int i = 0; i < twin->used_count; i++) {
        if (hash128_equal(twin->used[i], task->plan.config)) return false;
    }
    if (twin->used_count == (int)STAX_COUNT(twin->used)) return false;
    twin->used[twin->used_count++] = task->plan.config;
    copy_trial(&twin->trial, task->arena, &task->trial);
    task->trial.compile.cached = true;
    return true;
}

void known_remember(struct measure *measure, struct task *task)
{
    const struct trial *trial = &task->trial;
    struct checked *checked = known_checked(measure, task->check_key);
    if (trial->outcome == OUTCOME_OK && trial->verified) checked->plain = true;
    if (trial->outcome == OUTCOME_OK && trial->adverse_verified) checked->adverse = true;
    if (trial->outcome != OUTCOME_OK || !applies(task)) return;
    struct hash128 key = twin_key(task);
    struct twin *twin = find(measure, key);
    if (!twin) {
        struct twin **bucket = &measure->twins[key.low % TABLE_BUCKETS];
        twin = ARENA_NEW(measure->arena, struct twin);
        *twin = (struct twin){.next = *bucket, .key = key};
        *bucket = twin;
    }
    arena_destroy(twin->arena);
    twin->arena = arena_create();
    twin->owner = task->plan.config;
    twin->plan_samples = task->plan.samples;
    twin->adverse = trial->adverse_verified;
    twin->used_count = 0;
    copy_trial(trial, twin->arena, &twin->trial);
}
