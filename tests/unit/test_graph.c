/* The tensor graph: one node for equal ones, NumPy's shapes and dtypes, and views against indexing
 * by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/graph.h"

static struct arena *arena;
static struct graph graph;
static struct graph_input input;

static int setup(void **state)
{
    arena = arena_create();
    input = (struct graph_input){"x", DTYPE_F32, {3, {2, 3, 4}}, {12, 4, 1}, 24};
    graph = (struct graph){.arena = arena, .name = "g", .inputs = 1, .input = &input};
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(arena);
    return 0;
}

/* Flat positions in x that the view reads, row-major, as text. */
static const char *reads(int node)
{
    struct text text = text_make(arena);
    struct graph_shape shape = graph.node[node].shape;
    for (int64_t flat = 0; flat < graph_elements(shape); flat++) {
        int64_t at[IR_MAX_RANK] = {0}, rest = flat;
        for (int i = shape.rank - 1; i >= 0; i--) {
            at[i] = rest % shape.size[i];
            rest /= shape.size[i];
        }
        int from = node;
        while (graph.node[from].kind == GRAPH_VIEW) {
            int64_t source[IR_MAX_RANK];
            for (int i = 0; i < graph.node[graph.node[from].arg[0]].shape.rank; i++) {
                source[i] = index_eval(graph.node[from].map[i], at);
            }
            memcpy(at, source, sizeof at);
            from = graph.node[from].arg[0];
        }
        text_printf(&text, "%s%lld", flat ? " " : "", (long long)(12 * at[0] + 4 * at[1] + at[2]));
    }
    return text_string(&text);
}

static void test_nodes_are_made_once(void **state)
{
    int x = graph_input(&graph, 0);
    int both[2] = {x, x};
    assert_int_equal(graph_input(&graph, 0), x);
    assert_int_equal(graph_pure(&graph, IR_ADD, DTYPE_F32, both),
                     graph_pure(&graph, IR_ADD, DTYPE_F32, both));
    assert_int_not_equal(graph_pure(&graph, IR_ADD, DTYPE_F32, both),
                         graph_pure(&graph, IR_MUL, DTYPE_F32, both));
    assert_int_equal(graph_reduce(&graph, IR_RED_SUM, x, 4),
                     graph_reduce(&graph, IR_RED_SUM, x, 4));
    assert_int_not_equal(graph_reduce(&graph, IR_RED_SUM, x, 4),
                         graph_reduce(&graph, IR_RED_SUM, x, 2));
    assert_int_not_equal(graph_const(&graph, DTYPE_F32, 0.0), graph_const(&graph, DTYPE_F32, -0.0));
    assert_int_equal(graph_cast(&graph, DTYPE_F32, x), x);
    assert_int_equal(graph_expand(&graph, x, input.shape), x);
    assert_int_equal(graph_reduce(&graph, IR_RED_SUM, x, 0), x);
}

static void test_views(void **state)
{
    int x = graph_input(&graph, 0);
    const int reverse[3] = {2, 1, 0};
    const struct graph_part corner[3] = {
        {GRAPH_PART_AT, 1, 1, 1}, {GRAPH_PART_SLICE, 2, -2, 2}, {GRAPH_PART_SLICE, 1, 2, 2}};
    assert_string_equal(reads(graph_slice(&graph, x, corner, 3)), "21 23 13 15");
    assert_string_equal(
        reads(graph_permute(&graph, graph_slice(&graph, x, corner, 2), (const int[2]){1, 0})),
        "20 12 21 13 22 14 23 15");
    struct graph_shape flat = {2, {4, 6}};
    int turned = graph_permute(&graph, x, reverse);
    assert_string_equal(reads(graph_reshape(&graph, turned, flat)),
                        "0 12 4 16 8 20 1 13 5 17 9 21 2 14 6 18 10 22 3 15 7 19 11 23");
    /* There and back is the identity, and is seen to be. */
    assert_int_equal(graph.node[graph_unsqueeze(&graph, x, 1)].shape.rank, 4);
    int wide = graph_expand(&graph, graph_reduce(&graph, IR_RED_SUM, x, 7),
                            (struct graph_shape){1, {5}});
    assert_int_equal(graph.node[wide].shape.size[0], 5);
}

static void test_shapes(void **state)
{
    static const struct {
        struct graph_shape a, b;
        const char *both; /* NULL: they do not go together */
    } rows[] = {
        {{2, {3, 1}}, {1, {4}}, "[3, 4]"}, {{0, {0}}, {2, {2, 3}}, "[2, 3]"},
        {{1, {3}}, {1, {4}}, NULL},        {{1, {0}}, {1, {1}}, "[0]"},
        {{1, {0}}, {1, {2}}, NULL},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        struct graph_shape both;
        assert_int_equal(graph_broadcast_shape(rows[i].a, rows[i].b, &both), rows[i].both != NULL);
        if (rows[i].both) {
            assert_string_equal(graph_shape_text(both, arena), rows[i].both);
        }
    }
    assert_int_equal(graph_elements((struct graph_shape){2, {(int64_t)1 << 40, (int64_t)1 << 40}}),
                     -1);
    assert_int_equal(
        graph_elements((struct graph_shape){3, {(int64_t)1 << 40, (int64_t)1 << 40, 0}}), 0);
    assert_int_equal(graph_elements((struct graph_shape){0, {0}}), 1);
}

static void test_dtypes(void **state)
{
    static const enum dtype rows[][3] = {
        {DTYPE_F32, DTYPE_BF16, DTYPE_F32}, {DTYPE_F16, DTYPE_BF16, DTYPE_F32},
        {DTYPE_F64, DTYPE_F16, DTYPE_F64},  {DTYPE_I64, DTYPE_F16, DTYPE_F16},
        {DTYPE_BOOL, DTYPE_I8, DTYPE_I8},   {DTYPE_I32, DTYPE_I64, DTYPE_I64},
        {DTYPE_U8, DTYPE_I32, DTYPE_I32},   {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        assert_int_equal(graph_common_dtype(rows[i][0], rows[i][1]), rows[i][2]);
        assert_int_equal(graph_common_dtype(rows[i][1], rows[i][0]), rows[i][2]);
    }
}

static void test_reductions(void **state)
{
    int x = graph_input(&graph, 0);
    assert_string_equal(
        graph_shape_text(graph.node[graph_reduce(&graph, IR_RED_MAX, x, 5)].shape, arena), "[3]");
    const struct graph_part none[1] = {{GRAPH_PART_SLICE, 0, 1, 0}},
                            one[1] = {{GRAPH_PART_SLICE, 1, 1, 1}};
    int empty = graph_reduce(&graph, IR_RED_PROD, graph_slice(&graph, x, none, 1), 1);
    assert_int_equal(graph.node[empty].kind, GRAPH_VIEW); /* of the constant 1 */
    assert_true(graph.node[graph.node[empty].arg[0]].constant == 1.0);
    int single = graph_reduce(&graph, IR_RED_SUM, graph_slice(&graph, x, one, 1), 1);
    assert_int_equal(graph.node[single].kind, GRAPH_VIEW); /* one element folds to itself */
    assert_string_equal(reads(single), "12 13 14 15 16 17 18 19 20 21 22 23");
}

static void test_printing(void **state)
{
    int x = graph_input(&graph, 0);
    const int reverse[3] = {2, 1, 0};
    struct graph_output output = {
        graph_reduce(&graph, IR_RED_SUM, graph_permute(&graph, x, reverse), 5), DTYPE_BF16};
    graph.outputs = 1;
    graph.output = &output;
    struct text text = text_make(arena);
    graph_print(&text, &graph);
    assert_string_equal(text_string(&text), "graph g\n"
                                            "  t0: f32[2, 3, 4] = input x\n"
                                            "  t1: f32[4, 3, 2] = view t0[i2, i1, i0]\n"
                                            "  t2: f32[3] = sum t1 over dims 0 2\n"
                                            "  return bf16 t2\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_nodes_are_made_once), CASE(test_views),    CASE(test_shapes), CASE(test_dtypes),
        CASE(test_reductions),          CASE(test_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
