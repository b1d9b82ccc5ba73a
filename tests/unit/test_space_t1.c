/* The published spaces: exact counts, with the time they took and the memory they hold, printed and
 * not asserted. The T1 files are found through STAX_SPACES_DIR; hotspot is also here in full,
 * because its T1 file leaves out blocks_per_sm and the constraint on it, which the published count
 * (349 853 of 22.2 million) includes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "base/space.h"
#include "results/import.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void report(const char *name, const struct space *space, double seconds)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_message(
        "%-14s %8llu of %10.0f  %.4f s  %7zu bytes in trees, peak of the process %ld kB\n", name,
        (unsigned long long)space_count(space), space_cartesian(space), seconds, space_bytes(space),
        usage.ru_maxrss);
}

static void test_files(void **state)
{
    static const struct {
        const char *name;
        uint64_t count;
    } files[] = {
        {"convolution", 4362}, {"dedispersion", 11130}, {"gemm", 116928}, {"hotspot", 82984}};
    const char *folder = getenv("STAX_SPACES_DIR");
    if (!folder) {
        print_message("skipped: STAX_SPACES_DIR does not say where the T1 files are\n");
        skip();
    }
    for (size_t i = 0; i < STAX_COUNT(files); i++) {
        struct arena *arena = arena_create();
        struct t1 t1;
        double start = now_s();
        if (import_t1(arena_printf(arena, "%s/%s.t1.json", folder, files[i].name), arena, &t1) !=
            STAX_OK) {
            fail_msg("%s", status_message());
        }
        report(files[i].name, t1.space, now_s() - start);
        assert_int_equal(space_count(t1.space), files[i].count);
        assert_null(space_warning(t1.space));
        struct rng rng = rng_make(3, i);
        int values[32];
        for (int k = 0; k < 1000; k++) {
            uint64_t config = space_sample(t1.space, &rng), back;
            space_unrank(t1.space, config, values);
            assert_true(space_rank(t1.space, values, &back, NULL) && back == config);
        }
        arena_destroy(arena);
    }
}

static void test_hotspot(void **state)
{
    static const char *const params[][2] = {
        {"block_size_x", "[1, 2, 4, 8, 16] + list(range(32, 1024+1, 32))"},
        {"block_size_y", "[2**i for i in range(0, 6)]"},
        {"tile_size_x", "[i for i in range(1, 11)]"},
        {"tile_size_y", "[i for i in range(1, 11)]"},
        {"temporal_tiling_factor", "[i for i in range(1, 11)]"},
        {"loop_unroll_factor_t", "[i for i in range(1, 10+1)]"},
        {"sh_power", "[0, 1]"},
        {"blocks_per_sm", "[0, 1, 2, 3, 4]"},
    };
#define TILE_BYTES                                               \
    "(block_size_x*tile_size_x + temporal_tiling_factor * 2) * " \
    "(block_size_y*tile_size_y + temporal_tiling_factor * 2) * (2+sh_power) * 4"
    static const char *const constraints[] = {
        "block_size_x*block_size_y >= 32",
        "temporal_tiling_factor % loop_unroll_factor_t == 0",
        "block_size_x*block_size_y <= 1024",
        TILE_BYTES " <= 49152",
        "blocks_per_sm == 0 or (" TILE_BYTES ") * blocks_per_sm <= 102400",
    };
    struct arena *arena = arena_create();
    struct space *space = space_create("hotspot", arena);
    double start = now_s();
    for (size_t i = 0; i < STAX_COUNT(params); i++) {
        assert_int_equal(space_add_expression(space, params[i][0], params[i][1]), STAX_OK);
    }
    for (size_t i = 0; i < STAX_COUNT(constraints); i++) {
        assert_int_equal(space_add_constraint(space, constraints[i]), STAX_OK);
    }
    assert_int_equal(space_finish(space), STAX_OK);
    report("hotspot, full", space, now_s() - start);
    assert_int_equal(space_count(space), 349853);
    assert_true(space_cartesian(space) == 22200000);
    assert_true(space_bytes(space) <
                349853); /* below a byte a configuration: subtrees are shared */
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_hotspot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
