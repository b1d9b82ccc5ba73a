/* Outcomes and packing of trials; see trial.h. */
#include "base/trial.h"

#include <math.h>

const struct outcome_row outcome_table[OUTCOME_COUNT] = {
#define OUTCOME(id, name, text, again) [OUTCOME_##id] = {name, text, again},
#include "base/outcome.def"
#undef OUTCOME
};

const char *const timer_names[TIMER_COUNT] = {"cupti", "event", "graph", "host", "recorded"};
const char *const l2_names[L2_COUNT] = {"cold", "dirty", "warm"};
const char *const stage_names[STAGE_COUNT] = {"search", "final", "bench"};

enum { MAX_SAMPLES = 1 << 20 }; /* chosen: a message that says more is damaged */

enum { FLAG_CACHED = 1, FLAG_VERIFIED = 2, FLAG_ADVERSE = 4, FLAG_SUSPICIOUS = 8 };

void trial_put(struct text *text, const struct trial *trial)
{
    uint32_t flags = (trial->compile.cached ? FLAG_CACHED : 0u) |
                     (trial->verified ? FLAG_VERIFIED : 0u) |
                     (trial->adverse_verified ? FLAG_ADVERSE : 0u) |
                     (trial->suspicious ? FLAG_SUSPICIOUS : 0u);
    text_put_u32(text, (uint32_t)trial->outcome);
    text_put_u32(text, flags);
    text_put_string(text, trial->message ? trial->message : "");
    text_put_string(text, trial->log ? trial->log : "");
    text_put_u32(text, (uint32_t)trial->samples);
    for (int i = 0; i < trial->samples; i++) {
        text_put_f64(text, trial->span_ns[i]);
        text_put_f64(text, trial->sum_ns[i]);
    }
    const int ints[] = {trial->discarded, (int)trial->timer, (int)trial->l2, (int)trial->stage,
                        trial->compile.registers};
    for (size_t i = 0; i < STAX_COUNT(ints); i++) text_put_u32(text, (uint32_t)ints[i]);
    const int64_t longs[] = {
        trial->compile.shared_bytes,         trial->compile.spill_bytes,
        trial->compile.stack_bytes,          (int64_t)trial->compile.binary.low,
        (int64_t)trial->compile.binary.high, trial->time_unix_ns};
    for (size_t i = 0; i < STAX_COUNT(longs); i++) text_put_u64(text, (uint64_t)longs[i]);
    const double reals[] = {trial->compile.seconds, trial->measure_s, trial->error_ratio,
                            trial->clock_mhz, trial->temperature_c};
    for (size_t i = 0; i < STAX_COUNT(reals); i++) text_put_f64(text, reals[i]);
}

static void get_samples(struct reader *reader, struct arena *arena, struct trial *trial)
{
    uint32_t samples = reader_u32(reader);
    if (samples > MAX_SAMPLES || samples > (reader->length - reader->at) / 16) reader->bad = 1;
    if (reader->bad) return;
    trial->samples = (int)samples;
    trial->span_ns = ARENA_ARRAY(arena, double, samples);
    trial->sum_ns = ARENA_ARRAY(arena, double, samples);
    for (uint32_t i = 0; i < samples; i++) {
        trial->span_ns[i] = reader_f64(reader);
        trial->sum_ns[i] = reader_f64(reader);
    }
}

enum stax_status trial_get(struct reader *reader, struct arena *arena, struct trial *trial)
{
    *trial = (struct trial){0};
    uint32_t outcome = reader_u32(reader);
    uint32_t flags = reader_u32(reader);
    trial->message = reader_string(reader, arena);
    trial->log = reader_string(reader, arena);
    get_samples(reader, arena, trial);
    trial->discarded = (int)reader_u32(reader);
    uint32_t timer = reader_u32(reader), l2 = reader_u32(reader), stage = reader_u32(reader);
    trial->compile.registers = (int)reader_u32(reader);
    trial->compile.shared_bytes = (int64_t)reader_u64(reader);
    trial->compile.spill_bytes = (int64_t)reader_u64(reader);
    trial->compile.stack_bytes = (int64_t)reader_u64(reader);
    trial->compile.binary.low = reader_u64(reader);
    trial->compile.binary.high = reader_u64(reader);
    trial->time_unix_ns = (int64_t)reader_u64(reader);
    trial->compile.seconds = reader_f64(reader);
    trial->measure_s = reader_f64(reader);
    trial->error_ratio = reader_f64(reader);
    trial->clock_mhz = reader_f64(reader);
    trial->temperature_c = reader_f64(reader);
    if (reader->bad || !trial->message || !trial->log || outcome >= OUTCOME_COUNT ||
        timer >= TIMER_COUNT || l2 >= L2_COUNT || stage >= STAGE_COUNT)
        STAX_RETURN(STAX_FORMAT, "a trial record is damaged");
    trial->outcome = (enum outcome)outcome;
    trial->timer = (enum timer)timer;
    trial->l2 = (enum l2_mode)l2;
    trial->stage = (enum trial_stage)stage;
    trial->compile.cached = flags & FLAG_CACHED;
    trial->verified = flags & FLAG_VERIFIED;
    trial->adverse_verified = flags & FLAG_ADVERSE;
    trial->suspicious = flags & FLAG_SUSPICIOUS;
    return STAX_OK;
}

double trial_time_ns(const struct trial *trial)
{
    if (trial->outcome != OUTCOME_OK || trial->samples == 0) return INFINITY;
    return stats_median(trial->span_ns, trial->samples);
}
