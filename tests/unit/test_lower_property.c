/* Random small kernels: lowered, fused, merged, tiled and split programs equal the tensor graph
 * evaluated node by node. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "codegen/graph.h"

enum { KERNELS = 400, STEPS = 7 };

/* ---- the graph, evaluated directly ---- */

static double cast_value(double value, enum dtype to)
{
    if (to == DTYPE_BOOL) {
        return value != 0;
    }
    return dtype_is_float(to) ? value : trunc(value);
}

static void unflatten(struct graph_shape shape, int64_t flat, int64_t *at)
{
    for (int i = shape.rank - 1; i >= 0; i--) {
        at[i] = flat % shape.size[i];
        flat /= shape.size[i];
    }
}

static int64_t flatten(struct graph_shape shape, const int64_t *at)
{
    int64_t flat = 0;
    for (int i = 0; i < shape.rank; i++) {
        flat = flat * shape.size[i] + at[i];
    }
    return flat;
}

static double view_value(const struct graph *graph, const struct graph_node *node,
                         double *const *values, const int64_t *at)
{
    struct graph_shape from = graph->node[node->arg[0]].shape;
    int64_t source[IR_MAX_RANK];
    for (int i = 0; i < from.rank; i++) {
        source[i] = index_eval(node->map[i], at);
        if (source[i] < 0 || source[i] >= from.size[i]) {
            assert_true(node->padded);
            return 0.0;
        }
    }
    return values[node->arg[0]][flatten(from, source)];
}

static void reduce_node(const struct graph *graph, const struct graph_node *node,
                        double *const *values, double *out)
{
    static const double start[IR_RED_COUNT] = {0.0, 1.0, -HUGE_VAL, HUGE_VAL};
    struct graph_shape from = graph->node[node->arg[0]].shape;
    for (int64_t i = 0; i < graph_elements(node->shape); i++) {
        out[i] = start[node->reduction];
    }
    for (int64_t i = 0; i < graph_elements(from); i++) {
        int64_t at[IR_MAX_RANK], kept[IR_MAX_RANK];
        int rank = 0;
        unflatten(from, i, at);
        for (int k = 0; k < from.rank; k++) {
            if (!(node->axes >> k & 1u)) {
                kept[rank++] = at[k];
            }
        }
        double *to = &out[flatten(node->shape, kept)], value = values[node->arg[0]][i];
        switch (node->reduction) {
        case IR_RED_SUM: *to += value; break;
        case IR_RED_PROD: *to *= value; break;
        case IR_RED_MAX: *to = isnan(value) || isnan(*to) ? NAN : fmax(*to, value); break;
        default: *to = isnan(value) || isnan(*to) ? NAN : fmin(*to, value); break;
        }
    }
}

static double **evaluate_graph(const struct graph *graph, double *const *data, struct arena *arena)
{
    double **values = (double **)arena_array(arena, (size_t)graph->nodes, sizeof(double *));
    for (int n = 0; n < graph->nodes; n++) {
        const struct graph_node *node = &graph->node[n];
        int64_t count = graph_elements(node->shape);
        double *out = values[n] = ARENA_ARRAY(arena, double, count + 1);
        if (node->kind == GRAPH_REDUCE) {
            reduce_node(graph, node, values, out);
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t at[IR_MAX_RANK] = {0}, where = 0;
            double arg[3] = {0, 0, 0};
            unflatten(node->shape, i, at);
            switch (node->kind) {
            case GRAPH_INPUT:
                for (int k = 0; k < node->shape.rank; k++) {
                    where += at[k] * graph->input[node->input].stride[k];
                }
                out[i] = data[node->input][where];
                break;
            case GRAPH_CONST: out[i] = node->constant; break;
            case GRAPH_IOTA: out[i] = (double)at[0]; break;
            case GRAPH_CAST: out[i] = cast_value(values[node->arg[0]][i], node->dtype); break;
            case GRAPH_VIEW: out[i] = view_value(graph, node, values, at); break;
            default:
                for (int k = 0; k < ir_op_table[node->op].arity; k++) {
                    arg[k] = values[node->arg[k]][i];
                }
                out[i] = ir_value(node->op, arg[0], arg[1], arg[2]);
                break;
            }
        }
    }
    return values;
}

/* ---- random kernels ---- */

struct variable {
    char name[8];
    struct graph_shape shape;
};

struct maker {
    struct rng rng;
    struct text text;
    struct arena *arena;
    struct variable variable[32];
    int variables;
};

static int pick(struct maker *maker, int below)
{
    return (int)rng_below(&maker->rng, (uint64_t)below);
}

static struct graph_shape random_shape(struct maker *maker)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12};
    struct graph_shape shape = {.rank = pick(maker, 4)};
    for (int i = 0; i < shape.rank; i++) {
        shape.size[i] = sizes[pick(maker, 8)];
    }
    return shape;
}

static struct variable *add_variable(struct maker *maker, struct graph_shape shape)
{
    struct variable *variable = &maker->variable[maker->variables];
    snprintf(variable->name, sizeof variable->name, "t%d", maker->variables++);
    variable->shape = shape;
    return variable;
}

static void let(struct maker *maker, struct graph_shape shape, const char *expression)
{
    struct variable *variable = add_variable(maker, shape);
    text_printf(&maker->text, "  let %s = %s;\n", variable->name, expression);
}

static void make_unary(struct maker *maker, const struct variable *a)
{
    static const char *const forms[] = {"tanh(%s)", "abs(%s)",       "relu(%s)",
                                        "-%s",      "sigmoid(%s)",   "%s * 0.25",
                                        "1 - %s",   "exp(-abs(%s))", "where(%s > 0, 2, 0.5)",
                                        "gelu(%s)"};
    char buffer[96];
    snprintf(buffer, sizeof buffer, forms[pick(maker, 10)], a->name);
    let(maker, a->shape, buffer);
}

static void make_binary(struct maker *maker, const struct variable *a)
{
    static const char *const forms[] = {"%s + %s", "%s * %s", "%s - %s", "maximum(%s, %s)",
                                        "%s / (2 + abs(%s))"};
    for (int tries = 0; tries < 20; tries++) {
        const struct variable *b = &maker->variable[pick(maker, maker->variables)];
        struct graph_shape shape;
        char buffer[96];
        if (graph_broadcast_shape(a->shape, b->shape, &shape) && graph_elements(shape) <= 4096) {
            snprintf(buffer, sizeof buffer, forms[pick(maker, 5)], a->name, b->name);
            let(maker, shape, buffer);
            return;
        }
    }
}

static void make_reduce(struct maker *maker, const struct variable *a)
{
    static const char *const forms[] = {"sum", "max", "min", "mean", "var", "logsumexp", "prod"};
    if (a->shape.rank == 0) {
        return;
    }
    int axis = pick(maker, a->shape.rank), keep = pick(maker, 2), all = pick(maker, 5) == 0;
    struct graph_shape shape = {0};
    for (int i = 0; i < a->shape.rank; i++) {
        if (all || i == axis) {
            shape.size[shape.rank] = 1;
            shape.rank += keep;
        } else {
            shape.size[shape.rank++] = a->shape.size[i];
        }
    }
    int form = pick(maker, 7);
    if (form == 4 && a->shape.size[axis] == 1) {
        form = 0; /* the variance of one value is NaN */
    }
    all = all && form != 5;
    char which[16], buffer[96];
    snprintf(which, sizeof which, all ? "None" : "%d", axis);
    if (form == 5 && shape.rank != a->shape.rank - 1 + keep) {
        return;
    }
    const char *extra = form == 4 ? ", correction=0" : "";
    snprintf(buffer, sizeof buffer, "%s(%s, axis=%s, keepdims=%s%s)", forms[form], a->name, which,
             keep ? "True" : "False", extra);
    let(maker, shape, buffer);
}

static void make_normal(struct maker *maker, const struct variable *a)
{
    static const char *const forms[] = {"softmax(%s, axis=%d)", "layer_norm(%s, axis=%d)",
                                        "rms_norm(%s, axis=%d)", "log_softmax(%s, axis=%d)"};
    char buffer[96];
    if (a->shape.rank > 0) {
        snprintf(buffer, sizeof buffer, forms[pick(maker, 4)], a->name, pick(maker, a->shape.rank));
        let(maker, a->shape, buffer);
    }
}

static void make_view(struct maker *maker, const struct variable *a)
{
    struct graph_shape shape = a->shape, turned = shape;
    int rank = shape.rank, axis = rank ? pick(maker, rank) : 0;
    char buffer[128];
    for (int i = 0; i < rank; i++) {
        turned.size[i] = shape.size[rank - 1 - i];
    }
    switch (pick(maker, 7)) {
    case 0:
        snprintf(buffer, sizeof buffer, "%s.T", a->name);
        let(maker, turned, buffer);
        break;
    case 1:
        snprintf(buffer, sizeof buffer, "reshape(%s, -1)", a->name);
        let(maker, (struct graph_shape){1, {graph_elements(shape)}}, buffer);
        break;
    case 2:
        if (graph_elements(shape) % 6 == 0) {
            snprintf(buffer, sizeof buffer, "reshape(%s, [2, -1, 3])", a->name);
            let(maker, (struct graph_shape){3, {2, graph_elements(shape) / 6, 3}}, buffer);
        }
        break;
    case 3:
        if (rank > 0 && shape.size[0] > 1) {
            shape.size[0] = (shape.size[0] - 1 + 1) / 2;
            snprintf(buffer, sizeof buffer, "%s[1::2]", a->name);
            let(maker, shape, buffer);
        }
        break;
    case 4:
        if (rank > 0) {
            snprintf(buffer, sizeof buffer, "%s[::-1]", a->name);
            let(maker, shape, buffer);
        }
        break;
    case 5:
        if (rank > 0 && rank < 3) {
            struct graph_shape wider = {rank + 1, {shape.size[0], 3, rank > 1 ? shape.size[1] : 0}};
            snprintf(buffer, sizeof buffer, "%s[:, None] + expand(0, [%s3%s])", a->name, "",
                     rank > 1 ? ", 1" : "");
            let(maker, wider, buffer);
        }
        break;
    default:
        if (rank > 0) {
            shape.size[rank - 1] += 3;
            snprintf(buffer, sizeof buffer, "pad(%s, [[1, 2]])", a->name);
            let(maker, shape, buffer);
        }
        break;
    }
    (void)axis;
}

static const char *make_kernel(struct maker *maker)
{
    int inputs = 1 + pick(maker, 3);
    text_add(&maker->text, "kernel random(");
    for (int i = 0; i < inputs; i++) {
        struct variable *input = add_variable(maker, random_shape(maker));
        text_printf(&maker->text, "%s%s: f32%s", i ? ", " : "", input->name,
                    graph_shape_text(input->shape, maker->arena));
    }
    text_add(&maker->text, ") {\n");
    for (int step = 0; step < STEPS; step++) {
        /* The newest values more often, so that chains grow. */
        int last = pick(maker, 2) ? maker->variables - 1 : pick(maker, maker->variables);
        struct variable a = maker->variable[last];
        static void (*const make[])(struct maker *, const struct variable *) = {
            make_unary,  make_binary, make_binary, make_reduce,
            make_reduce, make_normal, make_view,   make_view};
        make[pick(maker, 8)](maker, &a);
    }
    text_printf(&maker->text, "  return %s", maker->variable[maker->variables - 1].name);
    for (int i = pick(maker, 3); i > 0; i--) {
        text_printf(&maker->text, ", %s", maker->variable[pick(maker, maker->variables)].name);
    }
    text_add(&maker->text, "\n}\n");
    return text_string(&maker->text);
}

/* ---- comparison ---- */

static double **make_data(const struct ir_program *program, struct rng rng, struct arena *arena)
{
    double **data = (double **)arena_array(arena, (size_t)program->buffers, sizeof(double *));
    for (int b = 0; b < program->buffers; b++) {
        data[b] = ARENA_ARRAY(arena, double, program->buffer[b].elements + 1);
        for (int64_t i = 0; i < program->buffer[b].elements; i++) {
            bool input = program->buffer[b].role == IR_BUFFER_INPUT;
            data[b][i] = input ? (double)(float)(2 * rng_unit(&rng) - 1)
                               : NAN; /* NAN: nothing reads what none wrote */
        }
    }
    return data;
}

static void compare_run(const struct graph *graph, const struct ir_program *program, struct rng rng,
                        const char *text, struct arena *arena)
{
    assert_int_equal(ir_check(program), STAX_OK);
    double **data = make_data(program, rng, arena), **bound = make_data(program, rng, arena);
    double **want = evaluate_graph(graph, data, arena);
    assert_int_equal(ir_eval(program, data, bound), STAX_OK);
    for (int o = 0; o < graph->outputs; o++) {
        int node = graph->output[o].node;
        for (int64_t i = 0; i < graph_elements(graph->node[node].shape); i++) {
            double a = want[node][i], b = data[graph->inputs + o][i],
                   e = bound[graph->inputs + o][i];
            bool same = (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-9 * (1 + fabs(a));
            if (!same || isnan(e) || e < 0) {
                struct text shown = text_make(arena);
                ir_print(&shown, program);
                fail_msg("output %d element %lld: graph %.17g, program %.17g, bound %g\n%s%s", o,
                         (long long)i, a, b, e, text, text_string(&shown));
            }
        }
    }
}

static void test_random_kernels(void **state)
{
    int splits = 0, fused = 0;
    for (uint64_t seed = 0; seed < KERNELS; seed++) {
        struct arena *arena = arena_create();
        struct maker maker = {.rng = rng_make(seed, 1), .text = text_make(arena), .arena = arena};
        struct parse_request request = {.what = "random", .text = make_kernel(&maker)};
        struct graph graph;
        const char *note;
        if (parse_kernel(&request, arena, &graph, &note) != STAX_OK) {
            fail_msg("seed %d: %s\n%s", (int)seed, status_message(), request.text);
        }
        for (int o = 0; o < graph.outputs; o++) { /* the maker's idea of shapes is the parser's */
            assert_true(graph_elements(graph.node[graph.output[o].node].shape) > 0);
        }
        struct ir_program program;
        assert_int_equal(lower_graph(&graph, arena, &program), STAX_OK);
        compare_run(&graph, &program, rng_make(seed, 2), request.text, arena);
        for (int k = 0; k < program.kernels; k++) {
            const struct ir_kernel *kernel = &program.kernel[k];
            fused += kernel->levels > 1;
            int64_t length = ir_axis_size(kernel, IR_AXIS_R);
            if (kernel->levels == 1 && !kernel->stores_in_r && length >= 2) {
                struct ir_program split = program;
                int64_t parts = 2 + pick(&maker, (int)length - 1);
                assert_int_equal(ir_split(&split, k, parts, arena), STAX_OK);
                compare_run(&graph, &split, rng_make(seed, 2), request.text, arena);
                splits++;
            }
        }
        arena_destroy(arena);
    }
    assert_true(splits > 50); /* the maker still makes what is tested here */
    assert_true(fused > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
