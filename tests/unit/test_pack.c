/* Jobs, trials and devices survive packing; damaged bytes are refused and never read past. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/job.h"
#include "base/trial.h"

static struct job sample_job(struct job_buffer buffer[3], struct job_launch *launch,
                             struct job_arg arg[2])
{
    buffer[0] = (struct job_buffer){"x", JOB_INPUT, DTYPE_BF16, 1 << 20, JOB_FILL_UNIFORM,
                                    -1,  1,         7,          -1};
    buffer[1] = (struct job_buffer){"out0", JOB_OUTPUT, DTYPE_F32, 64, JOB_FILL_NONE, 0, 0, 0, -1};
    buffer[2] = (struct job_buffer){"ref0", JOB_REF_OUT, DTYPE_F64, 64, JOB_FILL_NONE, 0, 0, 0, 1};
    arg[0] = (struct job_arg){.kind = JOB_ARG_BUFFER, .buffer = 1};
    arg[1] = (struct job_arg){.kind = JOB_ARG_I64, .i = -5, .f = 0.25};
    *launch = (struct job_launch){
        "stax_red_fused_0", {3, 2, 1}, {128, 1, 1}, {2, 1, 1}, 4096, 2, arg};
    return (struct job){"red_fused(x: bf16[64,16384])",
                        DEVICE_CUDA,
                        "sm_90a",
                        3,
                        buffer,
                        {"source", "-O3", 1, launch},
                        {"reference", "", 1, launch},
                        1e6,
                        2e6};
}

static void test_job_round_trip(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct job_buffer buffer[3];
    struct job_launch launch;
    struct job_arg arg[2];
    struct job job = sample_job(buffer, &launch, arg), back;
    struct text text = text_make(arena);
    job_put(&text, &job);
    struct reader reader = {(const unsigned char *)text.bytes, text.length, 0, 0};
    assert_int_equal(job_get(&reader, arena, &back), STAX_OK);
    assert_int_equal(reader.at, text.length);
    assert_true(hash128_equal(job_hash(&job), job_hash(&back)));
    assert_true(hash128_equal(job_reference_hash(&job), job_reference_hash(&back)));
    assert_string_equal(back.program.launch[0].entry, "stax_red_fused_0");
    assert_int_equal(back.program.launch[0].arg[1].i, -5);
    assert_int_equal(back.buffer[2].pair, 1);
    arena_destroy(arena);
}

/* What runs decides job_hash; what it is compared with decides job_reference_hash. */
static void test_job_identity(void **state)
{
    (void)state;
    struct job_buffer buffer[3];
    struct job_launch launch;
    struct job_arg arg[2];
    struct job job = sample_job(buffer, &launch, arg);
    struct hash128 runs = job_hash(&job), judged = job_reference_hash(&job);
    buffer[0].seed = 8;
    assert_true(hash128_equal(runs, job_hash(&job)));
    assert_false(hash128_equal(judged, job_reference_hash(&job)));
    launch.grid[0] = 4;
    assert_false(hash128_equal(runs, job_hash(&job)));
    launch.grid[0] = 3;
    job.program.options = "-O2";
    assert_false(hash128_equal(runs, job_hash(&job)));
}

static void test_trial_round_trip(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    double span[2] = {2620.5, 2640}, sum[2] = {2000, 2001};
    struct trial trial = {
        .outcome = OUTCOME_OK,
        .message = "",
        .log = "note",
        .samples = 2,
        .span_ns = span,
        .sum_ns = sum,
        .timer = TIMER_EVENT,
        .l2 = L2_DIRTY,
        .stage = STAGE_FINAL,
        .compile = {.seconds = 0.2, .cached = true, .registers = -1, .spill_bytes = 4},
        .error_ratio = NAN,
        .verified = true,
        .clock_mhz = NAN,
        .time_unix_ns = 99};
    struct trial back;
    struct text text = text_make(arena);
    trial_put(&text, &trial);
    struct reader reader = {(const unsigned char *)text.bytes, text.length, 0, 0};
    assert_int_equal(trial_get(&reader, arena, &back), STAX_OK);
    assert_int_equal(back.samples, 2);
    assert_true(back.span_ns[1] == 2640 && back.sum_ns[0] == 2000);
    assert_int_equal(back.compile.registers, -1);
    assert_true(back.verified && !back.adverse_verified && back.compile.cached &&
                isnan(back.error_ratio));
    assert_int_equal(back.timer, TIMER_EVENT);
    assert_true(trial_time_ns(&back) == 2630.25);
    back.outcome = OUTCOME_WRONG;
    assert_true(isinf(trial_time_ns(&back)));
    arena_destroy(arena);
}

static void test_device_round_trip(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct device_info info = {.kind = DEVICE_CUDA,
                               .spec = "cuda:0",
                               .name = "NVIDIA H200",
                               .arch = "sm_90a",
                               .processors = 132,
                               .max_grid = {1, 2, 3},
                               .vector_bytes = 32,
                               .copy_bytes_s = 4e12};
    struct device_info back;
    struct text text = text_make(arena);
    device_info_put(&text, &info);
    struct reader reader = {(const unsigned char *)text.bytes, text.length, 0, 0};
    assert_int_equal(device_info_get(&reader, arena, &back), STAX_OK);
    assert_string_equal(back.arch, "sm_90a");
    assert_string_equal(back.uuid, "");
    assert_true(back.max_grid[2] == 3 && back.processors == 132 && back.copy_bytes_s == 4e12);
    arena_destroy(arena);
}

/* Every truncation is refused; every flipped byte is either refused or gives a message of the same
 * kind. */
static void test_damage(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct job_buffer buffer[3];
    struct job_launch launch;
    struct job_arg arg[2];
    struct job job = sample_job(buffer, &launch, arg), back;
    struct text text = text_make(arena);
    job_put(&text, &job);
    for (size_t length = 0; length < text.length; length++) {
        struct arena *scratch = arena_create();
        struct reader reader = {arena_copy(scratch, text.bytes, length), length, 0, 0};
        assert_int_equal(job_get(&reader, scratch, &back), STAX_FORMAT);
        arena_destroy(scratch);
    }
    for (size_t at = 0; at < text.length; at++) {
        struct arena *scratch = arena_create();
        unsigned char *bytes = arena_copy(scratch, text.bytes, text.length);
        bytes[at] ^= 0xff;
        struct reader reader = {bytes, text.length, 0, 0};
        enum stax_status status = job_get(&reader, scratch, &back);
        assert_true(status == STAX_OK || status == STAX_FORMAT);
        arena_destroy(scratch);
    }
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_round_trip),   cmocka_unit_test(test_job_identity),
        cmocka_unit_test(test_trial_round_trip), cmocka_unit_test(test_device_round_trip),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
