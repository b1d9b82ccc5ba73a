/* Views of tensors. Each gives, for every dim of its source, an index over its own dims; lowering
 * substitutes and nothing is moved. */
#include "codegen/graph.h"

int graph_expand(struct graph *graph, int arg, struct graph_shape shape)
{
    struct graph_shape from = graph->node[arg].shape;
    const struct index *map[IR_MAX_RANK];
    for (int i = 0; i < from.rank; i++) {
        map[i] = from.size[i] == 1 ? index_const(graph->arena, 0)
                                   : index_var(graph->arena, i + shape.rank - from.rank);
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_permute(struct graph *graph, int arg, const int *axes)
{
    struct graph_shape from = graph->node[arg].shape, shape = {.rank = from.rank};
    const struct index *map[IR_MAX_RANK];
    for (int k = 0; k < from.rank; k++) {
        shape.size[k] = from.size[axes[k]];
        map[axes[k]] = index_var(graph->arena, k);
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_reshape(struct graph *graph, int arg, struct graph_shape shape)
{
    struct graph_shape from = graph->node[arg].shape;
    struct arena *arena = graph->arena;
    const struct index *flat = index_const(arena, 0), *map[IR_MAX_RANK];
    if (graph_elements(shape) == 0) { /* no point is ever read */
        for (int i = 0; i < from.rank; i++) {
            map[i] = index_const(arena, 0);
        }
        return graph_view(graph, arg, shape, map, false);
    }
    int64_t stride = 1;
    for (int k = shape.rank - 1; k >= 0; k--) {
        flat = index_add(arena, flat,
                         index_mul(arena, index_var(arena, k), shape.size[k] > 1 ? stride : 0));
        stride *= shape.size[k];
    }
    stride = 1;
    for (int i = from.rank - 1; i >= 0; i--) {
        map[i] = index_mod(arena, index_div(arena, flat, stride, shape.size), from.size[i],
                           shape.size);
        stride *= from.size[i];
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_unsqueeze(struct graph *graph, int arg, unsigned axes)
{
    struct graph_shape from = graph->node[arg].shape, shape = {0};
    const struct index *map[IR_MAX_RANK];
    for (int i = 0; i < from.rank;) {
        if (axes & (1u << shape.rank)) {
            shape.size[shape.rank++] = 1;
        } else {
            map[i] = index_var(graph->arena, shape.rank);
            shape.size[shape.rank++] = from.size[i++];
        }
    }
    while (axes & (1u << shape.rank)) {
        shape.size[shape.rank++] = 1;
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_squeeze(struct graph *graph, int arg, unsigned axes)
{
    struct graph_shape from = graph->node[arg].shape, shape = {0};
    const struct index *map[IR_MAX_RANK];
    for (int i = 0; i < from.rank; i++) {
        if (axes & (1u << i)) {
            map[i] = index_const(graph->arena, 0);
        } else {
            map[i] = index_var(graph->arena, shape.rank);
            shape.size[shape.rank++] = from.size[i];
        }
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_slice(struct graph *graph, int arg, const struct graph_part *part, int parts)
{
    struct graph_shape from = graph->node[arg].shape, shape = {0};
    struct arena *arena = graph->arena;
    const struct index *map[IR_MAX_RANK];
    int source = 0;
    for (int p = 0; p < parts; p++) {
        switch (part[p].kind) {
        case GRAPH_PART_NEW: shape.size[shape.rank++] = 1; break;
        case GRAPH_PART_AT: map[source++] = index_const(arena, part[p].start); break;
        case GRAPH_PART_SLICE:
            map[source++] = index_add(arena,
                                      index_mul(arena, index_var(arena, shape.rank), part[p].step),
                                      index_const(arena, part[p].start));
            shape.size[shape.rank++] = part[p].count;
            break;
        }
    }
    for (; source < from.rank; source++) {
        map[source] = index_var(arena, shape.rank);
        shape.size[shape.rank++] = from.size[source];
    }
    return graph_view(graph, arg, shape, map, false);
}

int graph_pad(struct graph *graph, int arg, const int64_t *before, const int64_t *after)
{
    struct graph_shape from = graph->node[arg].shape, shape = {.rank = from.rank};
    const struct index *map[IR_MAX_RANK];
    bool padded = false;
    for (int i = 0; i < from.rank; i++) {
        shape.size[i] = from.size[i] + before[i] + after[i];
        map[i] = index_add(graph->arena, index_var(graph->arena, i),
                           index_const(graph->arena, -before[i]));
        padded = padded || before[i] || after[i];
    }
    if (graph_elements(from) == 0) {
        return graph_expand(graph, graph_const(graph, graph->node[arg].dtype, 0.0), shape);
    }
    return graph_view(graph, arg, shape, map, padded);
}
