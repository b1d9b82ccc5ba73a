/* The table of strategies; the first row is the default. */
#include "search/strategy.h"

static const struct search_ops *const table[] = {
    &search_auto,      &search_heuristic, &search_exhaustive, &search_coordinate,
    &search_random,    &search_halving,   &search_hyperband,  &search_local,
    &search_annealing, &search_genetic,   &search_model,
};

int search_table(const struct search_ops *const **rows)
{
    *rows = table;
    return (int)STAX_COUNT(table);
}
