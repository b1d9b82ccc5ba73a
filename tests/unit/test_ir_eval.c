/* The interpreter against closed forms, and its bounds against programs run in the types
 * themselves. */
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

struct fixture {
    struct arena *arena;
    struct cg_kernel *kernel;
    double **data, **bound;
};

static struct fixture open_text(const char *text)
{
    struct fixture f = {.arena = arena_create()};
    struct cg_request request = {.expr = text};
    if (cg_open(&request, f.arena, &f.kernel) != STAX_OK) {
        fail_msg("%s\n%s", status_message(), text);
    }
    const struct ir_program *program = &f.kernel->program;
    f.data = (double **)arena_array(f.arena, (size_t)program->buffers, sizeof(double *));
    f.bound = (double **)arena_array(f.arena, (size_t)program->buffers, sizeof(double *));
    for (int b = 0; b < program->buffers; b++) {
        f.data[b] = ARENA_ARRAY(f.arena, double, program->buffer[b].elements + 1);
        f.bound[b] = ARENA_ARRAY(f.arena, double, program->buffer[b].elements + 1);
    }
    return f;
}

static void test_sum_of_squares(void **state)
{
    struct fixture f = open_text("kernel k(x: f32[3, 100]) { return sum(x * x, axis=-1) }");
    for (int i = 0; i < 300; i++) {
        f.data[0][i] = i;
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    for (int row = 0; row < 3; row++) {
        double want = 0;
        for (int i = 100 * row; i < 100 * (row + 1); i++) {
            want += (double)i * i;
        }
        assert_true(f.data[1][row] == want); /* all whole numbers: exact in double */
        /* ceil(100/64) + 24 roundings on top of the squares' own. */
        double bound = f.bound[1][row] / want / 0x1p-24;
        assert_true(bound > 26.9 && bound < 27.1);
    }
    arena_destroy(f.arena);
}

static void test_softmax(void **state)
{
    struct fixture f = open_text("kernel k(x: f32[1, 3]) { return softmax(x, axis=-1) }");
    f.data[0][0] = 0.0;
    f.data[0][1] = log(2.0);
    f.data[0][2] = log(5.0);
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    assert_true(fabs(f.data[1][0] - 0.125) < 1e-15);
    assert_true(fabs(f.data[1][1] - 0.25) < 1e-15);
    assert_true(fabs(f.data[1][2] - 0.625) < 1e-15);
    assert_true(f.bound[1][2] < 1e-5);
    arena_destroy(f.arena);
}

static void test_gelu_backward(void **state)
{
    const char *text = "kernel k(g: f32[], h: f32[4]) { let cdf = 0.5 * (1.0 + erf(h * "
                       "0.7071067811865476)); let pdf = "
                       "0.3989422804014327 * exp(-0.5 * (h * h)); return g * (cdf + h * pdf) }";
    struct fixture f = open_text(text);
    const double h[4] = {0.0, 1.0, -1.0, 40.0};
    f.data[0][0] = 3.0;
    for (int i = 0; i < 4; i++) {
        f.data[1][i] = h[i];
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, NULL), STAX_OK);
    for (int i = 0; i < 4; i++) { /* the derivative of h Phi(h), by central differences */
        double d = 1e-6;
        double up = (h[i] + d) * 0.5 * erfc(-(h[i] + d) / sqrt(2)),
               down = (h[i] - d) * 0.5 * erfc(-(h[i] - d) / sqrt(2));
        assert_true(fabs(f.data[2][i] - 3.0 * (up - down) / (2 * d)) < 1e-7);
    }
    arena_destroy(f.arena);
}

/* Infinities and NaN must be reproduced: their bound is 0; overflow of the type is an infinity of
 * the definition too. */
static void test_special_values(void **state)
{
    struct fixture f = open_text("kernel k(x: f32[6]) { return x * x, maximum(x, 0.0), f16(x) }");
    const double x[6] = {HUGE_VAL, -HUGE_VAL, NAN, 1e30, 70000.0, 2.0};
    for (int i = 0; i < 6; i++) {
        f.data[0][i] = x[i];
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    assert_true(isinf(f.data[1][0]) && f.bound[1][0] == 0);
    assert_true(isnan(f.data[1][2]) && f.bound[1][2] == 0);
    assert_true(isinf(f.data[1][3]) && f.bound[1][3] == 0); /* 1e60 */
    assert_true(f.data[2][1] == 0 && isnan(f.data[2][2]));
    assert_true(isinf(f.data[3][4]) && f.data[3][5] == 2.0 && f.bound[3][5] >= 2.0 * 0x1p-11);
    arena_destroy(f.arena);
}

static void test_ties_stay_exact(void **state)
{
    struct fixture f = open_text(
        "kernel k(x: f32[2, 4]) { return where(x == max(x, axis=-1, keepdims=True), 1.0, 0.0) }");
    for (int i = 0; i < 8; i++) {
        f.data[0][i] = i % 3;
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    for (int i = 0; i < 8; i++) {
        assert_true(f.bound[1][i] == 0);
    }
    arena_destroy(f.arena);
}

/* ---- bounds ---- */

static const char *const kernels[] = {
    "kernel k(x, y: f32[7, 300]) { return sum(relu(x + y) * 2, axis=-1) }",
    "kernel k(x: f32[5, 1000]) { return sum(x * x, axis=-1), sum(x, axis=-1), max(x, axis=-1) }",
    "kernel k(x: f32[6, 257]) { return softmax(x, axis=-1) }",
    "kernel k(x: f32[6, 257]) { return log_softmax(x, axis=-1), logsumexp(x, axis=-1) }",
    "kernel k(x: f32[6, 300], w, b: f32[300]) { return layer_norm(x, w, b) }",
    "kernel k(x: f32[6, 300], w: f32[300]) { return rms_norm(x, w) }",
    "kernel k(x: f32[4, 128]) { return var(x, axis=-1), std(x, axis=-1), mean(x, axis=0) }",
    "kernel k(g: f32[], x: f32[999]) { return gelu(x), silu(x), gelu_tanh(x), g * tanh(x), "
    "softplus(x) }",
    "kernel k(x: f32[40, 9]) { return prod(1 + x * 0.1, axis=0), min(x.T, axis=-1) }",
    "kernel k(x, y: f32[500]) { return x / (2 + y), sqrt(2 + x), rsqrt(2 + x), log(2 + y), exp(4 * "
    "x), exp2(8 * y) }",
    "kernel k(x, y: f32[500]) { return where(x + y > 0.3, x, y), floor(5 * x), 1 / (x + 1.001), "
    "sin(3 * x), cos(y) }",
    "kernel k(x: bf16[8, 200]) { return layer_norm(x), softmax(x, axis=0) }",
    "kernel k(x: f16[8, 200], y: bf16[200]) -> bf16 { return x * y, f16(x * 3) + 1 }",
    "kernel k(x: f32[300, 8]) { return sum(exp(20 * x), axis=0), mean(x * 1e30, axis=0), x * 1e-38 "
    "* 0.001 }",
};

static void fill(struct fixture *f, uint64_t seed)
{
    struct rng rng = rng_make(seed, 0);
    const struct ir_program *program = &f->kernel->program;
    for (int b = 0; b < f->kernel->inputs; b++) {
        for (int64_t i = 0; i < program->buffer[b].elements; i++) {
            f->data[b][i] = f32_round(2 * rng_unit(&rng) - 1, program->buffer[b].dtype);
        }
    }
}

static void check_bounds(const char *text, enum f32_order order, uint64_t seed, double *used)
{
    struct fixture f = open_text(text);
    const struct ir_program *program = &f.kernel->program;
    fill(&f, seed);
    double **single = (double **)arena_array(f.arena, (size_t)program->buffers, sizeof(double *));
    for (int b = 0; b < program->buffers; b++) {
        size_t bytes = sizeof(double) * (size_t)(program->buffer[b].elements + 1);
        single[b] = arena_copy(f.arena, f.data[b], bytes);
    }
    assert_int_equal(ir_eval(program, f.data, f.bound), STAX_OK);
    f32_eval(program, single, order, seed);
    for (int b = 0; b < program->buffers; b++) {
        if (program->buffer[b].role != IR_BUFFER_OUTPUT) {
            continue;
        }
        for (int64_t i = 0; i < program->buffer[b].elements; i++) {
            double error = fabs(single[b][i] - f.data[b][i]), bound = f.bound[b][i];
            bool same = single[b][i] == f.data[b][i] ||
                        (isnan(single[b][i]) && isnan(f.data[b][i]));
            if (!same && !(error <= bound)) {
                fail_msg("%s element %lld: definition %.9g, in the type %.9g, bound %g\n%s",
                         program->buffer[b].name, (long long)i, f.data[b][i], single[b][i], bound,
                         text);
            }
            double scale = fabs(f.data[b][i]);
            if (isfinite(bound) && scale > 1e-3 && bound / scale > *used) {
                *used = bound / scale;
            }
        }
    }
    arena_destroy(f.arena);
}

static void test_bounds_hold(void **state)
{
    for (size_t k = 0; k < STAX_COUNT(kernels); k++) {
        double loosest = 0.0;
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_bounds(kernels[k], F32_LANES, seed, &loosest);
            check_bounds(kernels[k], F32_SEQUENTIAL, seed, &loosest);
        }
        assert_true(loosest > 0.0);
    }
}

/* A bound is worth something only while it is near the error: f32 results that are not tiny are
 * judged to 1e-3 or better. */
static void test_bounds_are_tight(void **state)
{
    for (size_t k = 0; k < 7; k++) {
        double loosest = 0.0;
        check_bounds(kernels[k], F32_LANES, 1, &loosest);
        if (loosest > 1e-2) {
            fail_msg("relative bound %g for %s", loosest, kernels[k]);
        }
    }
}

/* Whole numbers wrap around as in NumPy, after every op; what no number is converts to anything. */
static void test_whole_numbers(void **state)
{
    struct fixture f = open_text("kernel k(x: u8[3], y: i8[3], z: i32[3], r: f32[3]) { return -x, "
                                 "x * x - 1, y * y, z * z, i8(z), i32(r), u8(r) }");
    const double x[3] = {0, 1, 255}, y[3] = {-128, 100, 3}, z[3] = {65536, -65537, 46341},
                 r[3] = {-1.75, 300.5, NAN};
    static const double want[7][3] = {
        {0, 255, 1}, {255, 0, 0},  {0, 16, 9},  {0, 131073, -2147479015},
        {0, -1, 5},  {-1, 300, 0}, {255, 44, 0}};
    for (int i = 0; i < 3; i++) {
        f.data[0][i] = x[i];
        f.data[1][i] = y[i];
        f.data[2][i] = z[i];
        f.data[3][i] = r[i];
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    for (int out = 0; out < 7; out++) {
        for (int i = 0; i < 3; i++) {
            bool open = out >= 5 && i == 2;
            if (f.data[4 + out][i] != want[out][i] || f.bound[4 + out][i] != (open ? HUGE_VAL : 0))
                fail_msg("out%d[%d] is %g within %g, not %g", out, i, f.data[4 + out][i],
                         f.bound[4 + out][i], want[out][i]);
        }
    }
    arena_destroy(f.arena);
}

/* A product that leaves the type in some order of multiplying has no bound, in the others one. */
static void test_products_overflow(void **state)
{
    struct fixture f = open_text("kernel k(x: f32[4, 300]) { return prod(x, axis=1) }");
    for (int i = 0; i < 300; i++) {
        f.data[0][i] = i % 2 ? 4.0 : 0.25;      /* 1, but 2^300 on the way */
        f.data[0][300 + i] = i ? 4.0 : 0.0;     /* 0, or infinity times 0 */
        f.data[0][600 + i] = i ? 4.0 : NAN;     /* NaN in every order */
        f.data[0][900 + i] = i < 3 ? 3.0 : 1.0; /* 27 */
    }
    assert_int_equal(ir_eval(&f.kernel->program, f.data, f.bound), STAX_OK);
    assert_true(f.bound[1][0] == HUGE_VAL && f.bound[1][1] == HUGE_VAL);
    assert_true(isnan(f.data[1][2]) && f.bound[1][2] == 0);
    assert_true(f.data[1][3] == 27 && f.bound[1][3] < 27 * 301 * 0x1p-24);
    arena_destroy(f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers),    cmocka_unit_test(test_products_overflow),
        cmocka_unit_test(test_sum_of_squares),   cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_gelu_backward),    cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_ties_stay_exact),  cmocka_unit_test(test_bounds_hold),
        cmocka_unit_test(test_bounds_are_tight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
