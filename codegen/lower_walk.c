/* Following a tensor expression down to what it reads, with coordinates substituted through views.
 */
#include <string.h>

#include "codegen/lower.h"

void lower_source(const struct lower *lower, const struct graph_node *view,
                  const struct index *const *at, const int64_t *size, const struct index **source)
{
    struct graph_shape shape = lower->graph->node[view->arg[0]].shape;
    for (int i = 0; i < shape.rank; i++) {
        source[i] = shape.size[i] == 1 && !view->padded
                        ? index_const(lower->arena, 0)
                        : index_replace(lower->arena, view->map[i], at, size);
    }
}

void lower_domain(const struct lower *lower, int reduction, struct group *domain)
{
    const struct graph_node *node = &lower->graph->node[reduction];
    struct graph_shape shape = lower->graph->node[node->arg[0]].shape;
    *domain = (struct group){0};
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < shape.rank; i++) {
            if ((int)(node->axes >> i & 1u) == reduced && shape.size[i] > 1) {
                domain->size[domain->dims++] = shape.size[i];
            }
        }
        domain->xdims = reduced ? domain->xdims : domain->dims;
    }
}

void lower_argument(const struct lower *lower, int reduction, const struct index **at)
{
    const struct graph_node *node = &lower->graph->node[reduction];
    struct graph_shape shape = lower->graph->node[node->arg[0]].shape;
    int var = 0;
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < shape.rank; i++) {
            if ((int)(node->axes >> i & 1u) == reduced) {
                at[i] = shape.size[i] > 1 ? index_var(lower->arena, var++)
                                          : index_const(lower->arena, 0);
            }
        }
    }
}

bool lower_in_place(const struct lower *lower, int reduction, const struct index *const *at)
{
    struct graph_shape shape = lower->graph->node[reduction].shape;
    int var = 0;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.size[i] > 1 && (at[i]->kind != INDEX_VAR || at[i]->var != var++)) {
            return false;
        }
    }
    return true;
}

struct walk {
    const struct lower *lower;
    const int64_t *size;
    struct leaves leaves;
    struct visit {
        const struct visit *next;
        const struct index *at[IR_MAX_RANK];
    } * *visited; /* per graph node */
};

static bool same_place(const struct index *const *a, const struct index *const *b, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (!index_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static bool seen(struct walk *walk, int node, const struct index *const *at)
{
    int rank = walk->lower->graph->node[node].shape.rank;
    for (const struct visit *visit = walk->visited[node]; visit; visit = visit->next) {
        if (same_place(visit->at, at, rank)) {
            return true;
        }
    }
    struct visit *visit = ARENA_NEW(walk->lower->arena, struct visit);
    memcpy(visit->at, at, (size_t)rank * sizeof *at);
    visit->next = walk->visited[node];
    walk->visited[node] = visit;
    return false;
}

static void add_leaf(struct walk *walk, int node, const struct index *const *at)
{
    struct leaves *leaves = &walk->leaves;
    if (leaves->count == leaves->capacity) {
        int capacity = leaves->capacity ? 2 * leaves->capacity : 8;
        leaves->leaf = arena_grow(walk->lower->arena, leaves->leaf, (size_t)leaves->count,
                                  (size_t)capacity, sizeof *leaves->leaf);
        leaves->capacity = capacity;
    }
    struct leaf *leaf = &leaves->leaf[leaves->count++];
    *leaf = (struct leaf){.node = node};
    memcpy(leaf->at, at, (size_t)walk->lower->graph->node[node].shape.rank * sizeof *at);
}

static void follow(struct walk *walk, int number, const struct index *const *at)
{
    const struct graph_node *node = &walk->lower->graph->node[number];
    if (seen(walk, number, at)) {
        return;
    }
    switch (node->kind) {
    case GRAPH_INPUT:
    case GRAPH_REDUCE: add_leaf(walk, number, at); break;
    case GRAPH_CONST:
    case GRAPH_IOTA: break;
    case GRAPH_CAST: follow(walk, node->arg[0], at); break;
    case GRAPH_PURE:
        for (int k = 0; k < ir_op_table[node->op].arity; k++) {
            follow(walk, node->arg[k], at);
        }
        break;
    case GRAPH_VIEW: {
        const struct index *source[IR_MAX_RANK];
        lower_source(walk->lower, node, at, walk->size, source);
        follow(walk, node->arg[0], source);
        break;
    }
    }
}

struct leaves lower_leaves(const struct lower *lower, int node, const struct index *const *at,
                           const int64_t *size)
{
    struct walk walk = {.lower = lower, .size = size};
    walk.visited = (struct visit **)arena_array(lower->arena, (size_t)lower->graph->nodes,
                                                sizeof(struct visit *));
    follow(&walk, node, at);
    return walk.leaves;
}
