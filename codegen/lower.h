/* What planning (fuse.c), walking (lower_walk.c) and building (lower.c) of fused kernels share.
 * Private to them.
 *
 * A group becomes one kernel. Its variables are first the x dims, then the r dims, all of more than
 * one point. Every reduction belongs to one group; an output is stored by one group. What a group
 * needs from another goes through a scratch buffer. */
#ifndef STAX_CODEGEN_LOWER_H
#define STAX_CODEGEN_LOWER_H

#include "codegen/graph.h"

enum { GROUP_MOST_DIMS = 2 * IR_MAX_RANK };

/* What an expression reads at the end: an input's element, or a reduction's result at some place.
 */
struct leaf {
    int node; /* INPUT or REDUCE */
    const struct index *at[IR_MAX_RANK];
};

struct leaves {
    struct leaf *leaf;
    int count, capacity;
};

struct placed {
    int output;                          /* of the graph */
    const struct index *at[IR_MAX_RANK]; /* the output's coordinates over the group's variables */
};

struct group {
    int dims, xdims;
    int64_t size[GROUP_MOST_DIMS];
    int *reduction; /* graph nodes */
    int reductions;
    struct placed *output;
    int outputs;
    int *need; /* groups whose results it reads */
    int needs;
    struct leaves reads; /* INPUT leaves only: for sharing */
};

struct lower {
    const struct graph *graph;
    struct arena *arena;
    struct group *group;
    int groups, group_capacity;
    int *group_of; /* graph node (REDUCE) to its group, -1 for others */
    bool *stored;  /* graph node (REDUCE): another group reads it */
};

/* ---- lower_walk.c ---- */
/* Reads of `node` at coordinates over variables of `size`, each once. */
struct leaves lower_leaves(const struct lower *lower, int node, const struct index *const *at,
                           const int64_t *size);
/* Coordinates of a VIEW's source. */
void lower_source(const struct lower *lower, const struct graph_node *view,
                  const struct index *const *at, const int64_t *size, const struct index **source);
/* Coordinates of a reduction's argument over its group's variables. */
void lower_argument(const struct lower *lower, int reduction, const struct index **at);
/* x and r sizes of a reduction's domain, dims of one point left out. */
void lower_domain(const struct lower *lower, int reduction, struct group *domain);
/* Are the coordinates of a reduction's result the x variables of its own group, in order? */
bool lower_in_place(const struct lower *lower, int reduction, const struct index *const *at);

/* ---- fuse.c ---- */
/* Puts reductions and outputs into groups, in the order in which their kernels must run. */
void fuse_plan(struct lower *lower);

#endif
