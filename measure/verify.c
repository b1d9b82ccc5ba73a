/* Is the candidate right? Buffers, the reference's results, and the two runs over poison; see
 * bench.h.
 *
 * A result is right when it lies within the reference's own bound at every element under both
 * patterns: an element that was never written holds NaN under the first and zero under the second,
 * and cannot be right under both. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "build_id.h"
#include "measure/bench.h"
#include "measure/cache.h"

enum { POISON_ONES = 0xff, POISON_ZEROS = 0x00 }; /* NaN in every float type; zero */
enum { KEPT_REFERENCE_BYTES = 64 << 20 };         /* chosen: larger ones are run again */

static int64_t buffer_bytes(const struct job_buffer *buffer)
{
    return buffer->elements * dtype_table[buffer->dtype].bytes;
}

static enum job_fill fill_of(const struct job_buffer *buffer, bool adverse)
{
    bool can = buffer->fill == JOB_FILL_UNIFORM && dtype_is_float(buffer->dtype);
    return adverse && can ? JOB_FILL_ADVERSE : buffer->fill;
}

static struct hash128 hash_numbers(const char *what, const uint64_t *numbers, int count)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_add(&text, what);
    for (int i = 0; i < count; i++) text_put_u64(&text, numbers[i]);
    struct hash128 hash = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return hash;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static struct hash128 buffer_key(const struct job *job, int index, bool adverse)
{
    const struct job_buffer *buffer = &job->buffer[index];
    uint64_t bytes = (uint64_t)buffer_bytes(buffer);
    if (buffer->role == JOB_INPUT) {
        const uint64_t numbers[] = {(uint64_t)buffer->dtype,
                                    bytes,
                                    (uint64_t)fill_of(buffer, adverse),
                                    bits_of(buffer->low),
                                    bits_of(buffer->high),
                                    buffer->seed};
        return hash_numbers("input", numbers, (int)STAX_COUNT(numbers));
    }
    if (buffer->role == JOB_REF_OUT || buffer->role == JOB_REF_BOUND) {
        struct hash128 reference = job_reference_hash(job);
        const uint64_t numbers[] = {reference.low, reference.high, (uint64_t)index, adverse};
        return hash_numbers("reference", numbers, (int)STAX_COUNT(numbers));
    }
    const uint64_t numbers[] = {(uint64_t)index, bytes, buffer->role == JOB_REF_SCRATCH};
    return hash_numbers("work", numbers, (int)STAX_COUNT(numbers));
}

static void let_go(void *stored)
{
    store_let_go(stored);
}

static struct stored *hold(struct bench *bench, const struct job *job, int index, bool adverse,
                           struct arena *arena, struct verdict *verdict)
{
    struct stored *stored = store_hold(bench->store, buffer_key(job, index, adverse),
                                       buffer_bytes(&job->buffer[index]), verdict);
    if (stored) arena_defer(arena, let_go, stored);
    return stored;
}

static bool fill_input(struct bench *bench, const struct job_buffer *buffer, bool adverse,
                       struct stored *stored, struct verdict *verdict)
{
    if (stored->filled) return true;
    struct job_buffer as = *buffer;
    as.fill = fill_of(buffer, adverse);
    if (!bench->ops->fill(bench->backend, &as, stored->address, verdict) ||
        !bench->ops->digest(bench->backend, stored->address, stored->bytes, &stored->digest,
                            verdict))
        return false;
    stored->filled = true;
    return true;
}

static bool is_of_candidate(const struct job_buffer *buffer)
{
    return buffer->role <= JOB_COUNTER;
}

static bool is_written(const struct job_buffer *buffer)
{
    return buffer->role == JOB_OUTPUT || buffer->role == JOB_SCRATCH;
}

/* Holds the candidate's buffers, inputs filled. */
static bool hold_all(struct bench *bench, const struct job *job, bool adverse, struct arena *arena,
                     struct stored **held, struct verdict *verdict)
{
    for (int i = 0; i < job->buffers; i++) {
        if (!is_of_candidate(&job->buffer[i])) continue;
        held[i] = hold(bench, job, i, adverse, arena, verdict);
        if (!held[i]) return false;
        if (job->buffer[i].role == JOB_INPUT &&
            !fill_input(bench, &job->buffer[i], adverse, held[i], verdict))
            return false;
        if (job->buffer[i].role == JOB_COUNTER &&
            !bench->ops->set(bench->backend, held[i]->address, 0, held[i]->bytes, verdict))
            return false;
    }
    return true;
}

static void bind(const struct bench *bench, const struct job *job, struct backend_program *program,
                 struct stored *const *held, struct arena *arena)
{
    uint64_t *addresses = ARENA_ARRAY(arena, uint64_t, job->buffers);
    for (int i = 0; i < job->buffers; i++) addresses[i] = held[i] ? held[i]->address : 0;
    bench->ops->bind(program, addresses);
}

static bool poison(struct bench *bench, const struct job *job, struct stored *const *held,
                   int pattern, struct verdict *verdict)
{
    for (int i = 0; i < job->buffers; i++) {
        if (is_written(&job->buffer[i]) &&
            !bench->ops->set(bench->backend, held[i]->address, pattern, held[i]->bytes, verdict))
            return false;
    }
    return true;
}

bool bench_bind(struct bench *bench, const struct measure_entry *entry, struct arena *arena,
                struct bound_job *bound, struct verdict *verdict)
{
    const struct job *job = &entry->job;
    bound->entry = entry;
    bound->buffer = ARENA_ARRAY(arena, struct stored *, job->buffers);
    bench->phase(bench->data, PHASE_REFERENCE, bound->index);
    if (!bench->settled && !bench->ops->settle(bench->backend, verdict)) return false;
    bench->settled = true;
    if (!hold_all(bench, job, false, arena, bound->buffer, verdict) ||
        !poison(bench, job, bound->buffer, POISON_ZEROS, verdict))
        return false;
    bench->phase(bench->data, PHASE_CANDIDATE, bound->index);
    if (!bench->ops->load(bench->backend, entry->program, &job->program, arena, &bound->program,
                          verdict))
        return false;
    bind(bench, job, bound->program, bound->buffer, arena);
    return true;
}

/* The reference's results on disk: the outputs and bounds one after another. */
static const char *reference_path(const struct bench *bench, const struct job *job, bool adverse,
                                  struct arena *arena)
{
    int64_t total = 0;
    for (int i = 0; i < job->buffers; i++) {
        if (job->buffer[i].role == JOB_REF_OUT || job->buffer[i].role == JOB_REF_BOUND)
            total += buffer_bytes(&job->buffer[i]);
    }
    if (total > KEPT_REFERENCE_BYTES || !bench->options->cache_folder[0]) return NULL;
    struct hash128 reference = job_reference_hash(job);
    /* The build is part of it: filling and reference code may change with any source file. */
    const uint64_t numbers[] = {reference.low,
                                reference.high,
                                adverse,
                                hash_string(STAX_BUILD_ID),
                                hash_string(bench->info->arch),
                                hash_string(bench->info->compiler)};
    const char *folder = arena_printf(arena, "%s/reference", bench->options->cache_folder);
    return cache_path(arena, folder, hash_numbers("results", numbers, (int)STAX_COUNT(numbers)),
                      ".ref");
}

static bool load_reference(struct bench *bench, const struct job *job, const char *path,
                           struct stored *const *held, struct arena *arena, bool *found,
                           struct verdict *verdict)
{
    const void *bytes;
    size_t length, at = 0;
    *found = false;
    if (!path) return true;
    enum stax_status status = cache_read(path, arena, &bytes, &length);
    if (status == STAX_FORMAT)
        log_write(LOG_WARNING, "kept results of the reference are made again: %s",
                  status_message());
    if (status != STAX_OK) return true;
    for (int i = 0; i < job->buffers; i++) {
        enum job_role role = job->buffer[i].role;
        if (role != JOB_REF_OUT && role != JOB_REF_BOUND) continue;
        if (length - at < (size_t)held[i]->bytes) return true;
        if (!bench->ops->write(bench->backend, held[i]->address, (const char *)bytes + at,
                               held[i]->bytes, verdict))
            return false;
        at += (size_t)held[i]->bytes;
    }
    *found = at == length;
    return true;
}

static bool save_reference(struct bench *bench, const struct job *job, const char *path,
                           struct stored *const *held, struct arena *arena, struct verdict *verdict)
{
    if (!path) return true;
    struct text text = text_make(arena);
    for (int i = 0; i < job->buffers; i++) {
        enum job_role role = job->buffer[i].role;
        if (role != JOB_REF_OUT && role != JOB_REF_BOUND) continue;
        void *bytes = arena_alloc(arena, (size_t)held[i]->bytes);
        if (!bench->ops->read(bench->backend, bytes, held[i]->address, held[i]->bytes, verdict))
            return false;
        text_add_n(&text, bytes, (size_t)held[i]->bytes);
    }
    const char *folder = arena_printf(arena, "%s/reference", bench->options->cache_folder);
    if (cache_make_folder(folder) != STAX_OK ||
        cache_write(path, text_string(&text), text.length) != STAX_OK)
        log_write(LOG_WARNING, "results of the reference are not kept: %s", status_message());
    return true;
}

/* Fills held[] of REF_OUT and REF_BOUND with results that belong to the inputs in held[]. */
static bool run_reference(struct bench *bench, const struct measure_entry *entry, bool adverse,
                          struct arena *arena, struct stored **held, struct verdict *verdict)
{
    const struct job *job = &entry->job;
    bool all = true;
    for (int i = 0; i < job->buffers; i++) {
        enum job_role role = job->buffer[i].role;
        if (role != JOB_REF_OUT && role != JOB_REF_BOUND) continue;
        held[i] = hold(bench, job, i, adverse, arena, verdict);
        if (!held[i]) return false;
        all = all && held[i]->filled;
    }
    if (all) return true;
    const char *path = reference_path(bench, job, adverse, arena);
    bool found;
    if (!load_reference(bench, job, path, held, arena, &found, verdict)) return false;
    if (!found) {
        struct backend_program *program;
        for (int i = 0; i < job->buffers; i++) {
            if (job->buffer[i].role != JOB_REF_SCRATCH) continue;
            held[i] = hold(bench, job, i, adverse, arena, verdict);
            if (!held[i]) return false;
        }
        if (!bench->ops->load(bench->backend, entry->reference, &job->reference, arena, &program,
                              verdict))
            return false;
        bind(bench, job, program, held, arena);
        if (!bench->ops->run(bench->backend, program, verdict) ||
            !bench->ops->finish(bench->backend, verdict) ||
            !save_reference(bench, job, path, held, arena, verdict))
            return false;
    }
    for (int i = 0; i < job->buffers; i++) {
        if (job->buffer[i].role == JOB_REF_OUT || job->buffer[i].role == JOB_REF_BOUND)
            held[i]->filled = true;
    }
    return true;
}

static int find_pair(const struct job *job, enum job_role role, int output)
{
    for (int i = 0; i < job->buffers; i++) {
        if (job->buffer[i].role == role && job->buffer[i].pair == output) return i;
    }
    return -1;
}

static bool compare_outputs(struct bench *bench, const struct job *job, struct stored *const *held,
                            const char *inputs, double *ratio, struct verdict *verdict)
{
    for (int i = 0; i < job->buffers; i++) {
        const struct job_buffer *buffer = &job->buffer[i];
        if (buffer->role != JOB_OUTPUT) continue;
        int reference = find_pair(job, JOB_REF_OUT, i), bound = find_pair(job, JOB_REF_BOUND, i);
        if (reference < 0 || bound < 0)
            return verdict_set(verdict, OUTCOME_WRONG, "output %s has no reference to compare with",
                               buffer->name);
        struct comparison found = {0};
        if (!bench->ops->compare(bench->backend, buffer->dtype, buffer->elements, held[i]->address,
                                 held[reference]->address, held[bound]->address, &found, verdict))
            return false;
        if (found.ratio > *ratio) *ratio = found.ratio;
        if (found.wrong == 0) continue;
        return verdict_set(
            verdict, OUTCOME_WRONG,
            "%s[%lld] is %.9g, want %.9g within %.3g; %lld of %lld elements are wrong, "
            "with %s inputs",
            buffer->name, (long long)found.first, found.got, found.want, found.bound,
            (long long)found.wrong, (long long)buffer->elements, inputs);
    }
    return true;
}

/* Everything but the outputs' values: guards, counters, inputs. Damage is mended, so that it harms
 * no later job. */
static bool check_surroundings(struct bench *bench, const struct job *job,
                               struct stored *const *held, struct verdict *verdict)
{
    bool good = true;
    for (int i = 0; i < job->buffers; i++) {
        const struct job_buffer *buffer = &job->buffer[i];
        int64_t offset, first = -1;
        uint64_t digest = 0;
        if (!is_of_candidate(buffer)) continue;
        if (!store_check_guards(bench->store, held[i], &offset, verdict)) return false;
        if (offset != STORE_WHOLE) {
            if (!store_mend(bench->store, held[i], verdict)) return false;
            good = verdict_set(verdict, OUTCOME_WRONG,
                               "writes outside its buffer: byte %lld of %s, which has %lld bytes",
                               (long long)offset, buffer->name, (long long)held[i]->bytes);
        }
        if (buffer->role == JOB_COUNTER) {
            if (!bench->ops->all(bench->backend, held[i]->address, 0, held[i]->bytes, &first,
                                 verdict))
                return false;
            if (first >= 0)
                good = verdict_set(verdict, OUTCOME_WRONG,
                                   "leaves its counter %s at other than zero", buffer->name);
        }
        if (buffer->role == JOB_INPUT) {
            if (!bench->ops->digest(bench->backend, held[i]->address, held[i]->bytes, &digest,
                                    verdict))
                return false;
            if (digest != held[i]->digest) {
                held[i]->filled = false;
                good = verdict_set(verdict, OUTCOME_WRONG, "writes to its input %s", buffer->name);
            }
        }
    }
    return good;
}

static bool check_once(struct bench *bench, struct bound_job *bound, struct stored *const *held,
                       int pattern, const char *inputs, double *ratio, struct verdict *verdict)
{
    const struct job *job = &bound->entry->job;
    if (!poison(bench, job, held, pattern, verdict) ||
        !bench->ops->run(bench->backend, bound->program, verdict) ||
        !bench->ops->finish(bench->backend, verdict) ||
        !check_surroundings(bench, job, held, verdict))
        return false;
    return job->reference.launches == 0 ||
           compare_outputs(bench, job, held, inputs, ratio, verdict);
}

bool bench_verify(struct bench *bench, struct bound_job *bound, bool adverse, struct arena *arena,
                  double *ratio, struct verdict *verdict)
{
    const struct job *job = &bound->entry->job;
    const char *inputs = adverse ? "adverse" : "random";
    struct stored **held = ARENA_ARRAY(arena, struct stored *, job->buffers);
    bench->phase(bench->data, PHASE_REFERENCE, bound->index);
    if (!hold_all(bench, job, adverse, arena, held, verdict)) return false;
    if (job->reference.launches > 0 &&
        !run_reference(bench, bound->entry, adverse, arena, held, verdict)) {
        struct verdict cause = *verdict;
        verdict_set(verdict, cause.outcome, "the reference failed: %.400s", cause.message);
        verdict->spent = cause.spent;
        return false;
    }
    bench->phase(bench->data, PHASE_CANDIDATE, bound->index);
    bind(bench, job, bound->program, held, arena);
    bool good = check_once(bench, bound, held, POISON_ONES, inputs, ratio, verdict) &&
                check_once(bench, bound, held, POISON_ZEROS, inputs, ratio, verdict);
    bind(bench, job, bound->program, bound->buffer, arena);
    return good;
}
