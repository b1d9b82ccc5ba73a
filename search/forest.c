/* Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): random thresholds, the best of a few
 * taken. A fit sorts nothing, so it is linear in the rows a level, and the trees' disagreement says
 * where little is known. */
#include "search/forest.h"

#include <math.h>

enum {
    LANES = 8, /* rows walked down a tree at once: hides the latency of each step (measured: 2.4
                  times faster) */
    REFRESH =
        3, /* one tree in so many is grown anew a round, once trees see a part of the rows only */
    DRAWS = 3, /* pairs of rows tried for two different values of a feature; chosen */
};

/* A leaf is its own left child and nothing exceeds its threshold, so walks need no test for the
 * end. */
struct node {
    int feature, left; /* right is left + 1 */
    float threshold, value;
};

struct tree {
    int root, depth;
};

struct forest {
    int features;
    struct forest_options options;
    struct arena *arena;
    struct node *node; /* of all trees, one after the other */
    struct tree *tree;
    int nodes;       /* used, of the tree being grown */
    int tree_room;   /* nodes of one tree */
    int grown, next; /* trees there are; the oldest */
    int *row;        /* scratch: rows of the tree being grown */
    int row_room;
};

/* What a fit reads. */
struct fit {
    struct forest *forest;
    const float *x, *y;
    struct rng *rng;
};

struct split {
    int feature;
    float threshold, gain;
};

struct forest *forest_create(int features, const struct forest_options *options,
                             struct arena *arena)
{
    struct forest *forest = ARENA_NEW(arena, struct forest);
    forest->features = features;
    forest->options = *options;
    forest->arena = arena;
    forest->tree = ARENA_ARRAY(arena, struct tree, options->trees);
    return forest;
}

static float at(const struct fit *fit, int row, int feature)
{
    return fit->x[(size_t)row * (size_t)fit->forest->features + (size_t)feature];
}

static int pick(const struct fit *fit, int below)
{
    return (int)rng_below(fit->rng, (uint64_t)below);
}

/* A random threshold between two of the rows; false when the feature seems to be constant. */
static bool threshold(const struct fit *fit, const int *row, int rows, int feature, float *cut)
{
    for (int d = 0; d < DRAWS; d++) {
        float u = at(fit, row[pick(fit, rows)], feature);
        float v = at(fit, row[pick(fit, rows)], feature);
        *cut = u + (float)rng_unit(fit->rng) * (v - u);
        if (u != v) return true;
    }
    return false;
}

/* Between-group sum of squares, up to a factor that is the same for all splits of a node; -1:
 * nothing separated. */
static float gain_of(const struct fit *fit, const int *row, int rows, int feature, float cut)
{
    float sum[2] = {0, 0};
    int count[2] = {0, 0};
    for (int i = 0; i < rows; i++) {
        int side = at(fit, row[i], feature) > cut;
        sum[side] += fit->y[row[i]];
        count[side]++;
    }
    if (count[0] == 0 || count[1] == 0) return -1;
    float gap = sum[0] / (float)count[0] - sum[1] / (float)count[1];
    return gap * gap * (float)count[0] * (float)count[1];
}

static struct split choose(const struct fit *fit, const int *row, int rows)
{
    struct split best = {.gain = -1};
    for (int t = 0; t < fit->forest->options.tries; t++) {
        int feature = pick(fit, fit->forest->features);
        float cut;
        if (!threshold(fit, row, rows, feature, &cut)) continue;
        float gain = gain_of(fit, row, rows, feature, cut);
        if (gain > best.gain) best = (struct split){feature, cut, gain};
    }
    return best;
}

static int partition(const struct fit *fit, int *row, int rows, const struct split *split)
{
    int left = 0;
    for (int i = 0; i < rows; i++)
        if (at(fit, row[i], split->feature) <= split->threshold) {
            int swap = row[left];
            row[left++] = row[i];
            row[i] = swap;
        }
    return left;
}

static bool all_equal(const struct fit *fit, const int *row, int rows)
{
    for (int i = 1; i < rows; i++)
        if (fit->y[row[i]] != fit->y[row[0]]) return false;
    return true;
}

/* Grows the tree below node `here` and returns its depth. */
static int grow(const struct fit *fit, int here, int *row, int rows)
{
    struct forest *forest = fit->forest;
    struct split split = {.gain = -1};
    if (!all_equal(fit, row, rows)) split = choose(fit, row, rows);
    if (split.gain < 0) {
        float sum = 0;
        for (int i = 0; i < rows; i++) sum += fit->y[row[i]];
        forest->node[here] = (struct node){0, here, INFINITY, sum / (float)rows};
        return 0;
    }
    int left = partition(fit, row, rows, &split);
    int child = forest->nodes;
    forest->nodes += 2;
    forest->node[here] = (struct node){split.feature, child, split.threshold, 0};
    int a = grow(fit, child, row, left);
    int b = grow(fit, child + 1, row + left, rows - left);
    return 1 + (a > b ? a : b);
}

/* Room for the trees' nodes: a tree of n rows has at most 2 n - 1, and every tree has its own
 * place. */
static void reserve(struct forest *forest, int rows, int taken)
{
    if (2 * taken > forest->tree_room) {
        forest->tree_room = 4 * taken < 2 * forest->options.rows ? 4 * taken
                                                                 : 2 * forest->options.rows;
        forest->node = ARENA_ARRAY(forest->arena, struct node,
                                   (size_t)forest->tree_room * (size_t)forest->options.trees);
        forest->grown = 0; /* old trees are gone */
    }
    if (rows > forest->row_room) {
        forest->row_room = 2 * rows;
        forest->row = ARENA_ARRAY(forest->arena, int, forest->row_room);
    }
}

static void grow_tree(const struct fit *fit, int t, int rows, int taken)
{
    struct forest *forest = fit->forest;
    for (int i = 0; i < rows; i++) forest->row[i] = i;
    for (int i = 0; i < taken && taken < rows; i++) {
        int j = i + pick(fit, rows - i);
        int swap = forest->row[i];
        forest->row[i] = forest->row[j];
        forest->row[j] = swap;
    }
    struct tree *tree = &forest->tree[t];
    tree->root = t * forest->tree_room;
    forest->nodes = tree->root + 1;
    tree->depth = grow(fit, tree->root, forest->row, taken);
}

void forest_fit(struct forest *forest, int rows, const float *x, const float *y, struct rng *rng)
{
    int trees = forest->options.trees;
    int taken = rows < forest->options.rows ? rows : forest->options.rows;
    reserve(forest, rows, taken);
    struct fit fit = {forest, x, y, rng};
    /* All trees while every row is news; later only some each time, so that none is older than a
     * few rounds. */
    int fresh = taken < rows && forest->grown == trees ? (trees + REFRESH - 1) / REFRESH : trees;
    for (int k = 0; k < fresh; k++) {
        grow_tree(&fit, forest->next, rows, taken);
        forest->next = (forest->next + 1) % trees;
        if (forest->grown < trees) forest->grown++;
    }
}

/* Walks up to LANES rows down one tree and adds what the leaves say. */
static void walk(const struct forest *forest, const struct tree *tree, int rows, const float *x,
                 float *sum, float *squares)
{
    const struct node *node = forest->node;
    size_t width = (size_t)forest->features;
    int here[LANES];
    for (int k = 0; k < LANES; k++) here[k] = tree->root;
    for (int d = 0; d < tree->depth; d++)
        for (int k = 0; k < rows; k++) {
            const struct node *n = &node[here[k]];
            here[k] = n->left + (x[(size_t)k * width + (size_t)n->feature] > n->threshold);
        }
    for (int k = 0; k < rows; k++) {
        float value = node[here[k]].value;
        sum[k] += value;
        squares[k] += value * value;
    }
}

void forest_predict(const struct forest *forest, int rows, const float *x, float *mean,
                    float *spread)
{
    float trees = (float)forest->options.trees;
    for (int i = 0; i < rows; i++) mean[i] = spread[i] = 0;
    for (int t = 0; t < forest->options.trees; t++) {
        int i = 0;
        for (; i + LANES <= rows; i += LANES)
            walk(forest, &forest->tree[t], LANES, x + (size_t)i * (size_t)forest->features,
                 mean + i, spread + i);
        walk(forest, &forest->tree[t], rows - i, x + (size_t)i * (size_t)forest->features, mean + i,
             spread + i);
    }
    for (int i = 0; i < rows; i++) {
        mean[i] /= trees;
        float variance = spread[i] / trees - mean[i] * mean[i];
        spread[i] = variance > 0 ? sqrtf(variance) : 0;
    }
}
