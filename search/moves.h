/* Moves of one parameter, and random moves, inside the valid configurations. Private to search/. */
#ifndef STAX_SEARCH_MOVES_H
#define STAX_SEARCH_MOVES_H

#include "search/strategy.h"

struct moves {
    const struct space *space;
    int params;
    int *values, *other; /* scratch: value indices */
    uint64_t *near;      /* scratch: neighbours */
    int room;
};

struct moves moves_make(const struct space *space, struct arena *arena);
/* Valid neighbours in one parameter (DESIGN: ordered numeric values times and over 2, the adjacent
 * one where that is absent; every other value of a categorical one), in ascending order of the
 * value; returns how many. */
int moves_step(struct moves *moves, uint64_t config, int param, uint64_t *out, int capacity);
int moves_most(const struct moves
                   *moves); /* greatest number of values of a parameter: capacity for moves_step */
/* All neighbours in one parameter (SPACE_STEP or SPACE_ANY), ascending; *out is valid until the
 * next call. */
int moves_all(struct moves *moves, uint64_t config, enum space_neighbours kind,
              const uint64_t **out);
/* A valid configuration that differs from `config` in up to `count` random parameters; `config`
 * itself when none of a few tries is valid. */
uint64_t moves_shake(struct moves *moves, uint64_t config, int count, struct rng *rng);
/* Sets one parameter to a value; where constraints forbid that alone, the others follow: from a
 * random configuration that has the value, as near to `config` as a walk comes. False when it has
 * the value already or none of a few draws does. */
bool moves_set(struct moves *moves, uint64_t config, int param, int value, struct rng *rng,
               uint64_t *to);
/* A random parameter set to a random value. */
bool moves_far(struct moves *moves, uint64_t config, struct rng *rng, uint64_t *to);
/* A random valid neighbour in which one parameter moves by one place and every other one does with
 * probability `turn` (an unordered one to any other value). Drawn until valid, never listed: there
 * are up to 3^k. After a few tries one parameter alone, to any value; false when none is valid. */
bool moves_near(struct moves *moves, uint64_t config, double turn, struct rng *rng, uint64_t *to);

/* Walks from `config` towards `goal`, one parameter after the other as long as what comes out is
 * valid, and leaves `kept` alone: what differs from `goal` in the end is what `kept` needs. */
uint64_t moves_towards(struct moves *moves, uint64_t config, uint64_t goal, int kept,
                       struct rng *rng);

#endif
