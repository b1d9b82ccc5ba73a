/* Random runs and trials for the tests of the database, and a folder of their own. */
#ifndef STAX_TESTS_DB_RANDOM_H
#define STAX_TESTS_DB_RANDOM_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "results/results.h"

#define OK(call)                                                         \
    do {                                                                 \
        enum stax_status ok_ = (call);                                   \
        if (ok_ != STAX_OK) fail_msg("%s: %s", #call, status_message()); \
    } while (0)

/* The temporary folder of one test, in memory where there is such a place: these tests sync
 * hundreds of times, and what a killed process wrote is there either way. Every file of it goes
 * with folder_remove. */
static inline char *folder_make(struct arena *arena)
{
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    char *folder = arena_printf(arena, "%s/stax-db-XXXXXX", place);
    assert_non_null(mkdtemp(folder));
    return folder;
}

static inline void folder_remove(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline struct space *random_space(struct arena *arena)
{
    static const int64_t blocks[] = {1, 2, 4, 8, 16, 32, 64}, warps[] = {1, 2, 4, 8};
    static const char *const forms[] = {"per", "red", "say \"split\", please"};
    const struct value scales[] = {{.kind = VALUE_FLOAT, .f = 0.1},
                                   {.kind = VALUE_FLOAT, .f = 1.0},
                                   {.kind = VALUE_FLOAT, .f = 2.5e30}};
    const struct value flags[] = {{.kind = VALUE_BOOL, .i = 0}, {.kind = VALUE_BOOL, .i = 1}};
    struct space *space = space_create("random", arena);
    OK(space_add_ints(space, "XBLOCK", blocks, 7));
    OK(space_add_ints(space, "num_warps", warps, 4));
    OK(space_add_texts(space, "FORM", forms, 3));
    OK(space_add_values(space, "SCALE", scales, 3, false));
    OK(space_add_values(space, "FLAG", flags, 2, true));
    OK(space_define(space, "LIMIT", (struct value){.kind = VALUE_INT, .i = 128}));
    OK(space_add_constraint(space, "XBLOCK * num_warps <= LIMIT"));
    OK(space_finish(space));
    return space;
}

static inline struct device_info *random_device(struct arena *arena)
{
    struct device_info *device = ARENA_NEW(arena, struct device_info);
    *device = (struct device_info){.kind = DEVICE_CUDA,
                                   .spec = "cuda:0",
                                   .name = "Test GPU",
                                   .uuid = "GPU-1234",
                                   .arch = "sm_90a",
                                   .cc_major = 9,
                                   .processors = 132,
                                   .warp_size = 32,
                                   .max_threads_block = 1024,
                                   .max_threads_sm = 2048,
                                   .registers_sm = 65536,
                                   .shared_block_bytes = 232448,
                                   .shared_sm_bytes = 233472,
                                   .l2_bytes = 62914560,
                                   .memory_bytes = 150000000000,
                                   .max_grid = {2147483647, 65535, 65535},
                                   .vector_bytes = 16,
                                   .copy_bytes_s = 4.1e12,
                                   .read_bytes_s = 4.3e12,
                                   .driver = "580.10",
                                   .compiler = "NVRTC 13.0",
                                   .timer_note = "CUPTI 13.0"};
    return device;
}

static inline struct run_info random_info(const struct space *space, struct arena *arena)
{
    return (struct run_info){.kernel = "red_fused",
                             .problem = "red_fused(x: f32[64,16384])",
                             .source = "kernel red_fused(x) { return sum(x * x, axis=-1) }\n",
                             .source_hash = {12345, 67890},
                             .device = random_device(arena),
                             .timer = TIMER_CUPTI,
                             .l2 = L2_COLD,
                             .protocol = "warm=25ms n=200",
                             .strategy = "random",
                             .settings = "",
                             .command = "stax-tune --kernel red_fused",
                             .host = "h",
                             .version = "0.1.0",
                             .seed = 7,
                             .key = "key",
                             .space = space,
                             .bytes = 4194560,
                             .flop = 2097152};
}

static inline struct trial random_trial(struct rng *rng, struct arena *arena)
{
    struct trial trial = {
        .outcome = rng_below(rng, 3) ? OUTCOME_OK : (enum outcome)rng_below(rng, OUTCOME_COUNT),
        .message = "",
        .log = "",
        .timer = TIMER_CUPTI,
        .l2 = (enum l2_mode)rng_below(rng, L2_COUNT),
        .stage = (enum trial_stage)rng_below(rng, STAGE_COUNT),
        .discarded = (int)rng_below(rng, 4),
        .measure_s = rng_unit(rng),
        .error_ratio = rng_below(rng, 2) ? NAN : rng_unit(rng),
        .verified = rng_below(rng, 2),
        .adverse_verified = rng_below(rng, 2),
        .suspicious = rng_below(rng, 2),
        .clock_mhz = 1980,
        .temperature_c = NAN,
        .time_unix_ns = (int64_t)(rng_u64(rng) >> 2)};
    trial.compile = (struct compile_facts){.seconds = rng_unit(rng),
                                           .cached = rng_below(rng, 2),
                                           .registers = (int)rng_below(rng, 256) - 1,
                                           .shared_bytes = (int64_t)rng_below(rng, 200000),
                                           .spill_bytes = -1,
                                           .stack_bytes = 0,
                                           .binary = {rng_u64(rng), rng_u64(rng)}};
    if (trial.outcome != OUTCOME_OK) {
        trial.message = arena_printf(arena, "failed with number %u", (unsigned)rng_below(rng, 5));
        trial.log = "warning: \xc3\xa9\n  line two";
    } else {
        trial.samples = 1 + (int)rng_below(rng, 40);
    }
    trial.span_ns = ARENA_ARRAY(arena, double, trial.samples);
    trial.sum_ns = ARENA_ARRAY(arena, double, trial.samples);
    for (int i = 0; i < trial.samples; i++) {
        trial.span_ns[i] = 2600 + (double)rng_below(rng, 1000000000) +
                           0.25 * (double)rng_below(rng, 4);
        trial.sum_ns[i] = trial.span_ns[i] - (double)rng_below(rng, 500);
    }
    return trial;
}

static inline void assert_real(double stored, double want)
{
    if (isnan(want))
        assert_true(isnan(stored));
    else
        assert_true(stored == (double)(float)want || stored == want); /* columns hold f32 */
}

/* Samples exactly; numbers stored as f32 as that. */
static inline void assert_trial_equal(const struct trial *stored, const struct trial *want)
{
    assert_int_equal(stored->outcome, want->outcome);
    assert_string_equal(stored->message, want->message);
    assert_string_equal(stored->log, want->log);
    assert_int_equal(stored->samples, want->samples);
    assert_memory_equal(stored->span_ns, want->span_ns, (size_t)want->samples * sizeof(double));
    assert_memory_equal(stored->sum_ns, want->sum_ns, (size_t)want->samples * sizeof(double));
    assert_int_equal(stored->discarded, want->discarded);
    assert_int_equal(stored->timer, want->timer);
    assert_int_equal(stored->l2, want->l2);
    assert_int_equal(stored->stage, want->stage);
    assert_real(stored->compile.seconds, want->compile.seconds);
    assert_int_equal(stored->compile.cached, want->compile.cached);
    assert_int_equal(stored->compile.registers, want->compile.registers);
    assert_int_equal(stored->compile.shared_bytes, want->compile.shared_bytes);
    assert_int_equal(stored->compile.spill_bytes, want->compile.spill_bytes);
    assert_int_equal(stored->compile.stack_bytes, want->compile.stack_bytes);
    assert_true(hash128_equal(stored->compile.binary, want->compile.binary));
    assert_real(stored->measure_s, want->measure_s);
    assert_real(stored->error_ratio, want->error_ratio);
    assert_int_equal(stored->verified, want->verified);
    assert_int_equal(stored->adverse_verified, want->adverse_verified);
    assert_int_equal(stored->suspicious, want->suspicious);
    assert_real(stored->clock_mhz, want->clock_mhz);
    assert_real(stored->temperature_c, want->temperature_c);
    assert_int_equal(stored->time_unix_ns, want->time_unix_ns);
}

/* Identity of a pretended job: a number in a hash. */
static inline struct hash128 job_number(uint64_t number)
{
    return hash128_bytes(&number, sizeof number);
}

#endif
