/* Configurations as numbers that a tree can split on. */
#include <math.h>
#include <string.h>

#include "search/forest.h"

enum { CACHE = 16384 }; /* configurations; chosen: about a megabyte */

/* 0, 1, 2...: trees only look at the order. */
static const float *positions(const struct param *param, struct arena *arena)
{
    float *out = ARENA_ARRAY(arena, float, param->count);
    for (int v = 0; v < param->count; v++) out[v] = (float)v;
    return out;
}

/* How often 2 divides each value; NULL where that says no more than the position does: values that
 * are not whole and positive, or all powers of two. */
static const float *halvings(const struct param *param, struct arena *arena)
{
    float *out = ARENA_ARRAY(arena, float, param->count);
    bool mixed = false;
    for (int v = 0; v < param->count; v++) {
        double x = value_number(&param->values[v]);
        if (!param->ordered || !(x >= 1) || x != floor(x) || x > 0x1p53) return NULL;
        int64_t n = (int64_t)x;
        for (; n % 2 == 0; n /= 2) out[v]++;
        mixed = mixed || n != 1;
    }
    return mixed && param->count > 2 ? out : NULL;
}

/* Binary logarithms; NULL for what is not positive, or has two values only (a switch, not a size).
 */
static const float *logarithms(const struct param *param, struct arena *arena)
{
    float *out = ARENA_ARRAY(arena, float, param->count);
    for (int v = 0; v < param->count; v++) {
        double x = value_number(&param->values[v]);
        if (!param->ordered || param->count < 3 || !(x > 0)) return NULL;
        out[v] = (float)log2(x);
    }
    return out;
}

struct features features_make(const struct space *space, struct arena *arena)
{
    int n = space_params(space);
    struct features features = {.space = space};
    features.values = ARENA_ARRAY(arena, int, n);
    features.feature = ARENA_ARRAY(arena, struct feature, 2 * n + n * (n - 1));
    const float **size = ARENA_ARRAY(arena, const float *, n);
    int count = 0;
    for (int i = 0; i < n; i++) {
        const struct param *param = space_param(space, i);
        if (param->count < 2) continue;
        features.feature[count++] = (struct feature){positions(param, arena), NULL, i, i, 0};
        const float *even = halvings(param, arena);
        if (even) features.feature[count++] = (struct feature){even, NULL, i, i, 0};
        size[i] = logarithms(param, arena);
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (size[i] && size[j]) {
                features.feature[count++] = (struct feature){size[i], size[j], i, j, 1};
                features.feature[count++] = (struct feature){size[i], size[j], i, j, -1};
            }
    features.count = count;
    for (features.slots = 1; features.slots < space_count(space) && features.slots < CACHE;)
        features.slots *= 2;
    features.cached = ARENA_ARRAY(arena, uint64_t, features.slots);
    features.cache = ARENA_ARRAY(arena, float, features.slots *(uint64_t)count);
    return features;
}

void features_of(struct features *features, uint64_t config, float *out)
{
    uint64_t slot = config & (features->slots - 1);
    float *cached = features->cache + slot * (uint64_t)features->count;
    if (features->cached[slot] != config + 1) {
        features->cached[slot] = config + 1;
        space_unrank(features->space, config, features->values);
        for (int i = 0; i < features->count; i++) {
            const struct feature *f = &features->feature[i];
            cached[i] = f->first[features->values[f->a]];
            if (f->second) cached[i] += f->sign * f->second[features->values[f->b]];
        }
    }
    memcpy(out, cached, (size_t)features->count * sizeof *out);
}
