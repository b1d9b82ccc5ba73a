/* The measuring path on a GPU, whole: the same jobs as on the host, plus what only a GPU can do
 * wrong. Prints the figures of timers and cache states beside one another; asserts none of them.
 * Exits 77 where there is no GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/device/measure_job.h"

enum { ROWS = 128, COLUMNS = 8192, BLOCK = 512 };

static struct arena *arena;
static struct measure *measure;
static char cache[] = "/tmp/stax-measure-cuda-XXXXXX";
static struct device_info device;

#define KERNEL(statement)                                                                       \
    "extern \"C\" __global__ void __launch_bounds__(512) tuned(const float *x, float *y) {\n"   \
    "  __shared__ float part[16];\n"                                                            \
    "  const float4 *row = (const float4 *)(x + (long long)blockIdx.x * 8192);\n"               \
    "  float s = 0;\n"                                                                          \
    "  float4 v[4];\n"                                                                          \
    "  for (int k = 0; k < 4; k++) v[k] = row[threadIdx.x + 512 * k];\n"                        \
    "  for (int k = 0; k < 4; k++) s += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + " \
    "v[k].w * v[k].w;\n"                                                                        \
    "  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);\n"                          \
    "  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;\n"                                \
    "  __syncthreads();\n"                                                                      \
    "  if (threadIdx.x < 32) { s = threadIdx.x < 16 ? part[threadIdx.x] : 0;\n"                 \
    "    for (int d = 8; d; d /= 2) s += __shfl_xor_sync(~0u, s, d); }\n"                       \
    "  bool first = threadIdx.x == 0; int i = blockIdx.x;\n" statement "\n}\n"
#define STORE "if (first) y[i] = s;\n"

static const char *const reference =
    "extern \"C\" __global__ void reference(const float *x, double *y, double *bound) {\n"
    "  double s = 0; const float *row = x + (long long)blockIdx.x * 8192;\n"
    "  for (int k = 0; k < 8192; k++) s += (double)row[k] * row[k];\n"
    "  y[blockIdx.x] = s; bound[blockIdx.x] = fabs(s) * 8192 * 1.2e-7; }\n";

static struct measure_options options_for(enum timer timer, enum l2_mode l2, double limit_s)
{
    return (struct measure_options){
        .device = "cuda", .cache_dir = cache, .timer = timer, .l2 = l2, .time_limit_s = limit_s};
}

static struct measure *open_or_fail(enum timer timer, enum l2_mode l2, double limit_s)
{
    struct measure_options options = options_for(timer, l2, limit_s);
    struct measure *fresh;
    if (measure_open(&options, arena, &fresh) != STAX_OK) fail_msg("%s", status_message());
    return fresh;
}

static struct job job_of(const char *source)
{
    return make_job(arena, &device, ROWS, COLUMNS, source, reference, ROWS, BLOCK);
}

static struct trial outcome_of_job(struct measure *on, const struct job *job, bool adverse,
                                   int samples)
{
    struct trial trial;
    struct measure_plan plan = {.samples = samples, .verify = true, .adverse = adverse};
    enum stax_status status = measure_now(on, job, &plan, arena, &trial);
    if (status != STAX_OK) fail_msg("%s", status_message());
    return trial;
}

static struct trial outcome_of(const char *source, bool adverse, int samples)
{
    struct job job = job_of(source);
    return outcome_of_job(measure, &job, adverse, samples);
}

static void says(const struct trial *trial, enum outcome outcome, const char *part)
{
    if (trial->outcome != outcome || !strstr(trial->message, part))
        fail_msg("%s: %s, not %s: ...%s...", outcome_table[trial->outcome].name, trial->message,
                 outcome_table[outcome].name, part);
}

static void test_device(void **state)
{
    const struct device_info *info = measure_device(measure);
    print_message("%s, %s, %s; %s; %s; copy %.0f GB/s, read %.0f GB/s\n", info->name, info->arch,
                  info->driver, info->compiler, info->timer_note, info->copy_bytes_s / 1e9,
                  info->read_bytes_s / 1e9);
    assert_int_equal(info->kind, DEVICE_CUDA);
    assert_memory_equal(info->uuid, "GPU-", 4);
    assert_memory_equal(info->arch, "sm_", 3);
    assert_true(info->processors > 1 && info->l2_bytes > 1 << 20 && info->memory_bytes > 1ll << 30);
    assert_true(info->warp_size == 32 && info->max_threads_block == 1024 &&
                info->shared_block_bytes >= 48 * 1024);
    assert_true(info->copy_bytes_s > 1e10 && info->read_bytes_s > 1e10);
    assert_int_equal(measure_timer(measure), TIMER_CUPTI);
    assert_int_equal(measure_l2(measure), L2_COLD);
    assert_string_equal(measure_protocol(measure), "cupti cold read-2xL2 v1");
}

static void test_good(void **state)
{
    struct trial trial = outcome_of(KERNEL(STORE), true, 15);
    if (trial.outcome != OUTCOME_OK) fail_msg("%s", trial.message);
    assert_int_equal(trial.samples, 15);
    assert_true(trial.verified && trial.adverse_verified && !trial.suspicious);
    assert_true(trial.error_ratio >= 0 && trial.error_ratio <= 1);
    for (int i = 0; i < 15; i++)
        assert_true(trial.span_ns[i] > 500 && trial.sum_ns[i] == trial.span_ns[i]);
    assert_true(trial.compile.registers > 8 && trial.compile.spill_bytes == 0);
    assert_true(trial.clock_mhz > 100 && trial.clock_mhz < 5000);
    struct trial by_rule = outcome_of(KERNEL(STORE), false, 0);
    assert_in_range(by_rule.samples, 10, 200);
}

static void test_wrong(void **state)
{
    struct trial trial = outcome_of(KERNEL("if (first) y[i] = i == 17 ? s * 1.01f : s;"), false, 1);
    says(&trial, OUTCOME_WRONG, "y[17] is ");
    says(&trial, OUTCOME_WRONG, "1 of 128 elements are wrong, with random inputs");
    trial = outcome_of(KERNEL("if (first && i != 9) y[i] = s;"), false, 1);
    says(&trial, OUTCOME_WRONG, "y[9] is ");
    trial = outcome_of(KERNEL("if (first) atomicAdd(y + i, s);"), false, 1);
    says(&trial, OUTCOME_WRONG, "128 of 128");
    trial = outcome_of(KERNEL(STORE "if (first && i == 0) y[128] = 1;"), false, 1);
    says(&trial, OUTCOME_WRONG, "writes outside its buffer: byte 51");
    trial = outcome_of(KERNEL(STORE "if (first && i == 0) ((float *)x)[12] = 1;"), false, 1);
    says(&trial, OUTCOME_WRONG, "writes to its input x");
    trial = outcome_of(KERNEL("if (first) y[i] = isnan(s) ? 1.0f : s;"), true, 1);
    says(&trial, OUTCOME_WRONG, "with adverse inputs");
    trial = outcome_of(KERNEL(STORE), false, 2);
    assert_int_equal(trial.outcome, OUTCOME_OK);
}

static void test_refused(void **state)
{
    struct trial trial = outcome_of("extern \"C\" __global__ void tuned() { nonsense; }", false, 1);
    says(&trial, OUTCOME_COMPILE, "nonsense");
    struct job job = job_of(KERNEL(STORE));
    job.program.launch[0].shared_bytes = 1 << 20;
    trial = outcome_of_job(measure, &job, false, 1);
    says(&trial, OUTCOME_RESOURCE, "1048576 bytes of shared memory");
    job.program.launch[0].shared_bytes = 0;
    job.program.launch[0].block[0] = 1024; /* bounds say 512 */
    trial = outcome_of_job(measure, &job, false, 1);
    assert_true(trial.outcome == OUTCOME_LAUNCH || trial.outcome == OUTCOME_RESOURCE);
    job = job_of(KERNEL(STORE));
    job.program.launch[0].entry = "nobody";
    trial = outcome_of_job(measure, &job, false, 1);
    says(&trial, OUTCOME_LAUNCH, "has no entry nobody");
    job = job_of(
        "extern \"C\" __global__ void tuned(float *x, float *y) { float v[200];\n"
        "#pragma unroll\n for (int i = 0; i < 200; i++) v[i] = x[i * 32 + threadIdx.x];\n "
        "__syncthreads();\n"
        "#pragma unroll\n for (int i = 0; i < 200; i++) y[i * 32 + threadIdx.x] = v[199 - i]; }\n");
    job.program.options = "--maxrregcount=24";
    trial = outcome_of_job(measure, &job, false, 1);
    says(&trial, OUTCOME_SPILL, "more than the limit of 0");
}

static void test_cluster(void **state)
{
    struct job job = job_of(KERNEL(STORE));
    job.program.launch[0].cluster[0] = 2;
    struct trial trial = outcome_of_job(measure, &job, false, 3);
    if (device.cc_major >= 9 && trial.outcome != OUTCOME_OK) fail_msg("%s", trial.message);
}

static void test_faults(void **state)
{
    struct trial trial = outcome_of(KERNEL("if (first) *(volatile float *)8 = s;"), false, 1);
    says(&trial, OUTCOME_FAULT, "CUDA_ERROR_ILLEGAL_ADDRESS");
    trial = outcome_of(KERNEL("if (first) asm volatile(\"trap;\");"), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_FAULT);
    trial = outcome_of(KERNEL(STORE), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
}

static void test_hang(void **state)
{
    struct measure *kept = measure;
    measure = open_or_fail(TIMER_COUNT, L2_COUNT, 1.0);
    struct trial trial = outcome_of(
        KERNEL(STORE "while (((volatile float *)x)[0] < 3.0f) continue;"), false, 1);
    says(&trial, OUTCOME_TIMEOUT, "time limit of 1 s");
    trial = outcome_of(KERNEL(STORE), false, 1);
    assert_int_equal(trial.outcome, OUTCOME_OK);
    measure_close(measure);
    measure = kept;
}

/* Two launches of the same kernel: the span holds both and the gap between them. */
static void test_two_launches(void **state)
{
    struct job job = job_of(KERNEL(STORE));
    struct job_launch *twice = ARENA_ARRAY(arena, struct job_launch, 2);
    twice[0] = twice[1] = job.program.launch[0];
    job.program.launches = 2;
    job.program.launch = twice;
    struct trial trial = outcome_of_job(measure, &job, false, 9);
    if (trial.outcome != OUTCOME_OK) fail_msg("%s", trial.message);
    for (int i = 0; i < 9; i++) assert_true(trial.span_ns[i] > trial.sum_ns[i]);
    print_message("two launches, cold: span %.2f us, sum %.2f us\n",
                  stats_median(trial.span_ns, 9) / 1e3, stats_median(trial.sum_ns, 9) / 1e3);
}

static void test_race(void **state)
{
    struct job fast = job_of(KERNEL(STORE));
    struct job slow = job_of(KERNEL(STORE "for (int t = 0; t < 9; t++) __nanosleep(1000);"));
    struct job wrong = job_of(KERNEL("if (first) y[i] = s * 1.01f;"));
    const struct job *const jobs[] = {&slow, &wrong, &fast};
    struct trial trials[3];
    if (measure_race(measure, 3, jobs, 31, 3, arena, trials) != STAX_OK)
        fail_msg("%s", status_message());
    assert_true(trials[0].outcome == OUTCOME_OK && trials[2].outcome == OUTCOME_OK);
    assert_int_equal(trials[1].outcome, OUTCOME_WRONG);
    assert_true(trials[0].samples == 31 && trials[2].samples == 31 && trials[2].adverse_verified);
    assert_true(trial_time_ns(&trials[0]) > trial_time_ns(&trials[2]));
}

static double spread_frac(const double *samples, int n)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) mean += samples[i] / n;
    for (int i = 0; i < n; i++) square += (samples[i] - mean) * (samples[i] - mean) / n;
    return sqrt(square) / mean;
}

static void print_row(const char *what, enum timer timer, enum l2_mode l2)
{
    struct measure *kept = measure;
    measure = open_or_fail(timer, l2, 0);
    struct trial trial = outcome_of(KERNEL(STORE), false, 200);
    if (trial.outcome != OUTCOME_OK) fail_msg("%s", trial.message);
    assert_int_equal(trial.timer, timer);
    assert_int_equal(trial.l2, l2);
    print_message("%-16s %-5s %7.2f us, CV %5.2f %%, trial %.1f ms\n", what, l2_names[l2],
                  trial_time_ns(&trial) / 1e3, 100 * spread_frac(trial.span_ns, trial.samples),
                  1e3 * trial.measure_s);
    measure_close(measure);
    measure = kept;
}

static void test_timers(void **state)
{
    print_message("sum of squares %d x %d f32, %s\n", ROWS, COLUMNS, device.name);
    for (int l2 = 0; l2 < L2_COUNT; l2++) {
        print_row("cupti concurrent", TIMER_CUPTI, (enum l2_mode)l2);
        setenv("STAX_CUPTI_KIND", "kernel", 1);
        print_row("cupti kernel", TIMER_CUPTI, (enum l2_mode)l2);
        unsetenv("STAX_CUPTI_KIND");
        print_row("event", TIMER_EVENT, (enum l2_mode)l2);
    }
}

static void test_assembly(void **state)
{
    struct measure_options options = options_for(TIMER_COUNT, L2_COUNT, 0);
    struct job job = job_of(KERNEL(STORE));
    const char *text;
    if (measure_assembly(&options, &job, arena, &text) != STAX_OK) fail_msg("%s", status_message());
    assert_non_null(strstr(text, ".entry tuned"));
}

static int open_all(void **state)
{
    struct measure_options options = options_for(TIMER_COUNT, L2_COUNT, 0);
    if (measure_open(&options, arena, &measure) == STAX_OK) return 0;
    print_error("%s\n", status_message());
    return -1;
}

static int close_all(void **state)
{
    char command[128];
    measure_close(measure);
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

static void show_log(void *data, enum log_level level, const char *line)
{
    (void)data;
    print_message("%s: %s\n",
                  level == LOG_WARNING ? "warning"
                  : level == LOG_INFO  ? "info"
                                       : "debug",
                  line);
}

int main(void)
{
    arena = arena_create();
    if (!mkdtemp(cache)) return 1;
    log_set_sink(show_log, NULL);
    struct measure_options options = options_for(TIMER_COUNT, L2_COUNT, 0);
    if (measure_probe(&options, arena, &device) != STAX_OK) {
        const char *need = getenv("STAX_REQUIRE_GPU");
        printf("no GPU: %s\n", status_message());
        rmdir(cache);
        arena_destroy(arena);
        return need && strcmp(need, "1") == 0 ? 1 : 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),   cmocka_unit_test(test_good),
        cmocka_unit_test(test_wrong),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cluster),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hang),     cmocka_unit_test(test_two_launches),
        cmocka_unit_test(test_race),     cmocka_unit_test(test_timers),
        cmocka_unit_test(test_assembly),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
