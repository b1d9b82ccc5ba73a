/* Text of a tensor graph, for `show --emit graph`. */
#include "codegen/graph.h"

static void print_head(struct text *text, int i, const struct graph_node *node)
{
    text_printf(text, "  t%d: %s%s = ", i, dtype_table[node->dtype].name,
                graph_shape_text(node->shape, text->arena));
}

static void print_maps(struct text *text, const struct graph *graph, const struct graph_node *node)
{
    static const char *const names[IR_MAX_RANK] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    int rank = node->kind == GRAPH_IOTA ? 1 : graph->node[node->arg[0]].shape.rank;
    text_add(text, "[");
    for (int k = 0; k < rank; k++) {
        text_add(text, k ? ", " : "");
        index_print(text, node->map[k], names);
    }
    text_add(text, node->padded ? "] or 0" : "]");
}

static void print_reduce(struct text *text, const struct graph_node *node)
{
    text_printf(text, "%s t%d over dims", ir_reduction_table[node->reduction].name, node->arg[0]);
    for (int k = 0; k < IR_MAX_RANK; k++) {
        if (node->axes & (1u << k)) {
            text_printf(text, " %d", k);
        }
    }
}

void graph_print(struct text *text, const struct graph *graph)
{
    text_printf(text, "graph %s\n", graph->name);
    for (int i = 0; i < graph->nodes; i++) {
        const struct graph_node *node = &graph->node[i];
        print_head(text, i, node);
        switch (node->kind) {
        case GRAPH_INPUT: text_printf(text, "input %s", graph->input[node->input].name); break;
        case GRAPH_CONST: text_printf(text, "const %.17g", node->constant); break;
        case GRAPH_IOTA: text_add(text, "iota"); break;
        case GRAPH_CAST: text_printf(text, "cast t%d", node->arg[0]); break;
        case GRAPH_VIEW:
            text_printf(text, "view t%d", node->arg[0]);
            print_maps(text, graph, node);
            break;
        case GRAPH_REDUCE: print_reduce(text, node); break;
        case GRAPH_PURE:
            text_add(text, ir_op_table[node->op].name);
            for (int k = 0; k < ir_op_table[node->op].arity; k++) {
                text_printf(text, " t%d", node->arg[k]);
            }
            break;
        }
        text_add(text, "\n");
    }
    for (int i = 0; i < graph->outputs; i++) {
        text_printf(text, "  return %s t%d\n", dtype_table[graph->output[i].dtype].name,
                    graph->output[i].node);
    }
}
