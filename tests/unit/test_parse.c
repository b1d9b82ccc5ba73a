/* The kernel language: what texts mean, and that every mistake gets a line with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/graph.h"
#include "codegen/program.h"

static enum stax_status open_request(const char *text, const char *arg, const char *dim,
                                     struct arena *arena, struct cg_kernel **kernel)
{
    struct cg_request request = {
        .expr = text, .arg = &arg, .args = arg != NULL, .dim = &dim, .dims = dim != NULL};
    return cg_open(&request, arena, kernel);
}

struct mistake {
    const char *text, *arg, *dim;
    const char *message; /* must be in the message */
};

#define K(body) "kernel k(x: f32[4]) { return " body " }"
#define N       "kernel k(x: f32[n=4]) { return x }"

static const struct mistake mistakes[] = {
    {K("sofmax(x)"), 0, 0, "--expr:1:30: unknown function `sofmax`: did you mean `softmax`?\n"},
    {K("x + yy"), 0, 0, "1:34: unknown name `yy`"},
    {K("x +"), 0, 0, "1:34: expected a value but found `}`"},
    {K("x } extra {"), 0, 0, "1:34: expected the end after the kernel but found `extra`"},
    {K("sum(x, axis=1)"), 0, 0, "1:42: axis 1 is out of range for a tensor of 1 dims"},
    {K("sum(x, axs=1)"), 0, 0,
     "sum has no parameter `axs`: it takes (x, axis=None, keepdims=False)"},
    {K("sum(x, 0, True, 3)"), 0, 0,
     "sum has too many arguments: it takes (x, axis=None, keepdims=False)"},
    {K("sum(x, 0, axis=0)"), 0, 0, "`axis` is given twice"},
    {K("sum()"), 0, 0, "sum needs `x`"},
    {K("sum(x, axis=[0, 0])"), 0, 0, "axis 0 is named twice"},
    {K("max(x, x)"), 0, 0, "for two tensors use maximum(a, b)"},
    {K("max(x[4:])"), 0, 0, "max over an empty axis has no value"},
    {K("exp(x, x)"), 0, 0, "exp takes 1 plain argument\n"},
    {K("exp([x])"), 0, 0, "exp takes tensors and numbers, not a list"},
    {K("x @ x"), 0, 0, "matrix products are not available"},
    {K("x // 2"), 0, 0, "this operator is not defined for tensors"},
    {K("x ** 2.3"), 0, 0, "write exp(y * log(x)) for others"},
    {K("x[5]"), 0, 0, "1:32: index 5 is outside a dim of 4"},
    {K("x[0, 0]"), 0, 0, "too many indices: the tensor has 1 dims"},
    {K("x[::0]"), 0, 0, "a slice needs a step that is not 0"},
    {K("x[x]"), 0, 0, "an index is a whole number, a slice or None, not a tensor f32[4]"},
    {K("reshape(x, [3, -1])"), 0, 0, "[4] has 4 elements and cannot become [3, -1]"},
    {K("expand(x, [3, 5])"), 0, 0, "[4] cannot be expanded to [3, 5]"},
    {K("x + reshape(x, 2, 2)[:, :1] + x[:3]"), 0, 0,
     "do not broadcast: each dim must agree or be 1"},
    {K("transpose(x, [0, 0])"), 0, 0, "takes each of the axes 0 to 0 once"},
    {K("x.foo"), 0, 0, "tensors have the attributes T and shape, not `foo`"},
    {K("astype(x, 3)"), 0, 0, "takes a type such as f32 or bf16, not the number 3"},
    {K("pad(x, 3)"), 0, 0, "pad takes a list of [before, after]"},
    {K("layer_norm(x, axis=3)"), 0, 0, "1:30: in layer_norm: axis 3 is out of range"},
    {K("_count(x, 0)"), 0, 0, "unknown function `_count`"},
    {K("sum"), 0, 0, "`sum` is a function: write sum(...)"},
    {K("[x]"), 0, 0, "a kernel returns tensors, not a list"},
    {K("(9223372036854775807 + 1) * x"), 0, 0, "does not fit 64 bits"},
    {K("1 / 0 * x"), 0, 0, "division by zero"},
    {K("expand(x, [1000000000, 1000000000, 4])"), 0, 0,
     "has more than 2^59 elements: use smaller sizes"},
    {"kernel k(x: f32[4]) { let y = x * 2 return y }", 0, 0,
     "1:37: expected `;` but found `return`"},
    {"kernel k(x: f32[4]) { x }", 0, 0, "1:23: expected `let` or `return` but found `x`"},
    {"kernel k(x: f32[4) { return x }", 0, 0, "1:18: expected `]` but found `)`"},
    {"kernel k(x: g32[4]) { return x }", 0, 0, "found `g32`: did you mean `f32`?"},
    {"kernel k(x: f32[4], x: f32[4]) { return x }", 0, 0, "1:21: parameter `x` is declared twice"},
    {"kernel k(x: f32[4, -3]) { return x }", 0, 0, "1:20: a size is 0 or above, not -3"},
    {"kernel k(x: f32[4000000000, 4000000000]) { return x }", 0, 0, "more than 2^59 elements"},
    {"kernel k(x: f32[n]) { return x }", 0, 0,
     "dim `n` has no size: write n=SIZE once, or give --dim n=SIZE"},
    {"kernel k(x: f32[n=4], y: f32[n=5]) { return x }", 0, 0, "`n` was declared as 4 before"},
    {"kernel k(x: f32[n in 2..8 = 9]) { return x }", 0, 0, "the hint of `n` lies outside 2..8"},
    {"kernel k(x: f32[n in 2..8]) { return x }", 0, 0, "expected `= hint`"},
    {"kernel k(x: f32[n in 8..2 = 4]) { return x }", 0, 0, "the range of `n` is empty or negative"},
    {"kernel k(x: f32[4]) -> (f32, f32) { return x, x, x }", 0, 0,
     "2 types are declared for 3 returned tensors"},
    {"kernel k(x: f32[4]) -> f31 { return x }", 0, 0,
     "expected a type such as f32 or bf16 but found `f31`"},
    {"", 0, 0, "the text is empty"},
    {"x ? 2", "x=f32[4]", 0, "1:3: unexpected character `?`"},
    {N, 0, "m=3", "--dim m=3: the kernel has no dim named `m`: did you mean `n`"},
    {N, 0, "n=-3", "--dim n=-3: a size is 0 or above"},
    {N, 0, "n", "--dim:1:2: expected `=` but found the end"},
    {N, "x=f32[6]", "n=5", "dim `n` is 6 by --arg x=f32[6]: give one value"},
    {N, "z=f32[6]", 0, "--arg:1:1: the kernel has no parameter `z`: did you mean `x`"},
    {N, "x=f32[6", 0, "--arg:1:8: expected `]` but found the end"},
    {N, "x=f32[6]:1,2", 0, "more strides than dims: 1 are wanted"},
    {N, "x=f32[6,6]:1", 0, "expected 2 strides, one a dim, but found 1"},
    {N, "x=f32[2]:4611686018427387904", 0, "spans more than 2^59 elements"},
    {"kernel k(x: f32[n in 2..8 = 4]) { return x }", 0, "n=9", "dim `n` lies in 2..8"},
};

static void test_mistakes(void **state)
{
    for (size_t i = 0; i < STAX_COUNT(mistakes); i++) {
        const struct mistake *row = &mistakes[i];
        struct arena *arena = arena_create();
        struct cg_kernel *kernel;
        enum stax_status status = open_request(row->text, row->arg, row->dim, arena, &kernel);
        if (status != STAX_USAGE || !strstr(status_message(), row->message)) {
            fail_msg("status %s for %s\n%s\nnot: %s", status_name(status), row->text,
                     status_message(), row->message);
        }
        arena_destroy(arena);
    }
}

struct meaning {
    const char *text, *arg, *dim;
    const char *output; /* dtype and shape of the first output */
};

static const struct meaning meanings[] = {
    {K("x"), 0, 0, "f32 [4]"},
    {K("3"), 0, 0, "f32 []"},
    {K("x[None, :, None]"), 0, 0, "f32 [1, 4, 1]"},
    {K("x[1]"), 0, 0, "f32 []"},
    {K("x[::-2]"), 0, 0, "f32 [2]"},
    {K("x[-3:100]"), 0, 0, "f32 [3]"},
    {K("x[3:1]"), 0, 0, "f32 [0]"},
    {K("x > 0 and x < 1"), 0, 0, "bool [4]"},
    {K("0 < x < 1"), 0, 0, "bool [4]"},
    {K("x[:, None] * x"), 0, 0, "f32 [4, 4]"},
    {K("x.reshape(2, -1).sum(dim=-1, keepdim=True)"), 0, 0, "f32 [2, 1]"},
    {K("reshape(x, 2, 2).T.t()"), 0, 0, "f32 [2, 2]"},
    {K("bf16(x) * 2"), 0, 0, "bf16 [4]"},
    {K("bf16(x) * x"), 0, 0, "f32 [4]"},
    {K("bf16(x) * f16(x)"), 0, 0, "f32 [4]"},
    {K("softmax(x.astype(f16))"), 0, 0, "f16 [4]"},
    {K("mean(bf16(x))"), 0, 0, "bf16 []"},
    {K("layer_norm(f16(x))"), 0, 0, "f16 [4]"},
    {K("if x > 0 then x else 0"), 0, 0, "f32 [4]"},
    {K("x if 3 > 2 else nothing"), 0, 0, "f32 [4]"},
    {K("expand(x, [2, 3, 4])"), 0, 0, "f32 [2, 3, 4]"},
    {K("transpose(expand(x, [2, 3, 4]), 0, 2)"), 0, 0, "f32 [4, 3, 2]"},
    {K("transpose(expand(x, [2, 3, 4]), [1, 2, 0])"), 0, 0, "f32 [3, 4, 2]"},
    {K("x.shape[0] * x"), 0, 0, "f32 [4]"},
    {K("max(x, keepdims=True)"), 0, 0, "f32 [1]"},
    {K("x ** 3 + x ** -1 + x ** 0.5 + x ** 0"), 0, 0, "f32 [4]"},
    {K("pad(x, [[1, 2]])"), 0, 0, "f32 [7]"},
    {"kernel k(x: f32[4]) -> bf16 { return x }", 0, 0, "bf16 [4]"},
    {"kernel k(a: bf16[m=3, k=4], b: bf16[k]) { return a + b }", 0, "k=7", "bf16 [3, 7]"},
    {"kernel k(a: bf16[m=3, k=4], b: bf16[k]) { return a + b }", "a=f32[5,6]", 0, "f32 [5, 6]"},
    {"kernel k(a: f32[n=3, 2*n]) { return a }", 0, "n=5", "f32 [5, 10]"},
    {"kernel k(x: f32[n in 2..4096 = 64, 128]) { return (if n > 32 then x else x * 2) / n }", 0, 0,
     "f32 [64, 128]"},
    {"# a comment\nkernel k(x,\n  y: f32[2]) { # more\n let t = x * y; return t, x }", 0, 0,
     "f32 [2]"},
    {"sum(x * x, axis=-1)", "x=f64[3,4]", 0, "f64 [3]"},
};

static void test_meanings(void **state)
{
    for (size_t i = 0; i < STAX_COUNT(meanings); i++) {
        const struct meaning *row = &meanings[i];
        struct arena *arena = arena_create();
        struct graph graph;
        const char *note;
        struct parse_request request = {.what = "text",
                                        .text = row->text,
                                        .arg = &row->arg,
                                        .dim = &row->dim,
                                        .args = row->arg != NULL,
                                        .dims = row->dim != NULL};
        if (parse_kernel(&request, arena, &graph, &note) != STAX_OK) {
            fail_msg("%s", status_message());
        }
        const char *got = arena_printf(
            arena, "%s %s", dtype_table[graph.output[0].dtype].name,
            graph_shape_text(graph.node[graph.output[0].node].shape, arena));
        if (strcmp(got, row->output) != 0) {
            fail_msg("%s\ngives %s, not %s", row->text, got, row->output);
        }
        arena_destroy(arena);
    }
}

static void test_ranged_dims_are_noted(void **state)
{
    struct arena *arena = arena_create();
    struct graph graph;
    const char *note;
    struct parse_request request = {.what = "text",
                                    .text = "kernel k(x: f32[n in 2..8 = 4]) { return x }"};
    assert_int_equal(parse_kernel(&request, arena, &graph, &note), STAX_OK);
    assert_string_equal(note, "n is specialised at 4");
    arena_destroy(arena);
}

static void test_strides(void **state)
{
    struct arena *arena = arena_create();
    struct cg_kernel *kernel;
    assert_int_equal(open_request("x * 2", "x=f32[64,64]:1,64", NULL, arena, &kernel), STAX_OK);
    assert_string_equal(cg_problem(kernel), "expr(x: f32[64,64]:1,64)");
    assert_int_equal(kernel->program.buffer[0].elements, 4096);
    assert_int_equal(open_request("x * 2", "x=f32[2,3]:100,0", NULL, arena, &kernel), STAX_OK);
    assert_int_equal(kernel->program.buffer[0].elements, 101);
    assert_true(cg_bytes(kernel) == 2 * 4 + 6 * 4); /* a stride of 0 repeats one element */
    arena_destroy(arena);
}

static void test_catalogue(void **state)
{
    static const char *const book[] = {"per_fused", "poi_fused", "gelu_backward", "red_fused",
                                       "softmax"};
    const struct cg_entry *entry;
    int count = cg_catalogue(&entry);
    assert_true(count >= 7);
    for (size_t i = 0; i < STAX_COUNT(book); i++) {
        assert_string_equal(entry[i].name, book[i]);
    }
    for (int i = 0; i < count; i++) {
        struct arena *arena = arena_create();
        struct cg_request request = {.kernel = entry[i].name};
        struct cg_kernel *kernel;
        assert_true(entry[i].summary[0]);
        if (cg_open(&request, arena, &kernel) != STAX_OK) {
            fail_msg("%s", status_message());
        }
        assert_string_equal(cg_name(kernel), entry[i].name);
        assert_true(cg_bytes(kernel) > 0 && cg_flop(kernel) > 0);
        arena_destroy(arena);
    }
}

static void test_costs(void **state)
{
    struct arena *arena = arena_create();
    struct cg_request request = {.kernel = "red_fused"};
    struct cg_kernel *kernel;
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_OK);
    assert_string_equal(cg_problem(kernel), "red_fused(x: f32[64,16384])");
    assert_true(cg_bytes(kernel) == 64 * 16384 * 4 + 64 * 4);
    assert_true(cg_flop(kernel) == 2.0 * 64 * 16384);
    arena_destroy(arena);
}

static void test_missing_kernels(void **state)
{
    struct arena *arena = arena_create();
    struct cg_kernel *kernel;
    struct cg_request request = {.kernel = "sofmax"};
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_NOTFOUND);
    assert_non_null(strstr(status_message(), "did you mean `softmax`"));
    request.kernel = "/nonexistent/k.stax";
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_IO);
    request.kernel = NULL;
    assert_int_equal(cg_open(&request, arena, &kernel), STAX_USAGE);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_meanings),
        cmocka_unit_test(test_ranged_dims_are_noted),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_missing_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
