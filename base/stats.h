/* Order statistics of samples, and the counts that search and measuring need. Inputs may hold NaN
 * only where said. */
#ifndef STAX_BASE_STATS_H
#define STAX_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Median with its order-statistic interval (exact binomial ranks; Hoefler & Belli 2015, rule 5).
 * units: as the input. For too few samples for the confidence (n < 6 at 95 %) the interval is [min,
 * max]. */
struct summary {
    int n;
    double median, low, high; /* confidence interval of the median */
    double min, max, q1, q3, mean;
};

struct summary stats_summary(const double *samples, int n,
                             double confidence); /* n may be 0: all NaN */
double stats_median(const double *samples, int n);
double stats_quantile(const double *samples, int n,
                      double q); /* rank round(q (n - 1)) of the sorted samples */
/* Ranks (from 1) of the exact interval of the median; low = 0 when n is too small. */
void stats_median_ranks(int n, double confidence, int *low, int *high);

/* Proposition 9.3: draws N so that the best of N is in the best fraction q with probability >= 1 -
 * delta. */
uint64_t stats_draws_book(double q, double delta);  /* ceil(ln(1/delta) / q): 60 at 0.05, 0.05 */
uint64_t stats_draws_exact(double q, double delta); /* ceil(ln delta / ln(1 - q)): 59 */
uint64_t stats_draws_without(uint64_t size, double q,
                             double delta);         /* hypergeometric, without replacement */
double stats_certificate(uint64_t draws, double q); /* 1 - (1 - q)^draws */
double stats_certificate_without(uint64_t size, uint64_t draws, double q);
/* Wilson interval of a share k of n at 95 %. */
void stats_wilson(uint64_t k, uint64_t n, double *low, double *high);

#endif
