/* The functions of the kernel language beside the ops of ops.def: reductions and views in C,
 * composites from functions.def. */
#include <math.h>
#include <string.h>

#include "codegen/functions.h"

enum stax_status function_want_tensor(struct parse *parse, struct call *call, int k,
                                      struct graph_shape *shape)
{
    if (parse_is_number(&call->value[k])) {
        call->value[k] = operand_tensor(parse_tensor(parse, &call->value[k], DTYPE_F32));
    }
    if (call->value[k].kind != OPERAND_TENSOR) {
        return parse_fail(parse, call->at[k], "%s takes a tensor here, not %s",
                          call->function->name, parse_describe(parse, &call->value[k]));
    }
    *shape = parse->graph->node[call->value[k].node].shape;
    return STAX_OK;
}

static enum stax_status want_bool(struct parse *parse, struct call *call, int k, bool *out)
{
    if (call->value[k].kind != OPERAND_BOOL) {
        return parse_fail(parse, call->at[k], "%s takes True or False here, not %s",
                          call->function->name, parse_describe(parse, &call->value[k]));
    }
    *out = call->value[k].i != 0;
    return STAX_OK;
}

enum stax_status function_want_axes(struct parse *parse, struct call *call, int k, int rank,
                                    unsigned *axes)
{
    const struct operand *value = &call->value[k];
    *axes = (1u << rank) - 1;
    if (value->kind == OPERAND_NONE) {
        return STAX_OK;
    }
    const struct operand *items = value->kind == OPERAND_LIST ? value->items : value;
    int count = value->kind == OPERAND_LIST ? value->count : 1;
    *axes = 0;
    for (int i = 0; i < count; i++) {
        if (items[i].kind != OPERAND_INT) {
            return parse_fail(parse, call->at[k], "%s: an axis is a whole number, not %s",
                              call->function->name, parse_describe(parse, &items[i]));
        }
        int64_t most = rank ? rank : 1, axis = items[i].i < 0 ? items[i].i + most : items[i].i;
        if (axis < 0 || axis >= most) {
            return parse_fail(parse, call->at[k],
                              "axis %lld is out of range for a tensor of %d dims",
                              (long long)items[i].i, rank);
        }
        if (*axes & (1u << axis)) {
            return parse_fail(parse, call->at[k], "axis %lld is named twice", (long long)axis);
        }
        *axes |= 1u << axis;
    }
    if (rank == 0) {
        *axes = 0;
    }
    return STAX_OK;
}

/* ---- reductions ---- */

static enum stax_status reduce(struct parse *parse, struct call *call, enum ir_reduction reduction,
                               struct operand *out)
{
    struct graph *graph = parse->graph;
    struct graph_shape shape = {0};
    unsigned axes = 0;
    bool keep = false;
    if (call->value[1].kind == OPERAND_TENSOR) {
        bool pair = reduction == IR_RED_MAX || reduction == IR_RED_MIN;
        return parse_fail(parse, call->at[1], "%s takes one tensor and an axis%s%s%s",
                          call->function->name, pair ? ": for two tensors use " : "",
                          pair ? call->function->name : "", pair ? "imum(a, b)" : "");
    }
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    STAX_TRY(want_bool(parse, call, 2, &keep));
    for (int i = 0; i < shape.rank; i++) {
        bool empty = (axes & (1u << i)) && shape.size[i] == 0;
        if (empty && (reduction == IR_RED_MAX || reduction == IR_RED_MIN)) {
            return parse_fail(parse, call->span, "%s over an empty axis has no value",
                              call->function->name);
        }
    }
    int node = call->value[0].node;
    enum dtype dtype = graph->node[node].dtype;
    bool adds = reduction == IR_RED_SUM || reduction == IR_RED_PROD;
    if (dtype == DTYPE_BOOL || (adds && !dtype_is_float(dtype))) {
        node = graph_cast(graph, DTYPE_I64, node); /* whole numbers add up in i64, as in NumPy */
    }
    node = graph_reduce(graph, reduction, node, axes);
    node = adds ? node : graph_cast(graph, dtype, node);
    *out = operand_tensor(keep ? graph_unsqueeze(graph, node, axes) : node);
    return STAX_OK;
}

static enum stax_status run_sum(struct parse *parse, struct call *call, struct operand *out)
{
    return reduce(parse, call, IR_RED_SUM, out);
}

static enum stax_status run_prod(struct parse *parse, struct call *call, struct operand *out)
{
    return reduce(parse, call, IR_RED_PROD, out);
}

static enum stax_status run_max(struct parse *parse, struct call *call, struct operand *out)
{
    return reduce(parse, call, IR_RED_MAX, out);
}

static enum stax_status run_min(struct parse *parse, struct call *call, struct operand *out)
{
    return reduce(parse, call, IR_RED_MIN, out);
}

/* ---- parts of composites ---- */

static enum stax_status run_count(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    unsigned axes = 0;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) {
        count *= axes & (1u << i) ? shape.size[i] : 1;
    }
    *out = number_whole(count);
    return STAX_OK;
}

static enum stax_status run_pow2(struct parse *parse, struct call *call, struct operand *out)
{
    (void)parse;
    double power = 1.0;
    while (power < call->value[0].f) {
        power *= 2.0;
    }
    *out = number_real(power);
    return STAX_OK;
}

/* a / b of two numbers where b may be 0 or below: n - correction is taken as 0 then, as PyTorch
 * does. */
static enum stax_status run_ratio(struct parse *parse, struct call *call, struct operand *out)
{
    if (!parse_is_number(&call->value[0]) || !parse_is_number(&call->value[1])) {
        return parse_fail(parse, call->span, "the correction is a number");
    }
    double below = call->value[1].f;
    *out = number_real(below > 0 ? call->value[0].f / below : HUGE_VAL);
    return STAX_OK;
}

static enum stax_status run_first(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    unsigned axes = 0;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    struct graph_part part[IR_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) {
        int64_t count = axes & (1u << i) && shape.size[i] > 1 ? 1 : shape.size[i];
        part[i] = (struct graph_part){GRAPH_PART_SLICE, 0, 1, count};
    }
    *out = operand_tensor(graph_slice(parse->graph, call->value[0].node, part, shape.rank));
    return STAX_OK;
}

/* max |x|, dims kept; 0 over an empty range. */
static enum stax_status run_peak(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph *graph = parse->graph;
    struct graph_shape shape = {0};
    unsigned axes = 0;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    struct operand size;
    STAX_TRY(parse_pure(parse, call->span, IR_ABS, &call->value[0], &size));
    bool empty = graph_elements(shape) == 0;
    enum ir_reduction reduction = empty ? IR_RED_SUM : IR_RED_MAX;
    *out = operand_tensor(
        graph_unsqueeze(graph, graph_reduce(graph, reduction, size.node, axes), axes));
    return STAX_OK;
}

static enum stax_status run_drop(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    unsigned axes = 0;
    bool keep = false;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    STAX_TRY(want_bool(parse, call, 2, &keep));
    *out = keep ? call->value[0]
                : operand_tensor(graph_squeeze(parse->graph, call->value[0].node, axes));
    return STAX_OK;
}

static enum stax_status run_like(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    *out = operand_tensor(
        graph_const(parse->graph, parse->graph->node[call->value[0].node].dtype, call->value[1].f));
    return STAX_OK;
}

static enum stax_status run_infinity(struct parse *parse, struct call *call, struct operand *out)
{
    (void)parse, (void)call;
    *out = number_real(HUGE_VAL);
    return STAX_OK;
}

static enum stax_status run_given(struct parse *parse, struct call *call, struct operand *out)
{
    (void)parse;
    *out = number_truth(call->value[0].kind != OPERAND_NONE);
    return STAX_OK;
}

#define FUNCTION(name, signature, body) {#name, signature, body, NULL},
static const struct function table[] = {
    {"sum", "x, axis=None, keepdims=False", NULL, run_sum},
    {"prod", "x, axis=None, keepdims=False", NULL, run_prod},
    {"max", "x, axis=None, keepdims=False", NULL, run_max},
    {"min", "x, axis=None, keepdims=False", NULL, run_min},
    {"reshape", "x, rest", NULL, function_reshape},
    {"view", "x, rest", NULL, function_reshape},
    {"transpose", "x, rest", NULL, function_transpose},
    {"permute", "x, rest", NULL, function_transpose},
    {"t", "x", NULL, function_transpose_matrix},
    {"expand", "x, rest", NULL, function_expand},
    {"broadcast_to", "x, rest", NULL, function_expand},
    {"squeeze", "x, axis=None", NULL, function_squeeze},
    {"unsqueeze", "x, axis", NULL, function_unsqueeze},
    {"flatten", "x", NULL, function_flatten},
    {"pad", "x, widths", NULL, function_pad},
    {"astype", "x, dtype", NULL, function_astype},
    {"arange", "n", NULL, function_arange},
    {"pow", "x, exponent", NULL, function_pow},
    {"_count", "x, axis", NULL, run_count},
    {"_pow2", "n", NULL, run_pow2},
    {"_ratio", "a, b", NULL, run_ratio},
    {"_first", "x, axis", NULL, run_first},
    {"_peak", "x, axis", NULL, run_peak},
    {"_drop", "x, axis, keepdims", NULL, run_drop},
    {"_like", "x, value", NULL, run_like},
    {"_infinity", "", NULL, run_infinity},
    {"_given", "x", NULL, run_given},
#include "codegen/functions.def"
};
#undef FUNCTION

const struct function *function_find(const char *name)
{
    for (size_t i = 0; i < STAX_COUNT(table); i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

int function_names(void)
{
    return (int)STAX_COUNT(table) + IR_PURE_COUNT;
}

const char *function_name(const void *unused, int index)
{
    (void)unused;
    int own = (int)STAX_COUNT(table);
    return index < own ? table[index].name : ir_op_table[index - own].name;
}
