/* Successive halving (Karnin, Koren, Somekh 2013; Jamieson & Talwalkar 2016): measure all members a
 * little, keep the best 1/eta, measure those eta times more. Survivors keep their samples: fidelity
 * counts all of them. */
#include <math.h>
#include <stdlib.h>

#include "search/strategy.h"

static bool has(const struct bracket *bracket, uint64_t config)
{
    for (int i = 0; i < bracket->count; i++)
        if (bracket->config[i] == config) return true;
    return false;
}

void bracket_seed(struct search *search, int count, struct bracket *bracket)
{
    const struct search_problem *problem = &search->problem;
    bracket->config = ARENA_ARRAY(search->arena, uint64_t, count);
    for (int i = 0; i < problem->candidates && bracket->count < count; i++)
        if (!has(bracket, problem->candidate[i]))
            bracket->config[bracket->count++] = problem->candidate[i];
    for (int i = 0; i < problem->warm && bracket->count < count; i++)
        if (!has(bracket, problem->warm_config[i]))
            bracket->config[bracket->count++] = problem->warm_config[i];
}

void bracket_draw(struct search *search, struct shuffle *shuffle, int count, int top,
                  struct bracket *bracket)
{
    if ((uint64_t)count > search->size) count = (int)search->size;
    if (!bracket->config) bracket->config = ARENA_ARRAY(search->arena, uint64_t, count);
    for (uint64_t config; bracket->count < count && shuffle_next(shuffle, &config);)
        if (memo_find(&search->memo, config) < 0 && !has(bracket, config))
            bracket->config[bracket->count++] = config;
    if (bracket->count == count || shuffle->drawn < shuffle->size) return;
    /* All were asked once: the bracket's places go to configurations that can still gain samples.
     */
    struct rng rng = rng_make(rng_u64(&search->rng), 0);
    struct shuffle again = shuffle_make((uint64_t)search->memo.count, rng, search->arena);
    for (uint64_t at; bracket->count < count && shuffle_next(&again, &at);) {
        const struct record *record = &search->memo.record[at];
        if (record->tells > 0 && isfinite(record->time_ns) && record->samples < top)
            bracket->config[bracket->count++] = record->config;
    }
}

void bracket_ask(struct search *search, const struct bracket *bracket)
{
    for (int i = 0; i < bracket->count; i++) {
        int at = memo_find(&search->memo, bracket->config[i]);
        if (at < 0 || search->memo.record[at].tells == 0 ||
            search->memo.record[at].samples < bracket->fidelity)
            batch_add(search, bracket->config[i], bracket->fidelity);
    }
}

struct entry {
    double time_ns, noise;
    uint64_t config;
    int place; /* ties: the one that entered first */
};

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return x->place - y->place;
}

void bracket_cut(struct search *search, struct bracket *bracket, int eta, bool keep_noise)
{
    struct entry *entry = ARENA_ARRAY(search->arena, struct entry, bracket->count);
    int good = 0;
    for (int i = 0; i < bracket->count; i++) {
        const struct record *record =
            &search->memo.record[memo_find(&search->memo, bracket->config[i])];
        if (isfinite(record->time_ns))
            entry[good++] = (struct entry){
                record->time_ns, isnan(record->noise) ? 0 : record->noise, record->config, i};
    }
    qsort(entry, (size_t)good, sizeof *entry, by_time);
    int keep = bracket->count / eta > 1 ? bracket->count / eta : 1;
    if (keep > good) keep = good;
    if (keep_noise && keep > 0) {
        double cut = entry[keep - 1].time_ns * (1 + entry[keep - 1].noise);
        while (keep < good && entry[keep].time_ns * (1 - entry[keep].noise) <= cut) keep++;
    }
    for (int i = 0; i < keep; i++) bracket->config[i] = entry[i].config;
    bracket->count = keep;
}
