/* A small regression forest over configurations, the learned part of `model` and `auto`. Private to
 * search/. */
#ifndef STAX_SEARCH_FOREST_H
#define STAX_SEARCH_FOREST_H

#include "search/strategy.h"

/* How a configuration looks to the model. Of each parameter with a choice: the position of its
 * value, and, where not all values are powers of two, how often 2 divides it (alignment, whole
 * tiles). Of each pair of positive numeric ones: the logarithms of product and quotient (threads of
 * a block, shape of a tile). */
struct features {
    const struct space *space;
    int count;
    struct feature {
        const float *first, *second; /* by value index of the parameter; second may be NULL */
        int a, b;                    /* parameters */
        float sign;                  /* of the second */
    } * feature;
    int *values;    /* scratch: value indices */
    uint64_t slots; /* of a cache by rank, a power of two: pools hold the same configurations again
                       and again */
    uint64_t *cached; /* rank + 1; 0: empty */
    float *cache;
};

struct features features_make(const struct space *space, struct arena *arena);
void features_of(struct features *features, uint64_t config, float *out); /* writes count numbers */

struct forest_options {
    int trees;
    int tries; /* random splits of which the best is taken */
    int rows;  /* a tree sees a random part of at most so many rows */
};

struct forest;
struct forest *forest_create(int features, const struct forest_options *options,
                             struct arena *arena);
/* x: rows x features, y: rows. The same generator state gives the same forest. */
void forest_fit(struct forest *forest, int rows, const float *x, const float *y, struct rng *rng);
/* Mean over the trees, and their standard deviation: how little is known there. */
void forest_predict(const struct forest *forest, int rows, const float *x, float *mean,
                    float *spread);

#endif
