/* Proposals of configurations by a model trained on what was measured so far. Private to search/.
 *
 * Only the order of the times counts: the model learns the logarithm of the rank, so that it is
 * sharp among the fastest and coarse among the slow, and no monotone change of the times changes a
 * proposal. A failure ranks last. */
#ifndef STAX_SEARCH_RANKER_H
#define STAX_SEARCH_RANKER_H

#include "search/strategy.h"

struct ranker;

/* Learns by the forest until ranker_choose_learner says otherwise. */
struct ranker *ranker_create(struct search *search);
/* A row of the options of strategies that let the user choose. */
#define RANKER_LEARNER                                                         \
    {                                                                          \
        "learner", SEARCH_OPTION_CHOICE, "auto", 0, 0, "auto|forest|xgboost",  \
            "our random trees, XGBoost's boosted trees, or what measured best" \
    }
/* Does what the option says, before the first fit. `auto` means XGBoost where `boosted`, and the
 * forest where that is absent. STAX_USAGE when XGBoost was asked for by name and is absent. */
enum stax_status ranker_choose_learner(struct ranker *ranker, bool boosted);
/* What is worse than it could be, for a claim: ""; or "; ..." when XGBoost would have learned and
 * is absent or failed. */
const char *ranker_lost(const struct ranker *ranker);
/* Learns everything told. Needs one finite time. */
void ranker_fit(struct ranker *ranker);
/* Writes up to `count` configurations never asked before and marks them as asked. Most are the best
 * of a pool of neighbours of the fastest and of random ones: those for which mean - kappa spread of
 * the predicted rank is least. Some are probes: the fastest with another value of a categorical
 * parameter or a switch and whatever that value needs, since constraints often tie such values to
 * others and no single step leads there. Returns how many. */
int ranker_propose(struct ranker *ranker, int count, double kappa, uint64_t *config);
/* Steps of one parameter away from the fastest, the most promising first, in the same way. */
int ranker_polish(struct ranker *ranker, int count, uint64_t *config);
/* How many such steps are left. */
int ranker_unpolished(struct ranker *ranker);
/* Share of pairs among the last proposals that were predicted in the order then measured; NAN for
 * under 8 of them. */
double ranker_agreement(const struct ranker *ranker);

#endif
