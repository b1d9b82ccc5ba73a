/* Nodes of the tensor graph: made once each, with the shapes and dtypes that follow from their
 * arguments. */
#include "codegen/graph.h"

#include <math.h>
#include <string.h>

#include "codegen/reference_math.h"

int64_t graph_elements(struct graph_shape shape)
{
    int64_t product = 1;
    bool overflow = false;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.size[i] == 0) {
            return 0;
        }
        overflow = overflow || __builtin_mul_overflow(product, shape.size[i], &product) ||
                   product > GRAPH_MOST_ELEMENTS;
        product = overflow ? 1 : product;
    }
    return overflow ? -1 : product;
}

bool graph_same_shape(struct graph_shape a, struct graph_shape b)
{
    return a.rank == b.rank && memcmp(a.size, b.size, (size_t)a.rank * sizeof *a.size) == 0;
}

char *graph_shape_text(struct graph_shape shape, struct arena *arena)
{
    struct text text = text_make(arena);
    text_add(&text, "[");
    for (int i = 0; i < shape.rank; i++) {
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)shape.size[i]);
    }
    text_add(&text, "]");
    return arena_text(arena, text_string(&text));
}

bool graph_broadcast_shape(struct graph_shape a, struct graph_shape b, struct graph_shape *out)
{
    *out = (struct graph_shape){.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 0; i < out->rank; i++) {
        int ia = i - (out->rank - a.rank), ib = i - (out->rank - b.rank);
        int64_t size_a = ia >= 0 ? a.size[ia] : 1, size_b = ib >= 0 ? b.size[ib] : 1;
        if (size_a != size_b && size_a != 1 && size_b != 1) {
            return false;
        }
        out->size[i] = size_a == 1 ? size_b : size_a;
    }
    return true;
}

static int rank_of(enum dtype dtype)
{
    switch (dtype_table[dtype].kind) {
    case 'B': return 0;
    case 'F': return 100 + dtype_table[dtype].bytes;
    case 'U': return 10 + dtype_table[dtype].bytes;
    default: return 20 + dtype_table[dtype].bytes;
    }
}

enum dtype graph_common_dtype(enum dtype a, enum dtype b)
{
    if (a == b) {
        return a;
    }
    if (rank_of(a) == rank_of(b)) {
        return DTYPE_F32; /* f16 with bf16: neither holds the other */
    }
    return rank_of(a) > rank_of(b) ? a : b;
}

static bool equal(const struct graph_node *a, const struct graph_node *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || !graph_same_shape(a->shape, b->shape) ||
        memcmp(a->arg, b->arg, sizeof a->arg) != 0 || a->op != b->op || a->input != b->input ||
        memcmp(&a->constant, &b->constant, sizeof a->constant) != 0 || a->padded != b->padded ||
        a->reduction != b->reduction || a->axes != b->axes) {
        return false;
    }
    for (int i = 0; i < IR_MAX_RANK; i++) {
        if (!a->map[i] != !b->map[i] || (a->map[i] && !index_equal(a->map[i], b->map[i]))) {
            return false;
        }
    }
    return true;
}

static int add(struct graph *graph, const struct graph_node *node)
{
    for (int i = graph->nodes - 1; i >= 0; i--) {
        if (equal(&graph->node[i], node)) {
            return i;
        }
    }
    if (graph->nodes == graph->capacity) {
        int capacity = graph->capacity ? 2 * graph->capacity : 32;
        graph->node = arena_grow(graph->arena, graph->node, (size_t)graph->nodes, (size_t)capacity,
                                 sizeof *graph->node);
        graph->capacity = capacity;
    }
    graph->node[graph->nodes] = *node;
    return graph->nodes++;
}

static struct graph_node blank(enum graph_kind kind, enum dtype dtype, struct graph_shape shape)
{
    struct graph_node node = {.kind = kind, .dtype = dtype, .arg = {-1, -1, -1}};
    node.shape.rank = shape.rank;
    memcpy(node.shape.size, shape.size, (size_t)shape.rank * sizeof *shape.size);
    return node;
}

int graph_input(struct graph *graph, int input)
{
    struct graph_node node = blank(GRAPH_INPUT, graph->input[input].dtype,
                                   graph->input[input].shape);
    node.input = input;
    return add(graph, &node);
}

int graph_const(struct graph *graph, enum dtype dtype, double value)
{
    struct graph_node node = blank(GRAPH_CONST, dtype, (struct graph_shape){0});
    node.constant = value;
    return add(graph, &node);
}

int graph_iota(struct graph *graph, int64_t count)
{
    struct graph_node node = blank(GRAPH_IOTA, DTYPE_I64,
                                   (struct graph_shape){.rank = 1, .size = {count}});
    node.map[0] = index_var(graph->arena, 0);
    return add(graph, &node);
}

int graph_pure(struct graph *graph, enum ir_op op, enum dtype dtype, const int *arg)
{
    int arity = ir_op_table[op].arity;
    struct graph_node node = blank(GRAPH_PURE, dtype, graph->node[arg[0]].shape);
    node.op = op;
    for (int k = 0; k < arity; k++) {
        STAX_CHECK(graph_same_shape(graph->node[arg[k]].shape, node.shape));
        node.arg[k] = arg[k];
    }
    return add(graph, &node);
}

int graph_cast(struct graph *graph, enum dtype dtype, int arg)
{
    if (graph->node[arg].dtype == dtype) {
        return arg;
    }
    struct graph_node node = blank(GRAPH_CAST, dtype, graph->node[arg].shape);
    node.arg[0] = arg;
    return add(graph, &node);
}

int graph_promote(struct graph *graph, enum dtype dtype, int arg)
{
    enum dtype compute = dtype_compute(dtype);
    return dtype_compute(graph->node[arg].dtype) == compute ? arg : graph_cast(graph, compute, arg);
}

static double identity(enum ir_reduction reduction)
{
    switch (reduction) {
#define RED(id, name, text, combine, identity_double, combine_double) \
    case IR_RED_##id:                                                 \
        return identity_double;
#include "codegen/reductions.def"
#undef RED
    default: return NAN;
    }
}

int graph_reduce(struct graph *graph, enum ir_reduction reduction, int arg, unsigned axes)
{
    struct graph_shape from = graph->node[arg].shape, shape = {0};
    unsigned ones = 0;
    bool empty = false;
    for (int i = 0; i < from.rank; i++) {
        if (axes & (1u << i)) {
            empty = empty || from.size[i] == 0;
            ones |= from.size[i] == 1 ? 1u << i : 0;
        } else {
            shape.size[shape.rank++] = from.size[i];
        }
    }
    if (empty) {
        return graph_expand(graph, graph_const(graph, graph->node[arg].dtype, identity(reduction)),
                            shape);
    }
    /* Folding one element gives the element: dims of size 1 are only dropped. */
    arg = graph_squeeze(graph, arg, ones);
    unsigned rest = 0;
    for (int i = 0, k = 0; i < from.rank; i++) {
        if (!(ones & (1u << i))) {
            rest |= (axes >> i & 1u) << k++;
        }
    }
    if (!rest) {
        return arg;
    }
    struct graph_node node = blank(GRAPH_REDUCE, graph->node[arg].dtype, shape);
    node.reduction = reduction;
    node.axes = rest;
    node.arg[0] = arg;
    return add(graph, &node);
}

int graph_view(struct graph *graph, int arg, struct graph_shape shape,
               const struct index *const *map, bool padded)
{
    const struct graph_node *from = &graph->node[arg];
    bool same = graph_same_shape(from->shape, shape) && !padded;
    for (int i = 0; same && i < shape.rank; i++) {
        same = shape.size[i] == 1 || (map[i]->kind == INDEX_VAR && map[i]->var == i);
    }
    if (same) {
        return arg;
    }
    struct graph_node node = blank(GRAPH_VIEW, from->dtype, shape);
    node.arg[0] = arg;
    node.padded = padded;
    for (int i = 0; i < from->shape.rank; i++) {
        node.map[i] = map[i];
    }
    return add(graph, &node);
}
