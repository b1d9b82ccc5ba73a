/* What becomes one kernel and what does not, and the shape each kernel gets: dims, axes, hints,
 * buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/program.h"

static struct arena *arena;

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

static const struct ir_program *open_text(const char *text)
{
    struct cg_request request = {.expr = text};
    struct cg_kernel *kernel = NULL;
    if (cg_open(&request, arena, &kernel) != STAX_OK) {
        fail_msg("%s", status_message());
    }
    assert_int_equal(ir_check(&kernel->program), STAX_OK);
    return &kernel->program;
}

static int count(const struct ir_kernel *kernel, enum ir_op op)
{
    int n = 0;
    for (int i = 0; i < kernel->nodes; i++) {
        n += kernel->node[i].op == op;
    }
    return n;
}

static int scratches(const struct ir_program *program)
{
    int n = 0;
    for (int b = 0; b < program->buffers; b++) {
        n += program->buffer[b].role == IR_BUFFER_SCRATCH;
    }
    return n;
}

static void expect_dims(const struct ir_kernel *kernel, const char *want)
{
    struct text text = text_make(arena);
    for (int d = 0; d < kernel->dims; d++) {
        text_printf(&text, "%s%c%lld", d ? " " : "", "XYZR"[kernel->dim[d].axis],
                    (long long)kernel -> dim[d].size);
    }
    assert_string_equal(text_string(&text), want);
}

/* One row a text: how many kernels, scratch buffers, and the greatest level of the first kernel. */
static void test_what_fuses(void **state)
{
    static const struct {
        int kernels, scratch, levels;
        const char *text;
    } rows[] = {
        {1, 0, 1, "kernel k(x, y: f32[64, 128]) { return sum(relu(x + y) * 2, axis=-1) }"},
        {1, 0, 2, "kernel k(x: f32[256, 1000]) { return softmax(x, axis=-1) }"},
        {1, 0, 2, "kernel k(x: f32[64, 4096], w, b: f32[4096]) { return layer_norm(x, w, b) }"},
        {1, 0, 1, "kernel k(x: f32[64, 4096], w: f32[4096]) { return rms_norm(x, w) }"},
        {1, 0, 1,
         "kernel k(x: f32[64, 128]) { return sum(x, axis=-1), max(x, axis=-1), sum(x * x, axis=-1) "
         "}"},
        {1, 0, 1,
         "kernel k(x: f32[64, 128]) { return sqrt(sum(x * x, axis=-1)), 1 + sum(x * x, axis=-1) }"},
        {1, 0, 1, "kernel k(x: f32[64, 128]) { return x / sum(x, axis=0) }"},
        {1, 0, 2,
         "kernel k(x: f32[64, 128], y: f32[64, 128]) { return softmax(x + y, axis=-1), max(x + y, "
         "axis=-1) }"},
        /* different domains: rows and columns, even where the sizes agree */
        {2, 0, 1, "kernel k(x: f32[64, 128]) { return sum(x, axis=0), sum(x, axis=1) }"},
        {2, 0, 1, "kernel k(x: f32[128, 128]) { return sum(x, axis=0), sum(x, axis=1) }"},
        {2, 0, 1,
         "kernel k(x, y: f32[64, 128]) { return sum(x, axis=1), sum(y, axis=1) }"}, /* nothing
                                                                                       shared */
        {2, 2, 2, "kernel k(x: f32[64, 128]) { return sum(softmax(x, axis=-1), axis=0) }"},
        {2, 1, 1, "kernel k(x: f32[64, 128]) { return expand(sum(x, axis=-1)[:, None], [64, 7]) }"},
        /* the last sum shares x with the first but waits for the one between: no cycle is made */
        {3, 2, 1,
         "kernel k(x: f32[64, 128]) { let t = sum(sum(x, axis=1) ** 2); return sum(x * t, axis=1) "
         "}"},
        /* a long lone row: apart, so that each kernel can be split */
        {3, 2, 1, "kernel k(x: f32[1, 1048576]) { return softmax(x, axis=-1) }"},
        {3, 2, 1, "kernel k(x: f32[16, 131072]) { return softmax(x, axis=-1) }"},
        {1, 0, 2, "kernel k(x: f32[64, 16384]) { return softmax(x, axis=-1) }"},
        /* pointwise outputs that read the same, and an output beside a reduction where rows are
           many */
        {1, 0, 0, "kernel k(x, y: f32[64, 128]) { return x + y, x - y }"},
        {2, 0, 0, "kernel k(x, y: f32[64, 128]) { return x + 1, y + 1 }"},
        {1, 0, 1, "kernel k(x: f32[512, 128]) { return relu(x), sum(relu(x), axis=-1) }"},
        {2, 0, 1, "kernel k(x: f32[8, 128]) { return relu(x), sum(relu(x), axis=-1) }"},
        {0, 0, 0, "kernel k(x: f32[0, 128]) { return relu(x), sum(x, axis=-1) }"},
        {1, 0, 0, "kernel k(x: f32[3, 0]) { return sum(x, axis=-1) }"},
        {1, 0, 0,
         "kernel k(x: f32[3, 1]) { return sum(x, axis=-1) }"}, /* one element folds to itself */
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        const struct ir_program *program = open_text(rows[i].text);
        int levels = program->kernels ? program->kernel[0].levels : 0;
        if (program->kernels != rows[i].kernels || scratches(program) != rows[i].scratch ||
            levels != rows[i].levels) {
            struct text text = text_make(arena);
            ir_print(&text, program);
            fail_msg("%s\n%s", rows[i].text, text_string(&text));
        }
    }
}

static void test_shared_reads(void **state)
{
    const struct ir_program *program = open_text(
        "kernel k(x: f32[64, 16384]) { return sum(x * x, axis=-1) }");
    assert_int_equal(count(&program->kernel[0], IR_LOAD), 1); /* book 9.4 */
    program = open_text("kernel k(x: f32[256, 1000]) { return softmax(x, axis=-1) }");
    assert_int_equal(count(&program->kernel[0], IR_LOAD), 1);
    assert_int_equal(count(&program->kernel[0], IR_EXP), 1);
    program = open_text(
        "kernel k(x: f32[64, 128]) { let dead = exp(x) + sum(x); return 2 * 3 * x * 1 }");
    assert_int_equal(program->kernels, 1);
    assert_int_equal(program->kernel[0].nodes, 4); /* load, 6, mul, store */
}

/* Shared subexpressions stay shared: 40 doublings are 40 nodes, not 2^40. */
static void test_shared_chains(void **state)
{
    struct text text = text_make(arena);
    text_add(&text, "kernel k(x: f32[8]) { let t0 = x;");
    for (int i = 1; i <= 40; i++) {
        text_printf(&text, "let t%d = t%d * t%d + t%d;", i, i - 1, i - 1, i - 1);
    }
    text_add(&text, "return t40 }");
    const struct ir_program *program = open_text(text_string(&text));
    assert_int_equal(program->kernel[0].nodes, 82);
}

static void test_dims(void **state)
{
    static const struct {
        const char *dims, *text;
    } rows[] = {
        {"X131072", "kernel k(x: f32[256, 512]) { return x * 2 }"},
        {"Y256 X512",
         "kernel k(x: f32[512, 256], y: f32[256, 512]) { return x.T + y }"},  /* listing 9.2 */
        {"X2048", "kernel k(g: f32[], h: f32[2048]) { return g * h }"},       /* listing 9.3 */
        {"X64 R128", "kernel k(x: f32[64, 128]) { return sum(x, axis=-1) }"}, /* listing 9.1 */
        {"X512 R64", "kernel k(x: f32[8, 64, 64, 1]) { return sum(x, axis=2) }"},
        {"X64 X32 R16", "kernel k(x: f32[64, 16, 32]) { return sum(x, axis=1) }"},
        {"X32 R1024", "kernel k(x: f32[64, 16, 32]) { return sum(x, axis=[0, 1]) }"},
        {"R131072",
         "kernel k(x: f32[256, 512]) { return sum(x.T) }"}, /* any order adds the same elements */
        {"X16 R64 R32", "kernel k(x: f32[64, 16, 32]) { return sum(x, axis=[0, 2]) }"},
        {"", "kernel k(x: f32[1, 1]) { return x * 2 }"},
        {"Y8 Y64 X64", "kernel k(x: f32[8, 64, 64]) { return transpose(x, 1, 2) }"},
        {"X64 X2",
         "kernel k(x: f32[64], y: f32[2]) { return x[:, None] * y }"}, /* 2 points are no direction
                                                                          of a block */
        {"X24", "kernel k(x: f32[2, 3, 4]) { return reshape(reshape(x, 4, 6) * 2, 3, 8) }"},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        expect_dims(&open_text(rows[i].text)->kernel[0], rows[i].dims);
    }
}

static void test_hints(void **state)
{
    static const struct {
        enum ir_hint hint;
        const char *text;
    } rows[] = {
        {IR_HINT_INNER, "kernel k(x: f32[64, 128]) { return sum(x, axis=-1) }"},
        {IR_HINT_OUTER, "kernel k(x: f32[64, 128]) { return sum(x, axis=0) }"},
        {IR_HINT_DEFAULT,
         "kernel k(x: f32[64, 128], y: f32[128, 64]) { return sum(x * y.T, axis=-1) }"},
        {IR_HINT_INNER,
         "kernel k(x, z: f32[64, 128], y: f32[128, 64]) { return sum(x * y.T * z, axis=-1) }"},
        {IR_HINT_INNER,
         "kernel k(x: f32[64, 128], s: f32[64]) { return sum(x * s[:, None], axis=-1) }"},
        {IR_HINT_DEFAULT, "kernel k(x: f32[64, 128]) { return x * 2 }"},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        assert_int_equal(open_text(rows[i].text)->kernel[0].hint, rows[i].hint);
    }
}

static void test_half_types(void **state)
{
    const struct ir_program *program = open_text(
        "kernel k(x: bf16[64, 128], y: f16[128]) -> bf16 { let s = sum(x, axis=-1); return sum(s * "
        "y[:64]), bf16(x) * 2 }");
    assert_int_equal(program->buffer[2].dtype, DTYPE_BF16);
    assert_int_equal(program->buffer[program->buffers - 1].role, IR_BUFFER_SCRATCH);
    assert_int_equal(program->buffer[program->buffers - 1].dtype,
                     DTYPE_F32); /* rounded at the last store alone */
    for (int k = 0; k < program->kernels; k++) {
        for (int i = 0; i < program->kernel[k].nodes; i++) {
            const struct ir_node *node = &program->kernel[k].node[i];
            assert_true(node->op == IR_STORE || node->dtype == DTYPE_F32 ||
                        node->dtype == DTYPE_BOOL);
        }
    }
    program = open_text(
        "kernel k(x: f32[8]) { return bf16(x) * 2.0 }"); /* an explicit cast rounds */
    assert_int_equal(count(&program->kernel[0], IR_CAST), 1);
    program = open_text(
        "kernel k(x: f32[8], y: f64[8]) { return x * y }"); /* f32 widens, f64 stays */
    assert_int_equal(program->buffer[2].dtype, DTYPE_F64);
    assert_int_equal(count(&program->kernel[0], IR_CAST), 1);
}

static void test_beyond_32_bits(void **state)
{
    const struct ir_program *program = open_text("kernel k(x: f32[3288334336]) { return x * 2 }");
    int64_t size[8];
    ir_sizes(&program->kernel[0], size);
    assert_int_equal(program->kernel[0].dim[0].size, 3288334336);
    assert_false(index_fits_i32(program->kernel[0].node[0].index, size));
    const char *arg = "x=f32[2,8]:2147483712,1"; /* few elements, far apart */
    struct cg_request request = {.expr = "x + 1", .arg = &arg, .args = 1};
    struct cg_kernel *kernel;
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_OK);
    ir_sizes(&kernel->program.kernel[0], size);
    assert_int_equal(kernel->program.kernel[0].dims, 2); /* rows are not contiguous: no merging */
    assert_false(index_fits_i32(kernel->program.kernel[0].node[0].index, size));
}

static void test_eval_limit(void **state)
{
    const struct ir_program *program = open_text(
        "kernel k(x: f32[]) { return expand(x, [65536, 65536]) }");
    assert_int_equal(ir_eval(program, NULL, NULL), STAX_LIMIT);
}

static void test_fills(void **state)
{
    struct cg_request request = {.expr = "kernel k(x, y, z: f32[8]) { return log(x) + z / y }"};
    struct cg_kernel *kernel;
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_OK);
    assert_true(kernel->input[0].low == 0.5 && kernel->input[1].low == 0.5 &&
                kernel->input[2].low == -1.0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_what_fuses),     CASE(test_shared_reads), CASE(test_shared_chains),
        CASE(test_dims),           CASE(test_hints),        CASE(test_half_types),
        CASE(test_beyond_32_bits), CASE(test_eval_limit),   CASE(test_fills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
