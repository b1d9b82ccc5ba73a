/* Splitting: the listing's shape, the rules for how many parts, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/program.h"

static struct ir_program open_text(const char *text, struct arena *arena)
{
    struct cg_request request = {.expr = text};
    struct cg_kernel *kernel = NULL;
    if (cg_open(&request, arena, &kernel) != STAX_OK) {
        fail_msg("%s", status_message());
    }
    return kernel->program;
}

static int count(const struct ir_kernel *kernel, enum ir_op op)
{
    int n = 0;
    for (int i = 0; i < kernel->nodes; i++) {
        n += kernel->node[i].op == op;
    }
    return n;
}

static int64_t parts_of(const char *text, int processors)
{
    struct arena *arena = arena_create();
    struct ir_program program = open_text(text, arena);
    int64_t parts = ir_split_parts(&program.kernel[0], processors);
    arena_destroy(arena);
    return parts;
}

/* Numbers worked out by hand from the rule; the first is listing 9.4. */
static void test_parts_rule(void **state)
{
    assert_int_equal(parts_of("kernel k(x: f32[64, 16384]) { return sum(x * x, axis=-1) }", 132),
                     2);
    assert_int_equal(parts_of("kernel k(x: f32[1, 67108864]) { return sum(x, axis=-1) }", 132),
                     512);
    assert_int_equal(parts_of("kernel k(x: f32[300, 16384]) { return sum(x, axis=-1) }", 132),
                     1); /* rows enough */
    assert_int_equal(parts_of("kernel k(x: f32[64, 8192]) { return sum(x, axis=-1) }", 132),
                     1); /* short enough */
    assert_int_equal(parts_of("kernel k(x: f32[1024, 1024]) { return sum(x, axis=0) }", 132), 8);
    assert_int_equal(parts_of("kernel k(x: f32[32, 1024]) { return sum(x, axis=0) }", 132), 1);
    assert_int_equal(parts_of("kernel k(x: f32[64, 16384]) { return softmax(x, axis=-1) }", 132),
                     1); /* two levels */
}

static void test_listing(void **state)
{
    struct arena *arena = arena_create();
    struct ir_program program = open_text(
        "kernel red(x: f32[64, 16384]) { return sum(x * x, axis=-1) }", arena);
    struct ir_program before = program;
    assert_int_equal(ir_split(&program, 0, 2, arena), STAX_OK);
    assert_int_equal(before.kernels, 1); /* the program it came from is as it was */
    assert_string_equal(before.kernel[0].name, "red_0");
    assert_int_equal(program.kernels, 2);
    assert_string_equal(program.kernel[1].name, "red_1");
    assert_int_equal(ir_axis_size(&program.kernel[0], IR_AXIS_X), 128);
    assert_int_equal(ir_axis_size(&program.kernel[0], IR_AXIS_R), 8192);
    assert_int_equal(program.kernel[0].dims, 2);
    assert_int_equal(count(&program.kernel[0], IR_LOAD), 1);
    assert_int_equal(ir_axis_size(&program.kernel[1], IR_AXIS_X), 64);
    assert_int_equal(ir_axis_size(&program.kernel[1], IR_AXIS_R), 2);
    assert_true(ir_persistent(&program.kernel[1]));
    assert_false(ir_persistent(&program.kernel[0]));
    assert_int_equal(program.buffer[2].role, IR_BUFFER_SCRATCH);
    assert_int_equal(program.buffer[2].elements * dtype_table[program.buffer[2].dtype].bytes, 512);
    arena_destroy(arena);
}

/* What follows the reduction moves to the second kernel, with its own loads and both outputs. */
static void test_epilogue(void **state)
{
    struct arena *arena = arena_create();
    struct ir_program program = open_text(
        "kernel k(x: bf16[8, 100], b: f32[8]) -> bf16 { let s = sum(x, axis=-1); "
        "return sqrt(abs(s)) + b, max(x, axis=-1) }",
        arena);
    assert_int_equal(program.kernels, 1);
    assert_int_equal(ir_split(&program, 0, 7, arena), STAX_OK); /* 7 parts of 15 overhang 100 */
    assert_int_equal(count(&program.kernel[0], IR_REDUCE), 2);
    assert_int_equal(count(&program.kernel[0], IR_STORE), 2);
    assert_int_equal(count(&program.kernel[0], IR_WHERE),
                     2); /* overhang is masked to each identity */
    assert_int_equal(count(&program.kernel[1], IR_SQRT), 1);
    assert_int_equal(count(&program.kernel[1], IR_STORE), 2);
    assert_int_equal(program.buffer[program.buffers - 1].dtype,
                     DTYPE_F32); /* partials keep the compute type */
    arena_destroy(arena);
}

static void test_refused(void **state)
{
    struct arena *arena = arena_create();
    struct ir_program program = open_text("kernel k(x: f32[4, 64]) { return softmax(x, axis=-1) }",
                                          arena);
    assert_int_equal(ir_split(&program, 0, 2, arena), STAX_UNSUPPORTED);
    program = open_text("kernel k(x: f32[4, 64]) { return x * 2 }", arena);
    assert_int_equal(ir_split(&program, 0, 2, arena), STAX_UNSUPPORTED);
    program = open_text("kernel k(x: f32[4, 64]) { return sum(x, axis=-1) }", arena);
    assert_int_equal(ir_split(&program, 0, 65, arena), STAX_UNSUPPORTED);
    assert_int_equal(ir_split(&program, 0, 1, arena), STAX_UNSUPPORTED);
    assert_int_equal(program.kernels, 1);
    arena_destroy(arena);
}

static void test_persistent_rule(void **state)
{
    struct arena *arena = arena_create();
    static const struct {
        const char *text;
        bool persistent;
    } rows[] = {
        /* book 9.4 (1) */
        {"kernel k(x: f32[4, 1024]) { return sum(x, axis=-1) }", true},
        {"kernel k(x: f32[4, 1025]) { return sum(x, axis=-1) }", false},
        {"kernel k(x: f32[64, 40]) { return sum(x, axis=0) }", true},
        {"kernel k(x: f32[65, 40]) { return sum(x, axis=0) }", false},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        struct ir_program program = open_text(rows[i].text, arena);
        assert_int_equal(ir_persistent(&program.kernel[0]), rows[i].persistent);
    }
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_rule),      cmocka_unit_test(test_listing),
        cmocka_unit_test(test_epilogue),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_persistent_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
