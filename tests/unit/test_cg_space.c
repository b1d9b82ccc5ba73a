/* Spaces of generated kernels: sizes, that every parameter matters, that no two configurations are
 * one, and reading back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "codegen/emit.h"

static const char *const archs[] = {"sm_80", "sm_90a", "sm_120", "cpu"};

static struct device_info device_of(const char *arch, struct arena *arena)
{
    struct device_info device = {.kind = DEVICE_CPU,
                                 .spec = "cpu",
                                 .name = "cpu",
                                 .arch = "native",
                                 .processors = 4,
                                 .vector_bytes = 64};
    if (strcmp(arch, "cpu") != 0)
        assert_int_equal(cg_offline_device(arch, arena, &device), STAX_OK);
    return device;
}

static struct cg_kernel *open_kernel(const char *name, struct arena *arena)
{
    struct cg_request request = {.kernel = strchr(name, '(') == NULL ? name : NULL,
                                 .expr = strchr(name, '(') == NULL ? NULL : name};
    struct cg_kernel *cg;
    assert_int_equal(cg_open(&request, arena, &cg), STAX_OK);
    return cg;
}

static struct hash128 identity(const struct cg_kernel *cg, const struct device_info *device,
                               const struct space *space, uint64_t config)
{
    struct arena *arena = arena_create();
    struct job *job;
    assert_int_equal(cg_job(cg, device, space, config, 1, arena, &job), STAX_OK);
    struct hash128 hash = job_hash(job);
    arena_destroy(arena);
    return hash;
}

static void red_fused_has_room_to_search(void **state)
{
    struct arena *arena = arena_create();
    struct cg_kernel *cg = open_kernel("red_fused", arena);
    for (size_t a = 0; a < STAX_COUNT(archs); a++) {
        struct device_info device = device_of(archs[a], arena);
        struct space *space;
        assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
        bool cpu = device.kind == DEVICE_CPU;
        assert_true(space_count(space) >= (cpu ? 100u : 360u));
        assert_true(space_count(space) <= 2000); /* an exhaustive run stays a matter of seconds */
        static const char *const names[] = {"FORM", "RSPLIT", "XBLOCK", "R0_BLOCK", "VEC"};
        for (size_t i = 0; i < STAX_COUNT(names); i++)
            assert_true(space_find(space, names[i]) >= 0);
        assert_true(space_find(space, cpu ? "num_threads" : "num_warps") >= 0);
    }
    arena_destroy(arena);
}

/* Two configurations that differ in parameter `p` and in as little else as can be; false when p
 * never differs. */
static bool closest_pair(const struct space *space, int p, uint64_t pair[2])
{
    int least = 1 << 20, a[32], b[32];
    struct rng rng = rng_make(11, (uint64_t)p);
    for (int tries = 0; tries < 3000 && least > 1; tries++) {
        uint64_t first = space_sample(space, &rng), near[64];
        space_unrank(space, first, a);
        int count = space_neighbours(space, first, SPACE_ANY, near, 64);
        for (int i = 0; i < count + 1 && i < 64; i++) {
            uint64_t second = i < count ? near[i] : space_sample(space, &rng);
            int differ = 0;
            space_unrank(space, second, b);
            for (int q = 0; q < space_params(space); q++) differ += a[q] != b[q];
            if (a[p] != b[p] && differ < least) least = differ, pair[0] = first, pair[1] = second;
        }
    }
    return least < 1 << 20;
}

static void every_parameter_changes_code_or_launch(void **state)
{
    const struct cg_entry *entries;
    int kernels = cg_catalogue(&entries);
    assert_true(kernels >= 6);
    for (int k = 0; k < kernels; k++)
        for (size_t d = 1; d < STAX_COUNT(archs); d += 2) { /* one cuda, one cpu */
            struct arena *arena = arena_create();
            struct cg_kernel *cg = open_kernel(entries[k].name, arena);
            struct device_info device = device_of(archs[d], arena);
            struct space *space;
            assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
            assert_true(space_params(space) >= 3);
            for (int p = 0; p < space_params(space); p++) {
                uint64_t pair[2];
                assert_true(space_param(space, p)->count > 1);
                if (!closest_pair(space, p, pair))
                    fail_msg("%s on %s: %s never varies", entries[k].name, archs[d],
                             space_param(space, p)->name);
                struct hash128 a = identity(cg, &device, space, pair[0]),
                               b = identity(cg, &device, space, pair[1]);
                if (memcmp(&a, &b, sizeof a) == 0)
                    fail_msg("%s on %s: %s changes nothing between %s and %s", entries[k].name,
                             archs[d], space_param(space, p)->name,
                             space_config_text(space, pair[0], arena),
                             space_config_text(space, pair[1], arena));
            }
            arena_destroy(arena);
        }
}

static int by_hash(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash128));
}

/* "Two configs that emit the same source are one." */
static void no_two_configurations_are_one(void **state)
{
    static const char *const kernels[] = {
        "per_fused",
        "poi_fused",
        "gelu_backward",
        "red_fused",
        "softmax",
        "kernel c(x: f32[1025, 8]) { return sum(x, axis=0) }",
        "kernel r(x: bf16[7, 333]) { return sum(x * x, axis=-1) }"};
    for (size_t k = 0; k < STAX_COUNT(kernels); k++)
        for (size_t d = 1; d < STAX_COUNT(archs); d += 2) {
            struct arena *arena = arena_create();
            struct cg_kernel *cg = open_kernel(kernels[k], arena);
            struct device_info device = device_of(archs[d], arena);
            struct space *space;
            assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
            uint64_t count = space_count(space),
                     step = count / 150 + 1; /* chosen: a second in all */
            struct hash128 *hash = ARENA_ARRAY(arena, struct hash128, 300 + 1);
            size_t taken = 0;
            for (uint64_t config = 0; config < count && taken < 300;
                 config += taken % 2 == 0 ? 1 : 2 * step - 1)
                hash[taken++] = identity(cg, &device, space, config);
            qsort(hash, taken, sizeof *hash, by_hash);
            for (size_t i = 1; i < taken; i++)
                if (by_hash(&hash[i - 1], &hash[i]) == 0)
                    fail_msg("%s on %s: two configurations, one source", kernels[k], archs[d]);
            arena_destroy(arena);
        }
}

/* A row that one block cannot hold has a looped form only; one too short to loop a persistent one
 * only: never "no config". */
static void there_is_always_a_configuration(void **state)
{
    static const char *const kernels[] = {
        "kernel a(x: f32[4, 300000]) { return softmax(x, axis=-1) }",
        "kernel b(x: f32[100, 3]) { return sum(x, axis=-1) }",
        "kernel c(x: f32[1, 1]) { return sum(x, axis=-1) }",
        "kernel d(x: f32[1]) { return x + 1 }",
        "kernel e(x: f32[3, 5], y: f32[5, 3]) { return x.T + y }",
        "kernel f(x: f32[1, 70000]) { return max(x, axis=-1) }",
        "kernel g(x: bf16[2, 2000000]) { return sum(x, axis=0) }",
        "kernel h(x: f32[0, 5]) { return x + 1 }",
    };
    for (size_t k = 0; k < STAX_COUNT(kernels); k++)
        for (size_t d = 0; d < STAX_COUNT(archs); d++) {
            struct arena *arena = arena_create();
            struct cg_kernel *cg = open_kernel(kernels[k], arena);
            struct device_info device = device_of(archs[d], arena);
            struct space *space;
            struct cg_candidates candidates;
            if (cg_space(cg, &device, arena, &space) != STAX_OK)
                fail_msg("%s: %s", kernels[k], status_message());
            assert_int_equal(cg_candidates(cg, &device, space, &candidates), STAX_OK);
            assert_in_range(candidates.count, 1, 6);
            for (int i = 0; i <= candidates.count; i++)
                identity(cg, &device, space,
                         i < candidates.count ? candidates.config[i] : candidates.safe);
            arena_destroy(arena);
        }
}

/* What a launch asks for fits the device, for every configuration of kernels that use much of it.
 */
static void launches_fit_the_device(void **state)
{
    static const char *const kernels[] = {
        "kernel a(x: f32[4096, 512]) { return sum(x, axis=0), max(x, axis=0), min(x, axis=0) }",
        "kernel b(x: f64[2048, 1024]) { return softmax(x, axis=0) }",
        "kernel c(x: f64[256, 512], y: f64[256, 512], z: f64[512, 256]) { return x.T + y.T + z }",
        "kernel d(x: f32[64, 16384]) { return sum(x * x, axis=-1) }",
    };
    for (size_t k = 0; k < STAX_COUNT(kernels); k++)
        for (size_t a = 0; a < 3; a++) {
            struct arena *arena = arena_create();
            struct cg_kernel *cg = open_kernel(kernels[k], arena);
            struct device_info device = device_of(archs[a], arena);
            struct space *space;
            assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
            uint64_t step = 1 + space_count(space) / 200;
            for (uint64_t config = 0; config < space_count(space); config += step) {
                struct arena *scratch = arena_create();
                struct plan_values *values;
                struct plan *plan;
                assert_int_equal(plan_values_read(cg, &device, space, config, scratch, &values),
                                 STAX_OK);
                assert_int_equal(plan_make(cg, &device, values, scratch, &plan), STAX_OK);
                for (int i = 0; i < plan->kernels; i++) {
                    assert_true(cuda_shared_bytes(&plan->kernel[i]) <= device.shared_block_bytes);
                    assert_in_range(plan->kernel[i].threads, 32, device.max_threads_block);
                }
                arena_destroy(scratch);
            }
            arena_destroy(arena);
        }
}

/* Addresses past 2^31 elements take 64-bit arithmetic; others never pay for it (pytorch#97447). */
static void wide_addresses_only_where_needed(void **state)
{
    static const struct {
        const char *kernel;
        bool wide;
        const char *arg;
    } rows[] = {
        {"kernel a(x: f32[1024, 4096]) { return x + 1 }", false, NULL},
        {"kernel b(x: bf16[40000, 65536]) { return x + 1 }", true, NULL},
        {"kernel c(x: bf16[40000, 65536]) { return sum(x, axis=-1) }", true, NULL},
        {"kernel d(x: u8[2, 64]) { return x + 1 }", true,
         "x=u8[2,64]:2147483712,1"}, /* few elements, far apart */
        {"kernel d(x: u8[2, 64]) { return x + 1 }", false, "x=u8[2,64]:2147483,1"},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        struct arena *arena = arena_create();
        struct cg_request request = {
            .expr = rows[i].kernel, .args = rows[i].arg != NULL, .arg = &rows[i].arg};
        struct cg_kernel *cg;
        if (cg_open(&request, arena, &cg) != STAX_OK) fail_msg("%s", status_message());
        struct device_info device = device_of("sm_90a", arena);
        struct space *space;
        struct plan_values *values;
        struct plan *plan;
        struct cg_candidates candidates;
        assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
        assert_int_equal(cg_candidates(cg, &device, space, &candidates), STAX_OK);
        assert_int_equal(plan_values_read(cg, &device, space, candidates.config[0], arena, &values),
                         STAX_OK);
        assert_int_equal(plan_make(cg, &device, values, arena, &plan), STAX_OK);
        assert_int_equal(plan->kernel[0].wide, rows[i].wide);
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(red_fused_has_room_to_search),
        cmocka_unit_test(every_parameter_changes_code_or_launch),
        cmocka_unit_test(no_two_configurations_are_one),
        cmocka_unit_test(there_is_always_a_configuration),
        cmocka_unit_test(launches_fit_the_device),
        cmocka_unit_test(wide_addresses_only_where_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
