/* Rank, unrank, sampling and neighbours: each follows one path of a tree or a few. */
#include <stdlib.h>
#include <string.h>

#include "base/space_impl.h"

/* The last edge of a node with `before` <= rank. */
static const struct space_edge *edge_at_rank(const struct space_tree *tree, uint32_t node,
                                             uint64_t rank)
{
    const struct space_edge *edges = &tree->edges[tree->nodes[node].first];
    uint32_t low = 0, high = tree->nodes[node].edges;
    while (high - low > 1) {
        uint32_t half = low + (high - low) / 2;
        if (edges[half].before <= rank) {
            low = half;
        } else {
            high = half;
        }
    }
    return &edges[low];
}

/* The edge of a node with a value, or NULL. */
static const struct space_edge *edge_of_value(const struct space_tree *tree, uint32_t node,
                                              int value)
{
    const struct space_edge *edges = &tree->edges[tree->nodes[node].first];
    uint32_t low = 0, high = tree->nodes[node].edges;
    while (low < high) {
        uint32_t half = low + (high - low) / 2;
        if (edges[half].value == (uint32_t)value) {
            return &edges[half];
        }
        if (edges[half].value < (uint32_t)value) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return NULL;
}

static uint64_t rank_in_tree(const struct space_tree *tree, uint64_t config)
{
    return config / tree->stride % tree->count;
}

void space_unrank(const struct space *space, uint64_t config, int *values)
{
    STAX_CHECK(space->finished && config < space->total);
    for (int t = 0; t < space->trees; t++) {
        const struct space_tree *tree = &space->tree[t];
        uint64_t rank = rank_in_tree(tree, config);
        uint32_t node = tree->root;
        for (int level = 0; level < tree->levels; level++) {
            const struct space_edge *edge = edge_at_rank(tree, node, rank);
            values[tree->params[level]] = (int)edge->value;
            rank -= edge->before;
            node = edge->child;
        }
    }
}

const struct value *space_value(const struct space *space, uint64_t config, int param)
{
    STAX_CHECK(space->finished && config < space->total && param >= 0 && param < space->count);
    const struct space_tree *tree = &space->tree[space->tree_of[param]];
    uint64_t rank = rank_in_tree(tree, config);
    uint32_t node = tree->root;
    for (int level = 0;; level++) {
        const struct space_edge *edge = edge_at_rank(tree, node, rank);
        if (level == space->level_of[param]) {
            return &space->params[param].values[edge->value];
        }
        rank -= edge->before;
        node = edge->child;
    }
}

static bool rank_tree(const struct space_tree *tree, const int *values, uint64_t *rank)
{
    uint32_t node = tree->root;
    *rank = 0;
    for (int level = 0; level < tree->levels; level++) {
        const struct space_edge *edge = edge_of_value(tree, node, values[tree->params[level]]);
        if (!edge) {
            return false;
        }
        *rank += edge->before;
        node = edge->child;
    }
    return tree->count > 0;
}

static const char *find_broken(const struct space *space, const int *values)
{
    struct space_choice choice = {space, values};
    struct arena *scratch = arena_create();
    const char *broken = "the configuration is not among the recorded ones";
    for (int c = 0; c < space->constraints && !space->restricted; c++) {
        struct value value;
        enum stax_status status = expr_eval("constraint", space->constraint[c].expr, space_lookup,
                                            &choice, scratch, &value);
        if (status != STAX_OK || !value_true(&value)) {
            broken = space->constraint[c].text;
            break;
        }
    }
    arena_destroy(scratch);
    return broken;
}

bool space_rank(const struct space *space, const int *values, uint64_t *config, const char **broken)
{
    STAX_CHECK(space->finished);
    bool valid = space->total > 0;
    *config = 0;
    for (int p = 0; p < space->count; p++) {
        if (values[p] < 0 || values[p] >= space->params[p].count) {
            if (broken) {
                *broken = "a value index is outside its parameter";
            }
            return false;
        }
    }
    for (int t = 0; t < space->trees && valid; t++) {
        uint64_t rank;
        valid = rank_tree(&space->tree[t], values, &rank);
        *config += valid ? rank * space->tree[t].stride : 0;
    }
    if (!valid && broken) {
        *broken = find_broken(space, values);
    }
    return valid;
}

uint64_t space_sample(const struct space *space, struct rng *rng)
{
    STAX_CHECK(space->finished && space->total > 0);
    return rng_below(rng, space->total);
}

int space_neighbours_most(const struct space *space)
{
    int most = 0;
    for (int p = 0; p < space->count; p++) {
        most += space->params[p].count - 1;
    }
    return most;
}

/* Index of a number among the ascending values of an ordered parameter, or -1. */
static int index_of_number(const struct param *param, const struct value *number)
{
    int low = 0, high = param->count;
    while (low < high) {
        int half = low + (high - low) / 2;
        if (value_equal(&param->values[half], number)) {
            return half;
        }
        if (value_number(&param->values[half]) < value_number(number)) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return -1;
}

static struct value scaled(const struct value *value, bool up)
{
    struct value out = *value;
    out.f = up ? 2 * value->f : value->f / 2;
    if (value->kind == VALUE_INT) {
        bool fits = up ? !__builtin_mul_overflow(value->i, (int64_t)2, &out.i) : value->i % 2 == 0;
        if (!fits) {
            out.i = value->i; /* stays where it is: there is no such value */
        } else if (!up) {
            out.i = value->i / 2;
        }
        out.f = (double)out.i;
    }
    return out;
}

/* Index of the value times or over 2, of the adjacent one where the set lacks that, or -1. `up` is
 * the direction of the index: for a negative value that is over 2. */
static int step_from(const struct param *param, int at, bool up)
{
    const struct value *value = &param->values[at];
    struct value other = scaled(value, up == (value_number(value) > 0));
    int to = index_of_number(param, &other);
    if (to == at || to < 0) {
        to = up ? at + 1 : at - 1;
    }
    return to < param->count ? to : -1;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct walk {
    const struct space *space;
    uint64_t config;
    int values[SPACE_PARAMS];
    uint64_t *out;
    int count, capacity;
};

/* Adds the configuration with one parameter changed, where it is valid: only its own tree is asked.
 */
static void try_value(struct walk *w, int param, int value)
{
    const struct space_tree *tree = &w->space->tree[w->space->tree_of[param]];
    int kept = w->values[param];
    uint64_t rank;
    w->values[param] = value;
    if (value >= 0 && value != kept && rank_tree(tree, w->values, &rank)) {
        uint64_t base = w->config - rank_in_tree(tree, w->config) * tree->stride;
        STAX_CHECK(w->count < w->capacity);
        w->out[w->count++] = base + rank * tree->stride;
    }
    w->values[param] = kept;
}

/* All values within one place, through the trees: later trees turn fastest, so ranks come out
 * ascending. */
static void near(struct walk *w, int t, int level, uint32_t node, uint64_t rank)
{
    if (t == w->space->trees) {
        if (rank != w->config && w->count < w->capacity) {
            w->out[w->count++] = rank;
        }
        return;
    }
    const struct space_tree *tree = &w->space->tree[t];
    if (level == tree->levels) {
        uint32_t root = t + 1 < w->space->trees ? w->space->tree[t + 1].root : 0;
        near(w, t + 1, 0, root, rank);
        return;
    }
    int value = w->values[tree->params[level]];
    for (int to = value - 1; to <= value + 1 && w->count < w->capacity; to++) {
        const struct space_edge *edge = to < 0 ? NULL : edge_of_value(tree, node, to);
        if (edge) {
            near(w, t, level + 1, edge->child, rank + edge->before * tree->stride);
        }
    }
}

int space_neighbours(const struct space *space, uint64_t config, enum space_neighbours kind,
                     uint64_t *out, int capacity)
{
    enum { ROOM = 512 };
    uint64_t room[ROOM];
    struct walk w = {.space = space, .config = config, .out = out, .capacity = capacity};
    space_unrank(space, config, w.values);
    if (kind == SPACE_ADJACENT) {
        near(&w, 0, 0, space->trees ? space->tree[0].root : 0, 0);
        return w.count;
    }
    int most = space_neighbours_most(space);
    struct arena *scratch = most > capacity && most > ROOM ? arena_create() : NULL;
    if (most > capacity) { /* the first ones are known only after sorting them all */
        w.out = scratch ? ARENA_ARRAY(scratch, uint64_t, most) : room;
        w.capacity = most;
    }
    for (int p = 0; p < space->count; p++) {
        const struct param *param = &space->params[p];
        if (kind == SPACE_STEP && param->ordered) {
            int down = step_from(param, w.values[p], false),
                up = step_from(param, w.values[p], true);
            try_value(&w, p, down);
            try_value(&w, p, up);
            continue;
        }
        for (int v = 0; v < param->count; v++) {
            try_value(&w, p, v);
        }
    }
    qsort(w.out, (size_t)w.count, sizeof *w.out, ascending);
    int count = w.count < capacity ? w.count : capacity;
    if (w.out != out && count > 0) {
        memcpy(out, w.out, (size_t)count * sizeof *out);
    }
    arena_destroy(scratch);
    return count;
}
