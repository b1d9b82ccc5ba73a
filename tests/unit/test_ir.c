/* Building, finishing and checking of loop IR: nodes once, constants folded, every rule of the
 * checker broken once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/ir.h"

static struct arena *arena;
static struct ir_buffer buffers[3];
static struct ir_dim dims[2];
static struct ir_kernel kernel;
static struct ir_program program;
static const int64_t sizes[2] = {4, 8};

/* out[x] = sum over r of a[x, r] * a[x, r], over 4 x 8; buffer 2 is a scratch of the same size as
 * out. */
static int setup(void **state)
{
    arena = arena_create();
    buffers[0] = (struct ir_buffer){"a", IR_BUFFER_INPUT, DTYPE_F32, 32, 2, {4, 8}, {8, 1}};
    buffers[1] = (struct ir_buffer){"out0", IR_BUFFER_OUTPUT, DTYPE_F32, 4, 1, {4}, {1}};
    buffers[2] = (struct ir_buffer){"buf0", IR_BUFFER_SCRATCH, DTYPE_F32, 4, 1, {4}, {1}};
    dims[0] = (struct ir_dim){IR_AXIS_X, 4};
    dims[1] = (struct ir_dim){IR_AXIS_R, 8};
    kernel = (struct ir_kernel){.name = "k_0", .dims = 2, .dim = dims};
    struct ir_builder b = ir_build(arena, sizes);
    const struct index *x = index_var(arena, 0);
    const struct index *at = index_add(arena, index_mul(arena, x, 8), index_var(arena, 1));
    int a = ir_build_load(&b, 0, DTYPE_F32, at, -1);
    int again = ir_build_load(&b, 0, DTYPE_F32, at, -1);
    int square = ir_build_pure(&b, IR_MUL, a, again, -1);
    ir_build_pure(&b, IR_EXP, square, -1, -1); /* nothing needs it */
    ir_build_store(&b, 1, DTYPE_F32, x, ir_build_reduce(&b, IR_RED_SUM, square));
    ir_build_into(&b, &kernel);
    program = (struct ir_program){"k", 3, buffers, 1, &kernel};
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(arena);
    return 0;
}

static void test_building(void **state)
{
    assert_int_equal(kernel.nodes, 4); /* load, mul, reduce, store */
    assert_int_equal(kernel.levels, 1);
    assert_false(kernel.stores_in_r);
    assert_int_equal(kernel.hint, IR_HINT_INNER);
    assert_true(kernel.node[1].in_r && !kernel.node[2].in_r && !kernel.node[3].in_r);
    assert_int_equal(kernel.node[2].level, 1);
    assert_int_equal(ir_check(&program), STAX_OK);
    struct text text = text_make(arena);
    ir_print(&text, &program);
    assert_non_null(strstr(text_string(&text), "kernel k_0 (x0 < 4, r0_1 < 8) INNER levels 1\n"
                                               "    %0: f32 = load a[r0_1 + 8*x0]\n"
                                               "    %1: f32 = mul %0 %0\n"
                                               "    %2: f32 = reduce sum %1\n"
                                               "    store f32 out0[x0] = %2\n"));
}

static void test_folding(void **state)
{
    struct ir_builder b = ir_build(arena, sizes);
    int x = ir_build_load(&b, 0, DTYPE_F32, index_var(arena, 0), -1);
    int one = ir_build_const(&b, DTYPE_F32, 1.0), two = ir_build_const(&b, DTYPE_F32, 2.0);
    int yes = ir_build_const(&b, DTYPE_BOOL, 1.0);
    assert_int_equal(ir_build_pure(&b, IR_MUL, x, one, -1), x);
    assert_int_equal(ir_build_pure(&b, IR_MUL, one, x, -1), x);
    assert_int_equal(ir_build_pure(&b, IR_DIV, x, one, -1), x);
    assert_int_equal(ir_build_pure(&b, IR_WHERE, yes, x, two), x);
    assert_int_equal(ir_build_pure(&b, IR_ADD, one, one, -1), two);
    assert_int_equal(ir_build_cast(&b, DTYPE_F32, x), x);
    int zero = ir_build_const(&b, DTYPE_F32, 0.0), minus = ir_build_const(&b, DTYPE_F32, -0.0);
    assert_int_not_equal(zero, minus);
    /* -0 + 0 is +0, and 0 * NaN is NaN: neither may fold away. */
    assert_int_not_equal(ir_build_pure(&b, IR_ADD, x, zero, -1), x);
    assert_int_not_equal(ir_build_pure(&b, IR_MUL, x, zero, -1), zero);
    assert_int_not_equal(ir_build_pure(&b, IR_SUB, x, minus, -1), x);
    assert_int_equal(ir_build_pure(&b, IR_SUB, x, zero, -1), x);
    int half = ir_build_cast(&b, DTYPE_BF16, ir_build_const(&b, DTYPE_F32, 1.001));
    assert_int_equal(b.node[half].op, IR_CAST); /* rounds, so it stays */
}

static void test_axes(void **state)
{
    assert_int_equal(ir_axis_size(&kernel, IR_AXIS_X), 4);
    assert_int_equal(ir_axis_size(&kernel, IR_AXIS_Y), 1);
    assert_true(ir_axis_present(&kernel, IR_AXIS_R) && !ir_axis_present(&kernel, IR_AXIS_Y));
}

static void expect_broken(const char *rule)
{
    if (ir_check(&program) != STAX_INTERNAL || !strstr(status_message(), rule)) {
        fail_msg("not found broken: %s (said: %s)", rule, status_message());
    }
    teardown(NULL);
    setup(NULL);
    assert_int_equal(ir_check(&program), STAX_OK);
}

static void test_checker(void **state)
{
    dims[1].size = 9;
    expect_broken("address leaves its buffer");
    dims[1].size = 0;
    expect_broken("has no points");
    dims[1].axis = IR_AXIS_Y;
    expect_broken("dims are not in the order");
    dims[1].axis = IR_AXIS_X;
    expect_broken("reduces in a kernel without reduction dims");
    kernel.node[1].arg[0] = 2;
    expect_broken("arguments are not earlier nodes");
    kernel.node[1].arg[1] = -1;
    expect_broken("arguments are not earlier nodes");
    kernel.node[1].arg[2] = 0;
    expect_broken("arguments are not earlier nodes");
    kernel.node[1].op = IR_OP_COUNT;
    expect_broken("unknown op");
    kernel.node[0].dtype = DTYPE_F64;
    expect_broken("load is not in the compute dtype");
    kernel.node[1].dtype = DTYPE_F64;
    expect_broken("dtype does not follow");
    kernel.node[3].dtype = DTYPE_BF16;
    expect_broken("store is not in the dtype of its buffer");
    kernel.node[3].buffer = 0;
    expect_broken("stores into an input");
    kernel.node[0].buffer = 3;
    expect_broken("names no buffer");
    kernel.node[3].index = index_const(arena, 0);
    expect_broken("several points store to one address");
    kernel.node[0].index = index_var(arena, 2);
    expect_broken("names a variable that is no dim");
    kernel.node[0].index = NULL;
    expect_broken("has no index");
}

/* A step of an outer reduction dim is no step of r. */
static void test_hint_of_two_dims(void **state)
{
    struct ir_dim three[3] = {{IR_AXIS_X, 4}, {IR_AXIS_R, 2}, {IR_AXIS_R, 4}};
    struct ir_kernel outer = kernel;
    outer.dims = 3;
    outer.dim = three;
    struct ir_node node[4];
    memcpy(node, kernel.node, sizeof node);
    outer.node = node;
    node[0].index = index_add(arena, index_var(arena, 1), index_mul(arena, index_var(arena, 2), 8));
    ir_finish(&outer);
    assert_int_equal(outer.hint, IR_HINT_OUTER);
    node[0].index = index_add(arena, index_var(arena, 2),
                              index_mul(arena, index_var(arena, 1), 16));
    ir_finish(&outer);
    assert_int_equal(outer.hint, IR_HINT_INNER);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_building), CASE(test_folding),          CASE(test_axes),
        CASE(test_checker),  CASE(test_hint_of_two_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
