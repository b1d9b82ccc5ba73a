/* The heuristic choice of listings and of sizes around the rules' borders (facts of
 * compilers 1.1, 1.2; book 9.4, 9.6), and that every set is 1 to 6 distinct valid configurations.
 * The whole sets of the catalogue are tests/golden/emit/candidates.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "codegen/plan.h"

struct row {
    const char *kernel;
    const char *form;                              /* NULL: the space has no choice of form */
    int64_t rsplit, xblock, yblock, rblock, warps; /* 0: not asked */
};

static const struct row rows[] = {
    /* listings 9.1 to 9.5 */
    {"kernel a(x, y: f32[64, 128]) { return sum(relu(x + y) * 2, axis=-1) }", "per", 1, 1, 0, 128,
     2},
    {"kernel b(x: f32[512, 256], y: f32[256, 512]) { return x.T + y }", NULL, 0, 32, 32, 0, 4},
    {"kernel c(x: f32[2048]) { return exp(x) }", NULL, 0, 256, 0, 0, 4},
    {"kernel d(x: f32[64, 16384]) { return sum(x * x, axis=-1) }", "split", 2, 1, 0, 2048, 16},
    {"kernel e(x: f32[256, 1000]) { return softmax(x, axis=-1) }", "per", 1, 1, 0, 1024, 8},
    /* persistent to 1024 along rows: beyond it looped, one row of 2048 a block */
    {"kernel f(x: f32[4096, 1024]) { return sum(x, axis=-1) }", "per", 1, 1, 0, 1024, 1},
    {"kernel g(x: f32[4096, 1025]) { return sum(x, axis=-1) }", "red", 1, 2, 0, 1024, 16},
    {"kernel h(x: f32[4096, 4096]) { return sum(x, axis=-1) }", "red", 1, 1, 0, 2048, 16},
    /* no split where two rows a processor keep the device busy */
    {"kernel i(x: f32[264, 16384]) { return sum(x, axis=-1) }", "red", 1, 1, 0, 2048, 16},
    {"kernel j(x: f32[263, 16384]) { return sum(x, axis=-1) }", "split", 2, 1, 0, 2048, 16},
    /* many elements: blocks of 1024 */
    {"kernel k(x: f32[1048576]) { return x + 1 }", NULL, 0, 1024, 0, 0, 4},
};

struct opened {
    struct arena *arena;
    struct cg_kernel *cg;
    struct device_info device;
    struct space *space;
    struct cg_candidates candidates;
};

static struct opened open_on(const char *kernel, const char *arch)
{
    struct opened o = {.arena = arena_create(),
                       .device = {.kind = DEVICE_CPU,
                                  .name = "cpu",
                                  .arch = "native",
                                  .processors = 8,
                                  .vector_bytes = 32}};
    struct cg_request request = {.expr = kernel};
    if (strcmp(arch, "cpu") != 0)
        assert_int_equal(cg_offline_device(arch, o.arena, &o.device), STAX_OK);
    if (cg_open(&request, o.arena, &o.cg) != STAX_OK) fail_msg("%s", status_message());
    assert_int_equal(cg_space(o.cg, &o.device, o.arena, &o.space), STAX_OK);
    assert_int_equal(cg_candidates(o.cg, &o.device, o.space, &o.candidates), STAX_OK);
    return o;
}

static void the_first_candidate_follows_the_rules(void **state)
{
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct opened o = open_on(row->kernel, "sm_90a");
        uint64_t config = o.candidates.config[0];
        const struct {
            const char *name;
            int64_t want;
        } number[] = {{"RSPLIT", row->rsplit},
                      {"XBLOCK", row->xblock},
                      {"YBLOCK", row->yblock},
                      {"R0_BLOCK", row->rblock},
                      {"num_warps", row->warps}};
        const char *text = space_config_text(o.space, config, o.arena);
        if (row->form != NULL &&
            strcmp(space_text(o.space, config, "FORM", row->form), row->form) != 0)
            fail_msg("%s: %s, not %s", row->kernel, text, row->form);
        for (size_t n = 0; n < STAX_COUNT(number); n++)
            if (number[n].want > 0 &&
                space_int(o.space, config, number[n].name, number[n].want) != number[n].want)
                fail_msg("%s: %s, not %s=%lld", row->kernel, text, number[n].name,
                         (long long)number[n].want);
        assert_string_equal(space_text(o.space, config, "FINISH", "two_kernel"), "two_kernel");
        arena_destroy(o.arena);
    }
}

static void sets_are_one_to_six_distinct(void **state)
{
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_120", "cpu"};
    for (size_t i = 0; i < STAX_COUNT(rows); i++)
        for (size_t a = 0; a < STAX_COUNT(archs); a++) {
            struct opened o = open_on(rows[i].kernel, archs[a]);
            assert_in_range(o.candidates.count, 1, 6);
            assert_true(o.candidates.safe < space_count(o.space));
            for (int c = 0; c < o.candidates.count; c++) {
                assert_true(o.candidates.config[c] < space_count(o.space));
                for (int d = 0; d < c; d++)
                    assert_true(o.candidates.config[c] != o.candidates.config[d]);
            }
            arena_destroy(o.arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_candidate_follows_the_rules),
        cmocka_unit_test(sets_are_one_to_six_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
