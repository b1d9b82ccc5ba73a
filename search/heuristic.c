/* Algorithm 9.1: measure the candidate set, take the fastest. */
#include "search/strategy.h"

static enum stax_status init(struct search *search)
{
    if (search->problem.candidates == 0)
        STAX_RETURN(STAX_USAGE, "strategy heuristic needs a candidate set and this space has none: "
                                "use --strategy auto");
    return STAX_OK;
}

static void advance(struct search *search)
{
    for (int i = 0; i < search->problem.candidates; i++)
        batch_add_new(search, search->problem.candidate[i]);
}

static int ask(struct search *search, struct ask *asks, int n)
{
    return batch_ask(search, asks, n, advance);
}

const struct search_ops search_heuristic = {
    .name = "heuristic",
    .summary = "the 1-6 candidates of the kernel's form, fastest wins",
    .source = "book 9.6, algorithm 9.1",
    .cold = true,
    .init = init,
    .ask = ask,
};
