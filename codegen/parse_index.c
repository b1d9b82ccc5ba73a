/* x[...]: whole indices, slices with steps of either sign, and None for a new dim, as in NumPy. */
#include "codegen/parse.h"

static enum stax_status whole_or(struct parse *parse, const struct expr *expr, int64_t absent,
                                 int64_t *out)
{
    struct operand value;
    STAX_TRY(parse_value(parse, expr, &value));
    if (value.kind == OPERAND_NONE) {
        *out = absent;
        return STAX_OK;
    }
    if (value.kind != OPERAND_INT) {
        return parse_fail(parse, expr->span, "expected a whole number here, not %s",
                          parse_describe(parse, &value));
    }
    *out = value.i;
    return STAX_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Python's rule for slice(start, stop, step).indices(size). */
static enum stax_status slice(struct parse *parse, const struct expr *expr, int64_t size,
                              struct graph_part *part)
{
    int64_t step = 1, start = 0, stop = 0;
    STAX_TRY(whole_or(parse, expr->kids[2], 1, &step));
    if (step == 0) {
        return parse_fail(parse, expr->span, "a slice needs a step that is not 0");
    }
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    STAX_TRY(whole_or(parse, expr->kids[0], step > 0 ? low : high, &start));
    STAX_TRY(whole_or(parse, expr->kids[1], INT64_MIN, &stop));
    /* Only a bound that was written counts from the end. */
    bool open = stop == INT64_MIN;
    start = clamp(start < 0 && expr->kids[0]->kind != EXPR_NONE ? start + size : start, low, high);
    stop = open ? (step > 0 ? high : low) : clamp(stop < 0 ? stop + size : stop, low, high);
    int64_t span = step > 0 ? stop - start : start - stop;
    int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
    *part = (struct graph_part){GRAPH_PART_SLICE, start, step,
                                span > 0 ? (span - 1) / stride + 1 : 0};
    if (part->count <= 1) {
        part->step = 1; /* the only element is at the start */
    }
    return STAX_OK;
}

static enum stax_status at(struct parse *parse, const struct expr *expr,
                           const struct operand *value, int64_t size, struct graph_part *part)
{
    if (value->kind != OPERAND_INT) {
        return parse_fail(parse, expr->span, "an index is a whole number, a slice or None, not %s",
                          parse_describe(parse, value));
    }
    int64_t where = value->i < 0 ? value->i + size : value->i;
    if (where < 0 || where >= size) {
        return parse_fail(parse, expr->span, "index %lld is outside a dim of %lld",
                          (long long)value->i, (long long)size);
    }
    *part = (struct graph_part){GRAPH_PART_AT, where, 1, 1};
    return STAX_OK;
}

static enum stax_status index_list(struct parse *parse, const struct expr *expr,
                                   const struct operand *list, struct operand *out)
{
    struct operand which;
    if (expr->count != 2) {
        return parse_fail(parse, expr->span, "a list takes one index");
    }
    STAX_TRY(parse_value(parse, expr->kids[1], &which));
    struct graph_part part = {0};
    STAX_TRY(at(parse, expr->kids[1], &which, list->count, &part));
    *out = list->items[part.start];
    return STAX_OK;
}

enum stax_status parse_index(struct parse *parse, const struct expr *expr,
                             const struct operand *value, struct operand *out)
{
    if (value->kind == OPERAND_LIST) {
        return index_list(parse, expr, value, out);
    }
    if (value->kind != OPERAND_TENSOR) {
        return parse_fail(parse, expr->span, "%s cannot be indexed", parse_describe(parse, value));
    }
    struct graph_shape shape = parse->graph->node[value->node].shape;
    struct graph_part part[2 * IR_MAX_RANK];
    int source = 0, rank = shape.rank, parts = 0;
    for (int k = 1; k < expr->count; k++, parts++) {
        const struct expr *kid = expr->kids[k];
        struct operand each = {.kind = OPERAND_NONE};
        if (kid->kind != EXPR_SLICE) {
            STAX_TRY(parse_value(parse, kid, &each));
        }
        bool new = kid->kind != EXPR_SLICE &&each.kind == OPERAND_NONE;
        if (new && (rank == IR_MAX_RANK || parts == 2 * IR_MAX_RANK - 1)) {
            return parse_fail(parse, kid->span, "a tensor has at most %d dims", IR_MAX_RANK);
        }
        if (!new &&source == shape.rank) {
            return parse_fail(parse, kid->span, "too many indices: the tensor has %d dims",
                              shape.rank);
        }
        if (new) {
            part[parts] = (struct graph_part){GRAPH_PART_NEW, 0, 1, 1};
            rank++;
        } else if (kid->kind == EXPR_SLICE) {
            STAX_TRY(slice(parse, kid, shape.size[source++], &part[parts]));
        } else {
            STAX_TRY(at(parse, kid, &each, shape.size[source++], &part[parts]));
            rank--;
        }
    }
    *out = (struct operand){.kind = OPERAND_TENSOR,
                            .node = graph_slice(parse->graph, value->node, part, parts)};
    return STAX_OK;
}
