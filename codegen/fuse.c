/* Fusion: which reductions and outputs share a kernel (book 9.5: the whole softmax is one).
 *
 * Reductions over the same domain join when one feeds the other in place or when they read the same
 * elements; an output joins the kernel of a reduction that it uses row by row. Everything pointwise
 * in between is computed where it is needed. Joining never makes two kernels wait for each other,
 * and long lone rows stay apart, because a fused kernel could not be split over the machine. */
#include <string.h>

#include "codegen/lower.h"

/* A fused kernel walks a row in one block, whose processor reads at most what it has in flight: 48
 *KiB a 600 ns latency (book 9.1), 80 bytes a ns. Three passes over 65536 floats then take 10 us,
 *about what the launches of a split cost, and with fewer rows than half of 132 processors a split
 *gains more. Up to 8 rows the compilers' rule for blocks that cooperate on a row, from 32768, is
 *used
 *. */
static bool is_lone(const struct group *group)
{
    double rows = 1.0, length = 1.0;
    for (int d = 0; d < group->dims; d++) {
        *(d < group->xdims ? &rows : &length) *= (double)group->size[d];
    }
    return (rows <= 8 && length >= 32768) || (rows <= 64 && length >= 65536);
}

/* Storing what merely reads the same elements saves a read of them but forbids splitting the rows:
 * only where there are rows enough for two blocks on each of 128 processors (chosen; the split rule
 * stops at twice the processors). */
static bool has_many_rows(const struct group *group)
{
    double rows = 1.0;
    for (int d = 0; d < group->xdims; d++) {
        rows *= (double)group->size[d];
    }
    return rows >= 256;
}

static bool same_domain(const struct group *a, const struct group *b)
{
    return a->dims == b->dims && a->xdims == b->xdims &&
           memcmp(a->size, b->size, (size_t)a->dims * sizeof *a->size) == 0;
}

static bool reaches(const struct lower *lower, int from, int to, bool *seen)
{
    if (from == to) {
        return true;
    }
    if (seen[from]) {
        return false;
    }
    seen[from] = true;
    for (int i = 0; i < lower->group[from].needs; i++) {
        if (reaches(lower, lower->group[from].need[i], to, seen)) {
            return true;
        }
    }
    return false;
}

static bool depends(const struct lower *lower, int from, int on)
{
    bool *seen = ARENA_ARRAY(lower->arena, bool, lower->groups);
    return reaches(lower, from, on, seen);
}

/* Is the leaf a reduction whose value group `g` has at hand? */
static bool at_hand(const struct lower *lower, const struct leaf *leaf, int g)
{
    return lower->graph->node[leaf->node].kind == GRAPH_REDUCE &&
           lower->group_of[leaf->node] == g && lower_in_place(lower, leaf->node, leaf->at);
}

/* May what reads these leaves join group g: would all else that it reads be finished before? */
static bool may_join(const struct lower *lower, const struct leaves *leaves, int g)
{
    for (int i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->leaf[i];
        if (lower->graph->node[leaf->node].kind == GRAPH_REDUCE && !at_hand(lower, leaf, g) &&
            depends(lower, lower->group_of[leaf->node], g)) {
            return false;
        }
    }
    return true;
}

static bool shares_read(const struct lower *lower, const struct leaves *leaves,
                        const struct leaves *others)
{
    for (int i = 0; i < leaves->count; i++) {
        for (int j = 0; j < others->count; j++) {
            const struct leaf *a = &leaves->leaf[i], *b = &others->leaf[j];
            bool same = a->node == b->node && lower->graph->node[a->node].kind == GRAPH_INPUT;
            int rank = lower->graph->node[a->node].shape.rank;
            for (int k = 0; same && k < rank; k++) {
                same = index_equal(a->at[k], b->at[k]);
            }
            if (same && rank > 0) {
                return true;
            }
        }
    }
    return false;
}

static void *appended(struct arena *arena, const void *old, int count, size_t each)
{
    return arena_grow(arena, old, (size_t)count, (size_t)count + 1, each);
}

/* Notes what group g now reads: its inputs, and the groups that must store for it. */
static void add_reads(struct lower *lower, int g, const struct leaves *leaves)
{
    struct group *group = &lower->group[g];
    for (int i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->leaf[i];
        if (lower->graph->node[leaf->node].kind == GRAPH_INPUT) {
            group->reads.leaf = appended(lower->arena, group->reads.leaf, group->reads.count,
                                         sizeof *leaf);
            group->reads.leaf[group->reads.count++] = *leaf;
        } else if (!at_hand(lower, leaf, g)) {
            lower->stored[leaf->node] = true;
            group->need = appended(lower->arena, group->need, group->needs, sizeof *group->need);
            group->need[group->needs++] = lower->group_of[leaf->node];
        }
    }
}

static int add_group(struct lower *lower, const struct group *domain)
{
    if (lower->groups == lower->group_capacity) {
        int capacity = lower->group_capacity ? 2 * lower->group_capacity : 8;
        lower->group = arena_grow(lower->arena, lower->group, (size_t)lower->groups,
                                  (size_t)capacity, sizeof *lower->group);
        lower->group_capacity = capacity;
    }
    lower->group[lower->groups] = *domain;
    return lower->groups++;
}

static void plan_reduction(struct lower *lower, int node)
{
    struct group domain;
    const struct index *at[IR_MAX_RANK];
    lower_domain(lower, node, &domain);
    lower_argument(lower, node, at);
    struct leaves leaves = lower_leaves(lower, lower->graph->node[node].arg[0], at, domain.size);
    int feeds = -1, shares = -1;
    for (int g = 0; g < lower->groups; g++) {
        if (!same_domain(&lower->group[g], &domain) || !may_join(lower, &leaves, g)) {
            continue;
        }
        for (int i = 0; i < leaves.count && !is_lone(&domain); i++) {
            feeds = at_hand(lower, &leaves.leaf[i], g) ? g : feeds;
        }
        bool fed = false; /* joining a row that it also waits for would need a second pass */
        for (int i = 0; i < leaves.count; i++) {
            fed = fed || at_hand(lower, &leaves.leaf[i], g);
        }
        if (!fed && shares_read(lower, &leaves, &lower->group[g].reads)) {
            shares = shares < 0 ? g : shares;
        }
    }
    int g = feeds >= 0 ? feeds : shares >= 0 ? shares : add_group(lower, &domain);
    struct group *group = &lower->group[g];
    group->reduction = appended(lower->arena, group->reduction, group->reductions,
                                sizeof *group->reduction);
    group->reduction[group->reductions++] = node;
    lower->group_of[node] = g;
    add_reads(lower, g, &leaves);
}

/* Own variables of an output: one a dim of more than one point. */
struct canvas {
    int rank, dims;
    int64_t size[IR_MAX_RANK];           /* of the variables */
    const struct index *at[IR_MAX_RANK]; /* coordinates over them */
};

static struct canvas canvas_of(const struct lower *lower, int node)
{
    struct graph_shape shape = lower->graph->node[node].shape;
    struct canvas canvas = {.rank = shape.rank};
    for (int i = 0; i < shape.rank; i++) {
        canvas.at[i] = shape.size[i] > 1 ? index_var(lower->arena, canvas.dims)
                                         : index_const(lower->arena, 0);
        if (shape.size[i] > 1) {
            canvas.size[canvas.dims++] = shape.size[i];
        }
    }
    return canvas;
}

/* Matches the canvas's variables to those of the group of the reduction that `leaf` uses: the
 * variables that address the reduction's result are the x dims; the rest must be none, or the r
 * dims in order. with[v]: canvas variable v as a group variable. */
static bool match_use(const struct lower *lower, const struct canvas *canvas,
                      const struct leaf *leaf, const struct group *group, const struct index **with)
{
    struct graph_shape shape = lower->graph->node[leaf->node].shape;
    int x = 0, r = group->xdims;
    for (int v = 0; v < canvas->dims; v++) {
        with[v] = NULL;
    }
    for (int i = 0; i < shape.rank; i++) {
        if (shape.size[i] == 1) {
            continue;
        }
        const struct index *at = leaf->at[i];
        if (at->kind != INDEX_VAR || with[at->var] || canvas->size[at->var] != shape.size[i]) {
            return false;
        }
        with[at->var] = index_var(lower->arena, x++);
    }
    for (int v = 0; v < canvas->dims; v++) {
        if (!with[v]) {
            if (r == group->dims || group->size[r] != canvas->size[v]) {
                return false;
            }
            with[v] = index_var(lower->arena, r++);
        }
    }
    return r == group->xdims || (r == group->dims && !is_lone(group));
}

/* Matches an output of the shape of the group's first reduction's argument, dim by dim. */
static bool match_argument(const struct lower *lower, const struct canvas *canvas,
                           const struct group *group, const struct index **with)
{
    if (!group->reductions || canvas->dims != group->dims || !has_many_rows(group)) {
        return false;
    }
    int node = group->reduction[0];
    const struct index *at[IR_MAX_RANK];
    struct graph_shape shape = lower->graph->node[lower->graph->node[node].arg[0]].shape;
    lower_argument(lower, node, at);
    int v = 0;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.size[i] > 1) {
            if (canvas->size[v] != shape.size[i]) {
                return false;
            }
            with[v++] = at[i];
        }
    }
    return true;
}

static bool match_pointwise(const struct lower *lower, const struct canvas *canvas,
                            const struct group *group, const struct index **with)
{
    if (group->reductions || canvas->dims != group->dims ||
        memcmp(canvas->size, group->size, (size_t)canvas->dims * sizeof *canvas->size) != 0) {
        return false;
    }
    for (int v = 0; v < canvas->dims; v++) {
        with[v] = index_var(lower->arena, v);
    }
    return true;
}

/* Coordinates of the output over the variables of group g, and its reads from there. */
static struct leaves reads_from(const struct lower *lower, int node, const struct canvas *canvas,
                                const struct index *const *with, const struct group *group,
                                struct placed *placed)
{
    for (int i = 0; i < canvas->rank; i++) {
        placed->at[i] = canvas->dims ? index_replace(lower->arena, canvas->at[i], with, group->size)
                                     : canvas->at[i];
    }
    return lower_leaves(lower, node, placed->at, group->size);
}

static int choose_group(struct lower *lower, int node, const struct canvas *canvas,
                        struct placed *placed, struct leaves *reads)
{
    const struct index *with[IR_MAX_RANK];
    struct leaves own = lower_leaves(lower, node, canvas->at, canvas->size);
    for (int i = own.count - 1; i >= 0;
         i--) { /* the last reductions first: what is nearest to the output */
        const struct leaf *leaf = &own.leaf[i];
        if (lower->graph->node[leaf->node].kind != GRAPH_REDUCE) {
            continue;
        }
        int g = lower->group_of[leaf->node];
        if (match_use(lower, canvas, leaf, &lower->group[g], with)) {
            *reads = reads_from(lower, node, canvas, with, &lower->group[g], placed);
            if (may_join(lower, reads, g)) {
                return g;
            }
        }
    }
    for (int g = 0; g < lower->groups; g++) {
        const struct group *group = &lower->group[g];
        if (match_argument(lower, canvas, group, with) ||
            match_pointwise(lower, canvas, group, with)) {
            *reads = reads_from(lower, node, canvas, with, group, placed);
            if (may_join(lower, reads, g) && shares_read(lower, reads, &group->reads)) {
                return g;
            }
        }
    }
    struct group domain = {.dims = canvas->dims, .xdims = canvas->dims};
    memcpy(domain.size, canvas->size, sizeof canvas->size);
    memcpy(placed->at, canvas->at, sizeof canvas->at);
    *reads = own;
    return add_group(lower, &domain);
}

static void plan_output(struct lower *lower, int output)
{
    int node = lower->graph->output[output].node;
    struct canvas canvas = canvas_of(lower, node);
    struct placed placed = {.output = output};
    struct leaves reads;
    int g = choose_group(lower, node, &canvas, &placed, &reads);
    struct group *group = &lower->group[g];
    group->output = appended(lower->arena, group->output, group->outputs, sizeof placed);
    group->output[group->outputs++] = placed;
    add_reads(lower, g, &reads);
}

static void mark_needed(const struct lower *lower, int node, bool *needed)
{
    if (needed[node]) {
        return;
    }
    needed[node] = true;
    for (int k = 0; k < 3; k++) {
        if (lower->graph->node[node].arg[k] >= 0) {
            mark_needed(lower, lower->graph->node[node].arg[k], needed);
        }
    }
}

static void put_in_order(const struct lower *lower, int g, int *place, struct group *order,
                         int *count)
{
    if (place[g] >= 0) {
        return;
    }
    for (int i = 0; i < lower->group[g].needs; i++) {
        put_in_order(lower, lower->group[g].need[i], place, order, count);
    }
    place[g] = *count;
    order[(*count)++] = lower->group[g];
}

void fuse_plan(struct lower *lower)
{
    const struct graph *graph = lower->graph;
    bool *needed = ARENA_ARRAY(lower->arena, bool, graph->nodes + 1);
    lower->group_of = ARENA_ARRAY(lower->arena, int, graph->nodes + 1);
    lower->stored = ARENA_ARRAY(lower->arena, bool, graph->nodes + 1);
    memset(lower->group_of, -1, (size_t)(graph->nodes + 1) * sizeof *lower->group_of);
    for (int i = 0; i < graph->outputs; i++) {
        if (graph_elements(graph->node[graph->output[i].node].shape) > 0) {
            mark_needed(lower, graph->output[i].node, needed);
        }
    }
    for (int i = 0; i < graph->nodes; i++) {
        if (needed[i] && graph->node[i].kind == GRAPH_REDUCE) {
            plan_reduction(lower, i);
        }
    }
    for (int i = 0; i < graph->outputs; i++) {
        if (graph_elements(graph->node[graph->output[i].node].shape) > 0) {
            plan_output(lower, i);
        }
    }
    int *place = ARENA_ARRAY(lower->arena, int, lower->groups + 1), count = 0;
    struct group *order = ARENA_ARRAY(lower->arena, struct group, lower->groups + 1);
    memset(place, -1, (size_t)(lower->groups + 1) * sizeof *place);
    for (int g = 0; g < lower->groups; g++) {
        put_in_order(lower, g, place, order, &count);
    }
    lower->group = order;
    for (int i = 0; i < graph->nodes; i++) {
        lower->group_of[i] = lower->group_of[i] >= 0 ? place[lower->group_of[i]] : -1;
    }
}
