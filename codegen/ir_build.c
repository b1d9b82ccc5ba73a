/* Making nodes: equal ones once (CSE), constants folded, what no store needs left out.
 *
 * The builder is the only place where nodes are made, so that every pass that rebuilds a kernel
 * keeps these properties. A guard stands in arg[0] of a LOAD. */
#include <math.h>
#include <string.h>

#include "codegen/passes.h"
#include "codegen/reference_math.h"

double ir_value(enum ir_op op, double a, double b, double c)
{
    (void)b;
    (void)c;
    switch (op) {
#define OP(id, name, arity, result, flop, f32, i, value, error) \
    case IR_##id:                                               \
        return value;
#include "codegen/ops.def"
#undef OP
    default: return NAN;
    }
}

struct ir_builder ir_build(struct arena *arena, const int64_t *size)
{
    return (struct ir_builder){.arena = arena, .size = size};
}

static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0; /* keeps -0 and NaN apart from 0 */
}

static bool equal(const struct ir_node *a, const struct ir_node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || memcmp(a->arg, b->arg, sizeof a->arg) != 0) {
        return false;
    }
    if ((a->op == IR_LOAD && a->buffer != b->buffer) ||
        (a->op == IR_CONST && !same_number(a->constant, b->constant)) ||
        (a->op == IR_REDUCE && a->reduction != b->reduction)) {
        return false;
    }
    return !a->index || index_equal(a->index, b->index);
}

int ir_build_node(struct ir_builder *builder, const struct ir_node *node)
{
    for (int i = builder->nodes - 1; node->op != IR_STORE && i >= 0; i--) {
        if (equal(&builder->node[i], node)) {
            return i;
        }
    }
    if (builder->nodes == builder->capacity) {
        int capacity = builder->capacity ? 2 * builder->capacity : 32;
        builder->node = arena_grow(builder->arena, builder->node, (size_t)builder->nodes,
                                   (size_t)capacity, sizeof *builder->node);
        builder->capacity = capacity;
    }
    builder->node[builder->nodes] = *node;
    return builder->nodes++;
}

static struct ir_node blank(enum ir_op op, enum dtype dtype)
{
    return (struct ir_node){.op = op, .dtype = dtype, .arg = {-1, -1, -1}, .buffer = -1};
}

int ir_build_const(struct ir_builder *builder, enum dtype dtype, double value)
{
    struct ir_node node = blank(IR_CONST, dtype);
    node.constant = value;
    return ir_build_node(builder, &node);
}

int ir_build_index(struct ir_builder *builder, enum dtype dtype, const struct index *index)
{
    if (index->kind == INDEX_CONST) {
        return ir_build_const(builder, dtype, (double)index->value);
    }
    struct ir_node node = blank(IR_INDEX, dtype);
    node.index = index;
    return ir_build_node(builder, &node);
}

int ir_build_load(struct ir_builder *builder, int buffer, enum dtype dtype,
                  const struct index *index, int guard)
{
    struct ir_node node = blank(IR_LOAD, dtype_compute(dtype));
    if (guard >= 0 && builder->node[guard].op == IR_CONST) {
        if (builder->node[guard].constant == 0.0) {
            return ir_build_const(builder, node.dtype, 0.0);
        }
        guard = -1;
    }
    node.buffer = buffer;
    node.index = index;
    node.arg[0] = guard;
    return ir_build_node(builder, &node);
}

int ir_build_cast(struct ir_builder *builder, enum dtype dtype, int arg)
{
    const struct ir_node *from = &builder->node[arg];
    if (from->dtype == dtype) {
        return arg;
    }
    /* A whole number keeps its value in every float type of enough bits; others are rounded at run
     * time. */
    if (from->op == IR_CONST && dtype_is_float(dtype) && dtype_compute(dtype) == dtype &&
        (double)(float)from->constant == from->constant) {
        return ir_build_const(builder, dtype, from->constant);
    }
    struct ir_node node = blank(IR_CAST, dtype);
    node.arg[0] = arg;
    return ir_build_node(builder, &node);
}

/* x * 1, x / 1, x - 0, where with a known condition: exact for every x, NaN and -0 too. Returns -1
 * otherwise. */
static int identity_of(struct ir_builder *builder, enum ir_op op, int a, int b, int c)
{
    const struct ir_node *node = builder->node;
    bool left = node[a].op == IR_CONST;
    bool right = b >= 0 && node[b].op == IR_CONST;
    switch (op) {
    case IR_MUL:
        if (left && node[a].constant == 1.0) {
            return b;
        }
        return right && node[b].constant == 1.0 ? a : -1;
    case IR_DIV: return right && node[b].constant == 1.0 ? a : -1;
    case IR_SUB: return right && same_number(node[b].constant, 0.0) ? a : -1;
    case IR_WHERE: return left ? (node[a].constant != 0.0 ? b : c) : b == c ? b : -1;
    default: return -1;
    }
}

int ir_build_pure(struct ir_builder *builder, enum ir_op op, int a, int b, int c)
{
    const struct ir_op_row *row = &ir_op_table[op];
    int arg[3] = {a, row->arity > 1 ? b : -1, row->arity > 2 ? c : -1};
    bool constant = true;
    double value[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < row->arity; k++) {
        STAX_CHECK(arg[k] >= 0 && arg[k] < builder->nodes);
        constant = constant && builder->node[arg[k]].op == IR_CONST;
        value[k] = builder->node[arg[k]].constant;
    }
    enum dtype dtype = builder->node[arg[row->result == IR_RESULT_ARG1 ? 1 : 0]].dtype;
    if (row->result == IR_RESULT_BOOL) {
        dtype = DTYPE_BOOL;
    }
    dtype = dtype_compute(dtype);
    if (constant) {
        return ir_build_const(builder, dtype, ir_value(op, value[0], value[1], value[2]));
    }
    int same = identity_of(builder, op, a, b, c);
    if (same >= 0) {
        return same;
    }
    struct ir_node node = blank(op, dtype);
    memcpy(node.arg, arg, sizeof arg);
    return ir_build_node(builder, &node);
}

int ir_build_reduce(struct ir_builder *builder, enum ir_reduction reduction, int arg)
{
    struct ir_node node = blank(IR_REDUCE, builder->node[arg].dtype);
    node.reduction = reduction;
    node.arg[0] = arg;
    return ir_build_node(builder, &node);
}

int ir_build_store(struct ir_builder *builder, int buffer, enum dtype dtype,
                   const struct index *index, int arg)
{
    struct ir_node node = blank(IR_STORE, dtype);
    node.buffer = buffer;
    node.index = index;
    node.arg[0] = arg;
    return ir_build_node(builder, &node);
}

void ir_build_into(struct ir_builder *builder, struct ir_kernel *kernel)
{
    bool *needed = ARENA_ARRAY(builder->arena, bool, builder->nodes + 1);
    int *number = ARENA_ARRAY(builder->arena, int, builder->nodes + 1);
    for (int i = builder->nodes - 1; i >= 0; i--) {
        needed[i] = needed[i] || builder->node[i].op == IR_STORE;
        for (int k = 0; needed[i] && k < 3; k++) {
            if (builder->node[i].arg[k] >= 0) {
                needed[builder->node[i].arg[k]] = true;
            }
        }
    }
    kernel->node = ARENA_ARRAY(builder->arena, struct ir_node, builder->nodes + 1);
    kernel->nodes = 0;
    for (int i = 0; i < builder->nodes; i++) {
        if (!needed[i]) {
            continue;
        }
        struct ir_node node = builder->node[i];
        for (int k = 0; k < 3; k++) {
            node.arg[k] = node.arg[k] >= 0 ? number[node.arg[k]] : -1;
        }
        number[i] = kernel->nodes;
        kernel->node[kernel->nodes++] = node;
    }
    ir_finish(kernel);
}

void ir_rebuild(struct ir_kernel *kernel, int dims, struct ir_dim *dim,
                const struct index *const *with, struct arena *arena)
{
    int64_t *size = ARENA_ARRAY(arena, int64_t, dims + 1);
    int *number = ARENA_ARRAY(arena, int, kernel->nodes + 1);
    for (int i = 0; i < dims; i++) {
        size[i] = dim[i].size;
    }
    struct ir_builder builder = ir_build(arena, size);
    for (int i = 0; i < kernel->nodes; i++) {
        struct ir_node node = kernel->node[i];
        for (int k = 0; k < 3; k++) {
            node.arg[k] = node.arg[k] >= 0 ? number[node.arg[k]] : -1;
        }
        node.index = node.index ? index_replace(arena, node.index, with, size) : NULL;
        if (node.op == IR_INDEX) {
            number[i] = ir_build_index(&builder, node.dtype, node.index);
        } else if (node.op < IR_PURE_COUNT) {
            number[i] = ir_build_pure(&builder, node.op, node.arg[0], node.arg[1], node.arg[2]);
        } else {
            number[i] = ir_build_node(&builder, &node);
        }
    }
    kernel->dims = dims;
    kernel->dim = dim;
    ir_build_into(&builder, kernel);
}
