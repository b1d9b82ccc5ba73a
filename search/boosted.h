/* Gradient-boosted regression trees through the XGBoost C API, the other learner beside forest.h.
 * Private to search/.
 *
 * The library is opened at run time, so that nothing is linked and a tree runs where it is absent.
 * STAX_XGBOOST names another file than libxgboost.so.0, or is `none`. One thread, one seed a fit:
 * the same rows and the same generator state give the same predictions. */
#ifndef STAX_SEARCH_BOOSTED_H
#define STAX_SEARCH_BOOSTED_H

#include "search/strategy.h"

struct boosted_options {
    int boosters; /* fitted to the same targets, each on its own random rows: their spread says how
                     little is known */
    int trees;    /* of a booster */
    int depth;
    int rows;        /* a tree sees a random part of at most so many rows */
    double part;     /* ... and of at most this share of them */
    double features; /* share of them, drawn at random, that each split of a tree may use */
    double eta;      /* shrinkage of a tree */
    double lambda;   /* shrinkage of a leaf: counts as so many rows at the mean */
};

extern const struct boosted_options boosted_defaults;

struct boosted;

/* STAX_UNSUPPORTED when there is no XGBoost; the message says what to install. */
enum stax_status boosted_create(int features, const struct boosted_options *options,
                                struct arena *arena, struct boosted **boosted);
/* x: rows x features, y: rows; at least one row and one feature. STAX_INTERNAL with XGBoost's words
 * when it fails; what was fitted before is lost then. */
enum stax_status boosted_fit(struct boosted *boosted, int rows, const float *x, const float *y,
                             struct rng *rng);
/* Mean over the boosters and their standard deviation; after a fit. */
enum stax_status boosted_predict(struct boosted *boosted, int rows, const float *x, float *mean,
                                 float *spread);

/* "XGBoost 1.7.4 (path)"; NULL when there is none, and the thread's message says why. */
const char *boosted_version(struct arena *arena);

#endif
