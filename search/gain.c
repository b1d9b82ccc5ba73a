/* The expected gain of going on.
 *
 * Proposals are far from independent, so neither the fastest times nor their spacing are a sample
 * of anything; but the improvements of the best are few and far apart, and are modelled directly.
 * As number u of a search is measured, the best improves at the rate r e^(-u/T) / u: 1/u is the
 * rate at which independent draws set records (Renyi 1962), e^(-u/T) says that a search with a
 * model of a finite space comes to an end, r is learned. A size is exponential with a mean that is
 * learned as well. Both posteriors are gammas, so the number of improvements to come is negative
 * binomial, and the probability that k of them sum up to more than g is an incomplete beta function
 * of integer k. What lies back counts less, since sizes fall as a search goes on. */
#include "search/gain.h"

#include <math.h>

/* Measured: with these and T = 1.5 the gains of twice as many measurements are most likely, over
 * 100 runs on each of 32 spaces of 208 to 11 130 configurations (README.md), rounded; the two
 * larger families of spaces, each alone, say the same. T = 2 is 1.4 % less likely and is taken
 * because stopping too early is the worse mistake. */
static const double horizon = 2, /* T over the root of the size of the space */
    decay = 1.5,                 /* an improvement at u counts (u/n)^decay */
    prior_count = 1.5,           /* improvements seen before the search began, */
    prior_exposure = 0.5,        /* while so many were to be expected, */
    prior_size = 0.02,           /* and their mean, */
    prior_size_weight = 0.1;     /* which counts as so many sizes */

enum {
    STEPS = 64,    /* of an integral in log u; chosen: error below 1e-4 */
    MOST = 64,     /* improvements to come; chosen: more of them than was ever seen */
    HALVINGS = 50, /* of the interval of an upper limit */
};

static const double largest = 20; /* limit of a gain; chosen: a factor of e^20 */

struct gain gain_make(uint64_t size)
{
    return (struct gain){.size = size, .best_ns = INFINITY};
}

static double fading(const struct gain *gain, double u)
{
    return exp(-u / (horizon * sqrt((double)gain->size)));
}

void gain_tell(struct gain *gain, double best_ns)
{
    double u = (double)++gain->measured;
    double discount = pow((u - 1) / u, decay);
    gain->improved *= discount;
    gain->improved_by *= discount;
    gain->exposure = discount * gain->exposure + (u > 1 ? fading(gain, u) / u : 0);
    if (best_ns < gain->best_ns && isfinite(gain->best_ns)) {
        gain->improved++;
        gain->improved_by += log(gain->best_ns / best_ns);
    }
    if (best_ns != gain->best_ns) gain->found = gain->measured;
    gain->best_ns = best_ns; /* may rise: the best was measured again */
}

/* Improvements that a search of average luck makes from here on. */
static double exposure_of(const struct gain *gain, double more)
{
    double from = log((double)gain->measured), width = log1p(more / (double)gain->measured) / STEPS;
    double sum = 0;
    for (int i = 0; i < STEPS; i++) sum += fading(gain, exp(from + (i + 0.5) * width)) * width;
    return sum;
}

static uint64_t left_of(const struct gain *gain)
{
    return gain->measured < gain->size ? gain->size - gain->measured : 0;
}

/* Posteriors: r ~ gamma(count, exposure), 1 / mean size ~ gamma(shape, sum). */
struct future {
    double count, exposure, shape, sum;
    double ahead; /* exposure to come */
};

static struct future future_of(const struct gain *gain, uint64_t more)
{
    return (struct future){
        .count = gain->improved + prior_count,
        .exposure = gain->exposure + prior_exposure,
        .shape = gain->improved + prior_size_weight + 1,
        .sum = gain->improved_by + prior_size * prior_size_weight,
        /* what was measured cannot be found any more */
        .ahead = exposure_of(gain, (double)more) * (double)left_of(gain) / (double)gain->size,
    };
}

/* P(sum of K sizes > g) = sum over j of P(K > j) C(shape + j - 1, j) x^j (1 - x)^shape, with
 * x = g / (g + sum) and K negative binomial. */
static double exceeds(const struct future *future, double g)
{
    double x = g / (g + future->sum), p = future->ahead / (future->ahead + future->exposure);
    double exactly = pow(1 - p, future->count), above = 1 - exactly;
    double term = pow(1 - x, future->shape), probability = term * above;
    for (int j = 1; j <= MOST && above > 0; j++) {
        exactly *= (future->count + j - 1) / j * p;
        above -= exactly;
        term *= (future->shape + j - 1) / j * x;
        if (above > 0) probability += term * above;
    }
    return probability;
}

struct gain_estimate gain_estimate(const struct gain *gain, uint64_t more)
{
    uint64_t left = left_of(gain);
    struct gain_estimate estimate = {more < left ? more : left, 1, 1};
    if (!isfinite(gain->best_ns)) return estimate;
    struct future future = future_of(gain, estimate.more);
    double low = 0, high = largest;
    if (exceeds(&future, 0) <= 1 - GAIN_CONFIDENCE) high = 0;
    for (int i = 0; i < HALVINGS && high > 0; i++) {
        double middle = (low + high) / 2;
        if (exceeds(&future, middle) > 1 - GAIN_CONFIDENCE)
            low = middle;
        else
            high = middle;
    }
    double mean = future.count * future.ahead / future.exposure * future.sum / (future.shape - 1);
    estimate.expected = -expm1(-mean);
    estimate.upper = -expm1(-high);
    return estimate;
}
