/* Moves between valid configurations. */
#include "search/moves.h"

#include <math.h>

enum {
    SHAKE_TRIES = 64
}; /* chosen: in the sparsest recorded space (1.6 % valid) half of the tries suffice */

struct moves moves_make(const struct space *space, struct arena *arena)
{
    struct moves moves = {.space = space, .params = space_params(space)};
    moves.values = ARENA_ARRAY(arena, int, moves.params);
    moves.other = ARENA_ARRAY(arena, int, moves.params);
    for (int i = 0; i < moves.params; i++) moves.room += space_param(space, i)->count - 1;
    moves.near = ARENA_ARRAY(arena, uint64_t, moves.room);
    return moves;
}

int moves_most(const struct moves *moves)
{
    int most = 1;
    for (int i = 0; i < moves->params; i++)
        if (space_param(moves->space, i)->count > most) most = space_param(moves->space, i)->count;
    return most;
}

/* Where `wanted` is among the values, or the adjacent place in that direction; -1 past the end. */
static int place_of(const struct param *param, int from, double wanted, int direction)
{
    for (int v = 0; v < param->count; v++)
        if (v != from && value_number(&param->values[v]) == wanted) return v;
    int adjacent = from + direction;
    return adjacent >= 0 && adjacent < param->count ? adjacent : -1;
}

int moves_step(struct moves *moves, uint64_t config, int param, uint64_t *out, int capacity)
{
    const struct param *p = space_param(moves->space, param);
    space_unrank(moves->space, config, moves->values);
    int from = moves->values[param], count = 0;
    int down = -1, up = -1;
    if (p->ordered) {
        double here = value_number(&p->values[from]);
        down = place_of(p, from, here / 2, -1);
        up = place_of(p, from, here * 2, +1);
    }
    for (int v = 0; v < p->count; v++) {
        if (v == from || (p->ordered && v != down && v != up)) continue;
        moves->values[param] = v;
        uint64_t rank;
        if (count < capacity && space_rank(moves->space, moves->values, &rank, NULL))
            out[count++] = rank;
    }
    return count;
}

int moves_all(struct moves *moves, uint64_t config, enum space_neighbours kind,
              const uint64_t **out)
{
    *out = moves->near;
    return space_neighbours(moves->space, config, kind, moves->near, moves->room);
}

uint64_t moves_shake(struct moves *moves, uint64_t config, int count, struct rng *rng)
{
    space_unrank(moves->space, config, moves->values);
    for (int t = 0; t < SHAKE_TRIES; t++) {
        for (int i = 0; i < moves->params; i++) moves->other[i] = moves->values[i];
        for (int k = 0; k < count; k++) {
            int i = (int)rng_below(rng, (uint64_t)moves->params);
            moves->other[i] = (int)rng_below(rng, (uint64_t)space_param(moves->space, i)->count);
        }
        uint64_t rank;
        if (space_rank(moves->space, moves->other, &rank, NULL) && rank != config) return rank;
    }
    return config;
}

bool moves_set(struct moves *moves, uint64_t config, int param, int value, struct rng *rng,
               uint64_t *to)
{
    const struct space *space = moves->space;
    space_unrank(space, config, moves->values);
    if (moves->values[param] == value) return false;
    moves->values[param] = value;
    uint64_t rank;
    if (space_rank(space, moves->values, &rank, NULL)) {
        *to = rank;
        return true;
    }
    for (int t = 0; t < SHAKE_TRIES; t++) {
        uint64_t from = space_sample(space, rng);
        space_unrank(space, from, moves->other);
        if (moves->other[param] != value) continue;
        *to = moves_towards(moves, from, config, param, rng);
        return true;
    }
    return false;
}

bool moves_far(struct moves *moves, uint64_t config, struct rng *rng, uint64_t *to)
{
    int param = (int)rng_below(rng, (uint64_t)moves->params);
    int value = (int)rng_below(rng, (uint64_t)space_param(moves->space, param)->count);
    return moves_set(moves, config, param, value, rng, to);
}

/* The value one place on, either way at random where both are there; any other value of an
 * unordered parameter; the same one where it is the only one. */
static int turned(const struct param *param, int from, struct rng *rng)
{
    int last = param->count - 1;
    if (last == 0) return from;
    if (!param->ordered) {
        int to = (int)rng_below(rng, (uint64_t)last);
        return to < from ? to : to + 1;
    }
    if (from == 0) return 1;
    if (from == last) return from - 1;
    return rng_below(rng, 2) ? from + 1 : from - 1;
}

/* A random neighbour of one parameter. */
static bool single(struct moves *moves, uint64_t config, struct rng *rng, uint64_t *to)
{
    const uint64_t *near;
    int count = moves_all(moves, config, SPACE_ANY, &near);
    if (count > 0) *to = near[rng_below(rng, (uint64_t)count)];
    return count > 0;
}

bool moves_near(struct moves *moves, uint64_t config, double turn, struct rng *rng, uint64_t *to)
{
    const struct space *space = moves->space;
    space_unrank(space, config, moves->values);
    for (int t = 0; t < SHAKE_TRIES; t++) {
        int always = (int)rng_below(rng, (uint64_t)moves->params);
        for (int i = 0; i < moves->params; i++) {
            bool turns = i == always || rng_unit(rng) < turn;
            int from = moves->values[i];
            moves->other[i] = turns ? turned(space_param(space, i), from, rng) : from;
        }
        uint64_t rank;
        if (space_rank(space, moves->other, &rank, NULL) && rank != config) {
            *to = rank;
            return true;
        }
    }
    return single(moves, config, rng, to);
}

uint64_t moves_towards(struct moves *moves, uint64_t config, uint64_t goal, int kept,
                       struct rng *rng)
{
    space_unrank(moves->space, config, moves->values);
    space_unrank(moves->space, goal, moves->other);
    bool changed = true;
    while (changed) {
        changed = false;
        int first = (int)rng_below(rng, (uint64_t)moves->params);
        for (int k = 0; k < moves->params; k++) {
            int i = (first + k) % moves->params, old = moves->values[i];
            if (i == kept || old == moves->other[i]) continue;
            moves->values[i] = moves->other[i];
            uint64_t rank;
            if (space_rank(moves->space, moves->values, &rank, NULL)) {
                config = rank;
                changed = true;
            } else {
                moves->values[i] = old;
            }
        }
    }
    return config;
}
