/* Functions of the kernel language that give views of a tensor, or change its type. */
#include "codegen/functions.h"

/* Whole numbers from value k: a list, or a gathered list that holds one list. */
static enum stax_status want_whole_list(struct parse *parse, struct call *call, int k, int64_t *out,
                                        int *count)
{
    const struct operand *list = &call->value[k];
    if (list->kind == OPERAND_LIST && list->count == 1 && list->items[0].kind == OPERAND_LIST) {
        list = &list->items[0];
    }
    *count = list->kind == OPERAND_LIST ? list->count : 0;
    if (list->kind != OPERAND_LIST || *count > IR_MAX_RANK) {
        return parse_fail(parse, call->at[k], "%s takes a list of at most %d whole numbers here",
                          call->function->name, IR_MAX_RANK);
    }
    for (int i = 0; i < *count; i++) {
        if (list->items[i].kind != OPERAND_INT) {
            return parse_fail(parse, call->at[k], "%s takes whole numbers here, not %s",
                              call->function->name, parse_describe(parse, &list->items[i]));
        }
        out[i] = list->items[i].i;
    }
    return STAX_OK;
}

enum stax_status function_reshape(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape from = {0}, shape = {0};
    STAX_TRY(function_want_tensor(parse, call, 0, &from));
    STAX_TRY(want_whole_list(parse, call, 1, shape.size, &shape.rank));
    int64_t have = graph_elements(from);
    int open = -1;
    struct graph_shape known = shape;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.size[i] < -1 || (shape.size[i] == -1 && open >= 0)) {
            return parse_fail(parse, call->at[1], "a shape has sizes from 0 up and at most one -1");
        }
        open = shape.size[i] == -1 ? i : open;
        known.size[i] = shape.size[i] == -1 ? 1 : shape.size[i];
    }
    int64_t want = graph_elements(known);
    if (open >= 0 && want > 0 && have % want == 0) {
        shape.size[open] = have / want;
        want = have;
    } else if (open >= 0) {
        want = -1;
    }
    if (want != have) {
        return parse_fail(parse, call->span, "%s has %lld elements and cannot become %s",
                          graph_shape_text(from, parse->arena), (long long)have,
                          graph_shape_text(shape, parse->arena));
    }
    *out = operand_tensor(graph_reshape(parse->graph, call->value[0].node, shape));
    return STAX_OK;
}

/* A list of axes permutes (NumPy), two plain axes of a tensor swap (PyTorch), no axes reverse. */
enum stax_status function_transpose(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    int64_t given[IR_MAX_RANK];
    int count, axes[IR_MAX_RANK];
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    bool swap = call->value[1].count == 2;
    STAX_TRY(want_whole_list(parse, call, 1, given, &count));
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        given[i] += given[i] < 0 ? shape.rank : 0;
        if (given[i] < 0 || given[i] >= shape.rank || seen & (1u << given[i])) {
            return parse_fail(parse, call->at[1], "%s takes each of the axes 0 to %d once",
                              call->function->name, shape.rank - 1);
        }
        seen |= 1u << given[i];
    }
    if (count && !swap && count != shape.rank) {
        return parse_fail(parse, call->at[1], "%s takes all %d axes, or two to swap",
                          call->function->name, shape.rank);
    }
    for (int i = 0; i < shape.rank; i++) {
        axes[i] = !count ? shape.rank - 1 - i : swap ? i : (int)given[i];
    }
    if (swap) {
        axes[given[0]] = (int)given[1];
        axes[given[1]] = (int)given[0];
    }
    *out = operand_tensor(graph_permute(parse->graph, call->value[0].node, axes));
    return STAX_OK;
}

enum stax_status function_transpose_matrix(struct parse *parse, struct call *call,
                                           struct operand *out)
{
    struct graph_shape shape = {0};
    static const int swap[2] = {1, 0};
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    if (shape.rank > 2) {
        return parse_fail(parse, call->span,
                          "t() takes a tensor of at most 2 dims: use transpose(x, axes)");
    }
    *out = shape.rank < 2 ? call->value[0]
                          : operand_tensor(graph_permute(parse->graph, call->value[0].node, swap));
    return STAX_OK;
}

enum stax_status function_expand(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape from = {0}, shape = {0}, both;
    STAX_TRY(function_want_tensor(parse, call, 0, &from));
    STAX_TRY(want_whole_list(parse, call, 1, shape.size, &shape.rank));
    for (int i = 0; i < shape.rank; i++) {
        int source = i - (shape.rank - from.rank);
        if (shape.size[i] == -1 && source >= 0) {
            shape.size[i] = from.size[source];
        }
        if (shape.size[i] < 0) {
            return parse_fail(parse, call->at[1], "a shape has sizes from 0 up");
        }
    }
    if (!graph_broadcast_shape(from, shape, &both) || !graph_same_shape(both, shape)) {
        return parse_fail(parse, call->span, "%s cannot be expanded to %s",
                          graph_shape_text(from, parse->arena),
                          graph_shape_text(shape, parse->arena));
    }
    STAX_TRY(parse_check_size(parse, call->span, shape));
    *out = operand_tensor(graph_expand(parse->graph, call->value[0].node, shape));
    return STAX_OK;
}

enum stax_status function_squeeze(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    unsigned axes = 0, ones = 0;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank, &axes));
    for (int i = 0; i < shape.rank; i++) {
        ones |= shape.size[i] == 1 ? 1u << i : 0;
    }
    *out = operand_tensor(graph_squeeze(parse->graph, call->value[0].node, axes & ones));
    return STAX_OK;
}

enum stax_status function_unsqueeze(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    unsigned axes = 0;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    int added = call->value[1].kind == OPERAND_LIST ? call->value[1].count : 1;
    if (shape.rank + added > IR_MAX_RANK) {
        return parse_fail(parse, call->span, "a tensor has at most %d dims", IR_MAX_RANK);
    }
    STAX_TRY(function_want_axes(parse, call, 1, shape.rank + added, &axes));
    *out = operand_tensor(graph_unsqueeze(parse->graph, call->value[0].node, axes));
    return STAX_OK;
}

enum stax_status function_flatten(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    struct graph_shape flat = {.rank = 1, .size = {graph_elements(shape)}};
    *out = operand_tensor(graph_reshape(parse->graph, call->value[0].node, flat));
    return STAX_OK;
}

/* pad(x, [[before, after], ...]) with zeros; one pair for each of the last dims, as many as are
 * given. */
enum stax_status function_pad(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0}, padded;
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    const struct operand *list = &call->value[1];
    if (list->kind != OPERAND_LIST || list->count > shape.rank) {
        return parse_fail(parse, call->at[1],
                          "pad takes a list of [before, after], at most one for each dim");
    }
    int64_t before[IR_MAX_RANK] = {0}, after[IR_MAX_RANK] = {0};
    padded = shape;
    for (int k = 0; k < list->count; k++) {
        const struct operand *pair = &list->items[k];
        int dim = shape.rank - list->count + k;
        if (pair->kind != OPERAND_LIST || pair->count != 2 || pair->items[0].kind != OPERAND_INT ||
            pair->items[1].kind != OPERAND_INT || pair->items[0].i < 0 || pair->items[1].i < 0 ||
            pair->items[0].i > INT32_MAX || pair->items[1].i > INT32_MAX) {
            return parse_fail(parse, call->at[1],
                              "pad takes pairs [before, after] of whole numbers from 0 up");
        }
        before[dim] = pair->items[0].i;
        after[dim] = pair->items[1].i;
        padded.size[dim] += before[dim] + after[dim];
    }
    STAX_TRY(parse_check_size(parse, call->span, padded));
    *out = operand_tensor(graph_pad(parse->graph, call->value[0].node, before, after));
    return STAX_OK;
}

enum stax_status function_astype(struct parse *parse, struct call *call, struct operand *out)
{
    struct graph_shape shape = {0};
    STAX_TRY(function_want_tensor(parse, call, 0, &shape));
    if (call->value[1].kind != OPERAND_DTYPE) {
        return parse_fail(parse, call->at[1], "%s takes a type such as f32 or bf16, not %s",
                          call->function->name, parse_describe(parse, &call->value[1]));
    }
    *out = operand_tensor(graph_cast(parse->graph, call->value[1].dtype, call->value[0].node));
    return STAX_OK;
}

enum stax_status function_arange(struct parse *parse, struct call *call, struct operand *out)
{
    if (call->value[0].kind != OPERAND_INT || call->value[0].i < 0 ||
        call->value[0].i > GRAPH_MOST_ELEMENTS) {
        return parse_fail(parse, call->at[0], "arange takes a whole number from 0 to 2^59");
    }
    *out = operand_tensor(graph_iota(parse->graph, call->value[0].i));
    return STAX_OK;
}

enum stax_status function_pow(struct parse *parse, struct call *call, struct operand *out)
{
    return parse_binary(parse, call->span, EXPR_OP_POW, call->value, out);
}
