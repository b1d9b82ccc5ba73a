/* What going on would gain: an estimate from the improvements a search has made so far, for
 * stopping. Private to search/. */
#ifndef STAX_SEARCH_GAIN_H
#define STAX_SEARCH_GAIN_H

#include <stdint.h>

/* What is kept of the history: discounted sums, no list. Gains are logarithms of ratios. */
struct gain {
    uint64_t size;      /* valid configurations */
    uint64_t measured;  /* so far */
    uint64_t found;     /* which of them found the best */
    double best_ns;     /* INFINITY while nothing ran */
    double improved;    /* discounted number of improvements, */
    double improved_by; /* their discounted sum, */
    double exposure;    /* and how many of them a search of this kind makes on average */
};

struct gain gain_make(uint64_t size);
/* After each measurement, failed ones too: the fastest time so far. */
void gain_tell(struct gain *gain, double best_ns);

struct gain_estimate {
    uint64_t more;   /* measurements it is about: as asked, or all that are left of the space */
    double expected; /* relative improvement of the best, 0.01 for 1 % */
    double upper;    /* not exceeded with probability GAIN_CONFIDENCE */
};

#define GAIN_CONFIDENCE 0.95 /* measured: README */

/* Of `more` further measurements. Both 1 while nothing ran, both 0 when nothing is left. */
struct gain_estimate gain_estimate(const struct gain *gain, uint64_t more);

#endif
