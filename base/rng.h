/* A small seeded random generator (PCG32-like state, splitmix64 output) and a counter-based one for
 * data. Same seed, same numbers on every machine; streams are made by hashing a name into the seed.
 */
#ifndef STAX_BASE_RNG_H
#define STAX_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014): the finaliser of element `index` of stream `seed`. */
static inline uint64_t rng_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline struct rng rng_make(uint64_t seed, uint64_t stream)
{
    return (struct rng){rng_mix(seed ^ rng_mix(stream))};
}

static inline uint64_t rng_u64(struct rng *rng)
{
    uint64_t value = rng_mix(rng->state);
    rng->state += 0x9e3779b97f4a7c15ull;
    return value;
}

/* Uniform in [0, bound), without modulo bias (rejection); bound > 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    uint64_t limit = bound * (UINT64_MAX / bound);
    uint64_t value;
    do {
        value = rng_u64(rng);
    } while (value >= limit);
    return value % bound;
}

/* Uniform in [0, 1) with 53 bits. */
static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

#endif
