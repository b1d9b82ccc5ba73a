/* Composite functions on the inputs that generated kernels have got wrong, run as f32 and as the
 * definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codegen/program.h"
#include "tests/unit/ir_f32.h"

static struct arena *arena;
static struct cg_kernel *kernel;
static double *data[16], *bound[16];

static int setup(void **state)
{
    arena = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(arena);
    return 0;
}

static void open_text(const char *text)
{
    struct cg_request request = {.expr = text};
    if (cg_open(&request, arena, &kernel) != STAX_OK) {
        fail_msg("%s", status_message());
    }
    for (int b = 0; b < kernel->program.buffers; b++) {
        data[b] = ARENA_ARRAY(arena, double, kernel->program.buffer[b].elements + 1);
        bound[b] = ARENA_ARRAY(arena, double, kernel->program.buffer[b].elements + 1);
    }
}

static void fill(int buffer, double (*value)(int64_t i))
{
    for (int64_t i = 0; i < kernel->program.buffer[buffer].elements; i++) {
        data[buffer][i] = f32_round(value(i), kernel->program.buffer[buffer].dtype);
    }
}

/* Every element of output `o` is `want` to `relative`, in f32 by two orders of adding and in the
 * definition. */
static void expect_all(int o, double want, double relative)
{
    int b = kernel->inputs + o;
    for (int way = 0; way < 3; way++) {
        if (way == 2) {
            assert_int_equal(ir_eval(&kernel->program, data, bound), STAX_OK);
        } else {
            f32_eval(&kernel->program, data, way ? F32_LANES : F32_SEQUENTIAL, 1);
        }
        for (int64_t i = 0; i < kernel->program.buffer[b].elements; i++) {
            double got = data[b][i];
            bool same = isnan(want) ? isnan(got)
                                    : got == want || fabs(got - want) <= relative * fabs(want);
            if (!same) {
                fail_msg("way %d, output %d, element %lld: %.9g, not %.9g", way, o, (long long)i,
                         got, want);
            }
        }
    }
}

static double huge_constant(int64_t i)
{
    return 8.5e37;
}
static double odd_constant(int64_t i)
{
    return 0.1;
}
static double tiny_pair(int64_t i)
{
    return i % 2 ? 1e-30 : -1e-30;
}
static double huge_pair(int64_t i)
{
    return i % 2 ? 1e30 : -1e30;
}
static double far_pair(int64_t i)
{
    return 10000.0 + (i % 2 ? 1 : -1);
}
static double infinite(int64_t i)
{
    return -HUGE_VAL;
}
static double all_but_last(int64_t i)
{
    return i % 33 == 32 ? 0.0 : -HUGE_VAL;
}
static double one_infinite(int64_t i)
{
    return i % 33 == 7 ? HUGE_VAL : 0.25;
}
static double one_nan(int64_t i)
{
    return i % 33 == 7 ? NAN : 0.25;
}

/* pytorch#173793, #178123, #197089: a sum or a square out of range. */
static void test_layer_norm_range(void **state)
{
    open_text("kernel k(x: f32[2, 1024]) { return layer_norm(x), mean(x, axis=-1) }");
    fill(0, huge_constant);
    expect_all(0, 0.0, 0.0);
    expect_all(1, (double)8.5e37f, 1e-4); /* 1024 additions one after the other */
    fill(0, odd_constant);
    expect_all(0, 0.0, 0.0);
    open_text("kernel k(x: f32[2, 1000]) { return layer_norm(x) * layer_norm(x) }");
    fill(0, huge_pair);
    expect_all(0, 1.0, 1e-5);
}

static void test_std_range(void **state)
{
    open_text("kernel k(x: f32[2, 1024]) { return std(x, axis=-1, correction=0) }");
    fill(0, tiny_pair);
    expect_all(0, 1e-30, 1e-5);
    fill(0, huge_pair);
    expect_all(0, 1e30, 1e-5);
    fill(0, odd_constant);
    expect_all(0, 0.0, 0.0);
}

/* pytorch#145401: cancellation with a large mean. */
static void test_large_mean(void **state)
{
    open_text(
        "kernel k(x: f32[2, 1024]) { return var(x, axis=-1, correction=0), std(x, axis=-1) }");
    fill(0, far_pair);
    expect_all(0, 1.0, 0.0);
    expect_all(1, sqrt(1024.0 / 1023.0), 1e-6);
    assert_true(bound[1][0] < 1e-3); /* and the bound does not see the offset either */
}

/* The rows of the table's case 30: n = 1, 7, 33; infinite and NaN elements. */
static void test_softmax_rows(void **state)
{
    open_text("kernel k(x: f32[5, 1]) { return softmax(x, axis=-1) }");
    fill(0, odd_constant);
    expect_all(0, 1.0, 1e-6);
    open_text("kernel k(x: f32[2, 33]) { return softmax(x, axis=-1), softmax(x, axis=-1)[:, -1], "
              "softmax(x, axis=-1)[:, :32], logsumexp(x, axis=-1) }");
    fill(0, all_but_last);
    expect_all(1, 1.0, 1e-6);
    expect_all(2, 0.0, 0.0);
    assert_true(fabs(data[kernel->inputs + 3][0]) <= bound[kernel->inputs + 3][0]);
    fill(0, infinite);
    expect_all(0, NAN, 0.0);
    expect_all(3, -HUGE_VAL, 0.0);
    fill(0, one_infinite);
    expect_all(0, NAN, 0.0);
    expect_all(3, HUGE_VAL, 0.0);
    fill(0, one_nan);
    expect_all(0, NAN, 0.0);
    expect_all(3, NAN, 0.0);
}

/* pytorch#99879: max and min pass NaN on, wherever it stands. */
static void test_extremes_keep_nan(void **state)
{
    open_text("kernel k(x: f32[3, 33]) { return max(x, axis=-1), min(x, axis=-1), relu(sum(x, "
              "axis=-1)) }");
    fill(0, one_nan);
    expect_all(0, NAN, 0.0);
    expect_all(1, NAN, 0.0);
    expect_all(2, NAN, 0.0);
}

/* Empty and size-1 ranges: identities, NaN for mean and var; pytorch#197108, #102546. */
static void test_empty_ranges(void **state)
{
    open_text("kernel k(x: f32[3, 0]) { return sum(x, axis=-1), prod(x, axis=-1), mean(x, "
              "axis=-1), var(x, axis=-1), "
              "layer_norm(x), any(x, axis=-1), all(x, axis=-1) }");
    expect_all(0, 0.0, 0.0);
    expect_all(1, 1.0, 0.0);
    expect_all(2, NAN, 0.0);
    expect_all(3, NAN, 0.0);
    assert_true(kernel->program.buffer[kernel->inputs + 4].elements == 0);
    expect_all(5, 0.0, 0.0);
    expect_all(6, 1.0, 0.0);
    open_text("kernel k(x: f32[]) { return mean(x, axis=0), sum(x, axis=-1), var(x, axis=0) }");
    fill(0, odd_constant);
    expect_all(0, (double)0.1f, 0.0);
    expect_all(1, (double)0.1f, 0.0);
    expect_all(2, NAN, 0.0);
    open_text("kernel k(x: f32[0, 3]) { return x * 2, sum(x, axis=1) }");
    assert_int_equal(kernel->program.kernels, 0);
}

/* pytorch#189895: padding behind a reduction keeps its select, split or not. */
static void test_pad_after_sum(void **state)
{
    open_text("kernel k(x: f32[1, 16384]) { return pad(sum(x * 0 + 1, axis=-1), [[1, 0]]) }");
    assert_int_equal(ir_eval(&kernel->program, data, NULL), STAX_OK);
    int out = kernel->inputs;
    assert_true(data[out][0] == 0 && data[out][1] == 16384);
    struct ir_program split = kernel->program;
    double *wide[16] = {data[0], data[1], data[2], ARENA_ARRAY(arena, double, 64)};
    data[out][0] = data[out][1] = -1;
    assert_int_equal(ir_split(&split, 0, 7, arena), STAX_OK);
    assert_int_equal(ir_eval(&split, wide, NULL), STAX_OK);
    assert_true(data[out][0] == 0 && data[out][1] == 16384);
}

static double row_mod_4(int64_t i)
{
    return (double)(i / 8 % 4);
}

/* pytorch#195845: a row maximum and a column sum of the same values, rows no block divides. */
static void test_row_max_and_column_sum(void **state)
{
    open_text("kernel k(x: f32[1025, 8]) { let y = 2 * x + 0.25; return sum(y, axis=0), max(y, "
              "axis=1) }");
    fill(0, row_mod_4);
    expect_all(0, 3328.25, 0.0);
    for (int64_t i = 0; i < 1025; i++) {
        assert_true(data[kernel->inputs + 1][i] == 2 * (double)(i % 4) + 0.25);
    }
}

static void test_any_all(void **state)
{
    open_text(
        "kernel k(x: f32[2, 33]) { return any(x, axis=-1), all(x, axis=-1), sum(f32(x > 0)) }");
    fill(0, all_but_last);
    expect_all(0, 1.0, 0.0);
    expect_all(1, 0.0, 0.0); /* the last element is 0 */
    expect_all(2, 0.0, 0.0);
    fill(0, one_nan);
    expect_all(0, 1.0, 0.0);
    expect_all(1, 1.0, 0.0);
    expect_all(2, 64.0, 0.0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_layer_norm_range),
        CASE(test_std_range),
        CASE(test_large_mean),
        CASE(test_softmax_rows),
        CASE(test_extremes_keep_nan),
        CASE(test_empty_ranges),
        CASE(test_pad_after_sum),
        CASE(test_any_all),
        CASE(test_row_max_and_column_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
