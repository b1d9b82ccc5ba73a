/* Proposals of configurations by a model trained on what was measured so far. Private to search/.
 *
 * Only the order of the times counts: the model learns the logarithm of the rank, so that it is
 * sharp among the fastest and coarse among the slow, and no monotone change of the times changes a
 * proposal. A failure ranks last. */
#ifndef STAX_SEARCH_RANKER_H
#define STAX_SEARCH_RANKER_H

#include "search/strategy.h"

struct ranker;

struct ranker *ranker_create(struct search *search);
/* Learns everything told. Needs one finite time. */
void ranker_fit(struct ranker *ranker);
/* Writes up to `count` configurations never asked before, the most promising first, and marks them
 * as asked: those of a pool of neighbours of the fastest and of random ones for which mean - kappa
 * spread of the predicted rank is least. Returns how many. */
int ranker_propose(struct ranker *ranker, int count, double kappa, uint64_t *config);
/* The same of the steps of one parameter away from the fastest. */
int ranker_polish(struct ranker *ranker, int count, uint64_t *config);
/* How many such steps are left. */
int ranker_unpolished(struct ranker *ranker);
/* Share of pairs among the last proposals that were predicted in the order then measured; NAN for
 * under 8 of them. */
double ranker_agreement(const struct ranker *ranker);

#endif
