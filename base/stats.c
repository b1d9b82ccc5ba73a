/* Order statistics, and the draws that a guarantee about the best fraction needs; see stats.h. */
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A sorted copy: in `room` where it fits, else in `*scratch`, which the caller destroys. */
enum { ROOM = 128 }; /* covers the usual sample counts (chosen) */

static double *sorted(const double *samples, int n, double *room, struct arena **scratch)
{
    *scratch = n > ROOM ? arena_create() : NULL;
    double *copy = *scratch ? ARENA_ARRAY(*scratch, double, n) : room;
    if (n > 0) {
        memcpy(copy, samples, (size_t)n * sizeof *copy);
        qsort(copy, (size_t)n, sizeof *copy, ascending);
    }
    return copy;
}

static double middle(const double *sorted, int n)
{
    if (n == 0) {
        return NAN;
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double at_quantile(const double *sorted, int n, double q)
{
    if (n == 0) {
        return NAN;
    }
    long rank = lround(q * (n - 1));
    return sorted[rank < 0 ? 0 : rank >= n ? n - 1 : rank];
}

double stats_median(const double *samples, int n)
{
    struct arena *scratch;
    double room[ROOM];
    double median = middle(sorted(samples, n, room, &scratch), n);
    arena_destroy(scratch);
    return median;
}

double stats_quantile(const double *samples, int n, double q)
{
    struct arena *scratch;
    double room[ROOM];
    double quantile = at_quantile(sorted(samples, n, room, &scratch), n, q);
    arena_destroy(scratch);
    return quantile;
}

/* [x_(l), x_(n+1-l)] misses the median with probability 2 P(B <= l - 1), B ~ Binomial(n, 1/2); the
 * greatest such l is taken. The sum starts where its terms first matter: below 2^-1000 nothing adds
 * to a probability near 0.01. */
void stats_median_ranks(int n, double confidence, int *low, int *high)
{
    double tail = 0, most = (1 - confidence) / 2;
    *low = 0;
    int k = 0;
    double start = -n * M_LN2;
    while (start < -1000 * M_LN2 && k < n / 2) { /* ln of the term at k */
        start += log((double)(n - k) / (k + 1));
        k++;
    }
    double term = exp(start);
    for (; k < n; k++) {
        tail += term;
        if (tail > most * (1 + 1e-12)) { /* equality up to rounding still holds */
            break;
        }
        *low = k + 1;
        term *= (double)(n - k) / (k + 1);
    }
    if (2 * *low > n) { /* only for a confidence near 0 */
        *low = (n + 1) / 2;
    }
    *high = *low ? n + 1 - *low : 0;
}

struct summary stats_summary(const double *samples, int n, double confidence)
{
    struct summary out = {.n = n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n <= 0) {
        return out;
    }
    struct arena *scratch;
    double room[ROOM];
    const double *x = sorted(samples, n, room, &scratch);
    int low, high;
    stats_median_ranks(n, confidence, &low, &high);
    out.median = middle(x, n);
    out.low = low ? x[low - 1] : x[0];
    out.high = low ? x[high - 1] : x[n - 1];
    out.min = x[0];
    out.max = x[n - 1];
    out.q1 = at_quantile(x, n, 0.25);
    out.q3 = at_quantile(x, n, 0.75);
    out.mean = 0;
    for (int i = 0; i < n; i++) {
        out.mean += (x[i] - out.mean) / (i + 1);
    }
    arena_destroy(scratch);
    return out;
}

/* The least integer not below `value`, forgiving the last bits of its computation. */
static uint64_t ceiling(double value)
{
    double up = ceil(value * (1 - 1e-12));
    return up <= 0 ? 0 : up >= 0x1p63 ? UINT64_MAX : (uint64_t)up;
}

uint64_t stats_draws_book(double q, double delta)
{
    return delta >= 1 ? 0 : ceiling(-log(delta) / q);
}

uint64_t stats_draws_exact(double q, double delta)
{
    return delta >= 1 ? 0 : q >= 1 ? 1 : ceiling(log(delta) / log1p(-q));
}

double stats_certificate(uint64_t draws, double q)
{
    if (draws == 0) return 0;
    return q >= 1 ? 1 : -expm1((double)draws * log1p(-q));
}

/* How many of `size` are in the best fraction q: at least the best one. */
static uint64_t good_ones(uint64_t size, double q)
{
    double good = floor(q * (double)size * (1 + 1e-12));
    return good < 1 ? 1 : good >= (double)size ? size : (uint64_t)good;
}

/* ln of the probability that `draws` of `size` without replacement miss all `good` ones: the
 * product over j of (size - more - j) / (size - j) with j below the smaller of draws and good and
 * `more` the greater. Long products are integrated in pieces (Simpson on [j - 1/2, j' - 1/2]); a
 * difference of lgamma would lose its digits at 10^12. */
static double log_miss(uint64_t size, uint64_t good, uint64_t draws)
{
    enum {
        PIECES = 4096
    }; /* chosen: 1e-9 relative against the plain sum at 10^7 factors (test_stats) */
    uint64_t factors = draws < good ? draws : good;
    double more = (double)(draws < good ? good : draws), all = (double)size;
    if (draws > size - good) {
        return -INFINITY;
    }
    double sum = 0;
    if (factors <= PIECES) {
        for (uint64_t j = 0; j < factors; j++) {
            sum += log1p(-more / (all - (double)j));
        }
        return sum;
    }
    double width = (double)factors / PIECES;
    for (int i = 0; i < PIECES; i++) {
        double from = i * width - 0.5, to = from + width;
        double ends = log1p(-more / (all - from)) + log1p(-more / (all - to));
        sum += width / 6 * (ends + 4 * log1p(-more / (all - (from + to) / 2)));
    }
    return sum;
}

uint64_t stats_draws_without(uint64_t size, double q, double delta)
{
    if (size == 0 || delta >= 1) {
        return 0;
    }
    uint64_t good = good_ones(size, q), low = 0,
             high = size - good + 1; /* low misses too often, high never */
    double most = log(delta) * (1 - 1e-12);
    while (high - low > 1) {
        uint64_t half = low + (high - low) / 2;
        if (log_miss(size, good, half) <= most) {
            high = half;
        } else {
            low = half;
        }
    }
    return high;
}

double stats_certificate_without(uint64_t size, uint64_t draws, double q)
{
    if (size == 0 || draws == 0) return 0;
    return draws >= size ? 1 : -expm1(log_miss(size, good_ones(size, q), draws));
}

void stats_wilson(uint64_t k, uint64_t n, double *low, double *high)
{
    const double z = 1.959963984540054; /* the normal's 97.5 % point */
    if (n == 0) {
        *low = 0;
        *high = 1;
        return;
    }
    double share = (double)k / (double)n, scale = 1 + z * z / (double)n;
    double centre = (share + z * z / (2 * (double)n)) / scale;
    double half = z / scale *
                  sqrt(share * (1 - share) / (double)n + z * z / (4.0 * (double)n * (double)n));
    *low = k == 0 ? 0 : centre - half;
    *high = k == n ? 1 : centre + half;
}
