/* The CUDA text of listing 9.4 and the rules it stands for: two kernels, one load in the loop,
 * masks only where sizes need them, grids inside the limits. That the code computes the right thing
 * is tests/device/test_cuda_emulated.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "codegen/emit.h"

struct shown {
    struct arena *arena;
    struct cg_kernel *cg;
    struct device_info device;
    struct space *space;
    uint64_t heuristic;
    struct job *job;
    const char *text; /* the kernels, without the prelude */
};

static struct shown show(const char *kernel, const char *config)
{
    struct shown s = {.arena = arena_create()};
    bool named = strchr(kernel, '(') == NULL;
    struct cg_request request = {.kernel = named ? kernel : NULL, .expr = named ? NULL : kernel};
    struct cg_candidates candidates;
    assert_int_equal(cg_open(&request, s.arena, &s.cg), STAX_OK);
    assert_int_equal(cg_offline_device("sm_90a", s.arena, &s.device), STAX_OK);
    assert_int_equal(cg_space(s.cg, &s.device, s.arena, &s.space), STAX_OK);
    assert_int_equal(cg_candidates(s.cg, &s.device, s.space, &candidates), STAX_OK);
    s.heuristic = candidates.config[0];
    if (config != NULL && space_parse_config(s.space, config, s.heuristic, &s.heuristic) != STAX_OK)
        fail_msg("%s", status_message());
    assert_int_equal(cg_job(s.cg, &s.device, s.space, s.heuristic, 1, s.arena, &s.job), STAX_OK);
    s.text = s.job->program.source + strlen(emit_embedded("templates/prelude.cuh"));
    return s;
}

static int count(const char *text, const char *end, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at != NULL && (end == NULL || at < end);
         at = strstr(at + 1, what))
        n++;
    return n;
}

/* Listing 9.4 at the heuristic configuration. */
static void red_fused_is_two_kernels_with_one_load_in_the_loop(void **state)
{
    struct shown s = show("red_fused", NULL);
    const struct job_program *program = &s.job->program;
    assert_int_equal(program->launches, 2);
    assert_string_equal(program->launch[0].entry, "stax_red_fused_0");
    assert_string_equal(program->launch[1].entry, "stax_per_fused_1");
    const char *first = strstr(s.text, "\nstax_red_fused_0("),
               *second = strstr(s.text, "\nstax_per_fused_1(");
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first < second);
    assert_int_equal(count(first, second, "xnumel = 128;"), 1);
    assert_int_equal(count(first, second, "r0_numel = 8192;"), 1);
    const char *loop = strstr(first, "for (int r0_offset = 0; r0_offset < r0_numel;");
    assert_true(loop != NULL && loop < second);
    const char *end = strstr(loop, "\n    }\n"); /* the loop's own brace */
    assert_true(end != NULL && end < second);
    assert_int_equal(count(loop, end, "in_ptr0"), 1); /* x * x reads once */
    assert_int_equal(count(first, second, "in_ptr0 + "), 1);
    assert_int_equal(count(loop, end, "(tmp0 * tmp0)"), 1);
    assert_int_equal(count(second, NULL, "xnumel = 64;"), 1);
    assert_int_equal(count(second, NULL, "r0_numel = 2;"), 1);
    assert_int_equal(count(second, NULL, "r0_offset < r0_numel"), 0); /* persistent: no loop */
    int scratch = 0;
    for (int b = 0; b < s.job->buffers; b++) {
        const struct job_buffer *buffer = &s.job->buffer[b];
        if (buffer->role != JOB_SCRATCH) continue;
        scratch++;
        assert_int_equal(buffer->elements * dtype_table[buffer->dtype].bytes, 512);
    }
    assert_int_equal(scratch, 1);
    /* Sizes divide the blocks: no mask is left. */
    assert_int_equal(count(s.text, NULL, "mask"), 0);
    assert_int_equal(count(s.text, NULL, "#include"), 0);
    assert_int_equal(count(s.job->program.source, NULL, "#include"), 0);
    arena_destroy(s.arena);
}

static void last_block_is_one_kernel_with_a_counter_a_row(void **state)
{
    struct shown s = show(
        "red_fused",
        "FORM=split,RSPLIT=8,FINISH=last_block,XBLOCK=1,R0_BLOCK=1024,num_warps=8,VEC=16");
    assert_int_equal(s.job->program.launches, 1);
    assert_int_equal(s.job->program.launch[0].grid[0], 64 * 8);
    int counters = 0;
    for (int b = 0; b < s.job->buffers; b++)
        if (s.job->buffer[b].role == JOB_COUNTER)
            counters++, assert_int_equal(s.job->buffer[b].elements, 64);
    assert_int_equal(counters, 1);
    assert_non_null(strstr(s.text, "st_ticket(counter + group)"));
    arena_destroy(s.arena);
}

static void persistent_and_looped_are_both_there(void **state)
{
    struct shown per = show("softmax", "FORM=per,R0_BLOCK=1024,XBLOCK=1,num_warps=4,VEC=16");
    struct shown red = show("softmax", "FORM=red,R0_BLOCK=512,XBLOCK=1,num_warps=4,VEC=16");
    assert_string_equal(per.job->program.launch[0].entry, "stax_per_fused_0");
    assert_string_equal(red.job->program.launch[0].entry, "stax_red_fused_0");
    assert_int_equal(count(per.text, NULL, "in_ptr0 + "), 1); /* the row is read once */
    assert_int_equal(count(red.text, NULL, "in_ptr0 + "), 3); /* once a pass: max, sum, store */
    assert_int_equal(count(per.text, NULL, "st_exp("), 1);
    arena_destroy(per.arena);
    arena_destroy(red.arena);
}

/* 1000 is no multiple of 1024: the mask holds whole vectors, and reductions take it after their
 * prologue. */
static void masks_follow_the_sizes(void **state)
{
    struct shown s = show("softmax", "FORM=per,R0_BLOCK=1024,XBLOCK=1,num_warps=4,VEC=16");
    assert_int_equal(count(s.text, NULL, "xmask"), 0);
    assert_true(count(s.text, NULL, "r0_mask ? st_max(") >= 1);
    assert_true(count(s.text, NULL, "if (r0_mask) st_store") == 1);
    arena_destroy(s.arena);
    struct shown odd = show("kernel odd(x: f32[63, 1024]) { return softmax(x, axis=-1) }",
                            "FORM=per,R0_BLOCK=1024,XBLOCK=2,num_warps=4,VEC=16");
    assert_true(count(odd.text, NULL, "xmask") > 0);
    assert_int_equal(count(odd.text, NULL, "r0_mask"), 0);
    arena_destroy(odd.arena);
}

/* pytorch#121554 and others: tiles along y beyond 65535 fold into grid x, each tile once. */
static void grids_stay_inside_the_limits(void **state)
{
    static const char *const kernels[] = {
        "kernel tall(x: f32[4, 2097152], y: f32[2097152, 4]) { return x.T + y }",
        "kernel wide(x: f32[2097152, 4], y: f32[4, 2097152]) { return x.T + y }",
        "kernel rows(x: f32[3000000, 8]) { return sum(x, axis=-1) }",
    };
    for (size_t i = 0; i < STAX_COUNT(kernels); i++) {
        struct shown s = show(kernels[i], NULL);
        for (uint64_t config = 0; config < space_count(s.space);
             config += 1 + space_count(s.space) / 40) {
            struct plan_values *values;
            struct plan *plan;
            int64_t grid[3];
            assert_int_equal(plan_values_read(s.cg, &s.device, s.space, config, s.arena, &values),
                             STAX_OK);
            assert_int_equal(plan_make(s.cg, &s.device, values, s.arena, &plan), STAX_OK);
            const struct plan_kernel *k = &plan->kernel[0];
            cuda_grid(k, grid);
            int64_t x = (k->xnumel + k->xblock - 1) / k->xblock;
            int64_t y = k->b_axis == IR_AXIS_Y ? (k->bnumel + k->bblock - 1) / k->bblock : 1;
            assert_true(grid[0] <= INT32_MAX && grid[1] <= 65535 && grid[2] == 1);
            assert_true(grid[0] * grid[1] == x * y * k->outer);
        }
        arena_destroy(s.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(red_fused_is_two_kernels_with_one_load_in_the_loop),
        cmocka_unit_test(last_block_is_one_kernel_with_a_counter_a_row),
        cmocka_unit_test(persistent_and_looped_are_both_there),
        cmocka_unit_test(masks_follow_the_sizes),
        cmocka_unit_test(grids_stay_inside_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
