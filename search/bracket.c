/* Successive halving (Karnin, Koren, Somekh 2013; Jamieson & Talwalkar 2016): measure all members a
 * little, keep the best 1/eta, measure those eta times more. Survivors keep their samples: fidelity
 * counts all of them. */
#include <math.h>
#include <stdlib.h>

#include "search/ranker.h"

static const double kappa = 0.25; /* as in auto */

/* Measured on four recorded spaces, share of runs of hyperband that end within 1 % of the best
 * under the recorded noise, on average: 0.75 for chunks of 16, 0.76 of 8, 0.80 of 4; but a chunk is
 * compiled at once, and chunks of 8 double the seconds of a run where compiling is slow. A twelfth
 * drawn uniformly: 0.79, a sixth 0.76, a third (BOHB) 0.71. */
enum { CHUNK = 16, UNIFORM_PART = 12 };

static bool has(const struct bracket *bracket, uint64_t config)
{
    for (int i = 0; i < bracket->count; i++)
        if (bracket->config[i] == config) return true;
    return false;
}

struct drawer drawer_make(struct search *search, int top)
{
    bool model = search_is(search, "draw", "model");
    return (struct drawer){.shuffle = shuffle_make(search->size, search->draws, search->arena),
                           .ranker = model ? ranker_create(search) : NULL,
                           .top = top};
}

struct bracket bracket_make(struct search *search, int wanted, int fidelity)
{
    if ((uint64_t)wanted > search->size) wanted = (int)search->size;
    return (struct bracket){.config = ARENA_ARRAY(search->arena, uint64_t, wanted),
                            .wanted = wanted,
                            .fidelity = fidelity};
}

static void enter(struct bracket *bracket, uint64_t config)
{
    if (bracket->count < bracket->wanted && !has(bracket, config))
        bracket->config[bracket->count++] = config;
}

void bracket_seed(struct search *search, struct bracket *bracket)
{
    const struct search_problem *problem = &search->problem;
    for (int i = 0; i < problem->candidates; i++) enter(bracket, problem->candidate[i]);
    for (int i = 0; i < problem->warm; i++) enter(bracket, problem->warm_config[i]);
}

static void draw_uniform(struct search *search, struct drawer *drawer, int count,
                         struct bracket *bracket)
{
    for (uint64_t config; count > 0 && shuffle_next(&drawer->shuffle, &config);)
        if (memo_find(&search->memo, config) < 0 && !has(bracket, config)) {
            enter(bracket, config);
            count--;
        }
}

/* All were asked once: places go to configurations that can still gain samples. */
static void draw_again(struct search *search, const struct drawer *drawer, struct bracket *bracket)
{
    struct rng rng = rng_make(rng_u64(&search->rng), 0);
    struct shuffle again = shuffle_make((uint64_t)search->memo.count, rng, search->arena);
    for (uint64_t at; shuffle_next(&again, &at);) {
        const struct record *record = &search->memo.record[at];
        if (record->tells > 0 && isfinite(record->time_ns) && record->samples < drawer->top)
            enter(bracket, record->config);
    }
}

/* Most of `count` by what the model learned from all that was told so far. */
static void draw_model(struct search *search, struct drawer *drawer, int count,
                       struct bracket *bracket)
{
    ranker_fit(drawer->ranker);
    int uniform = 0;
    for (int i = 0; i < count; i++) uniform += rng_below(&search->rng, UNIFORM_PART) == 0;
    bracket->count += ranker_propose(drawer->ranker, count - uniform, kappa,
                                     bracket->config + bracket->count);
    draw_uniform(search, drawer, uniform, bracket);
}

/* From the first of them that is not in the batch yet. */
static void ask_from(struct search *search, const struct bracket *bracket, int first)
{
    for (int i = first; i < bracket->count; i++) {
        int at = memo_find(&search->memo, bracket->config[i]);
        if (at < 0 || search->memo.record[at].tells == 0 ||
            search->memo.record[at].samples < bracket->fidelity)
            batch_add(search, bracket->config[i], bracket->fidelity);
    }
}

bool bracket_fill(struct search *search, struct drawer *drawer, struct bracket *bracket)
{
    int before = bracket->count, missing = bracket->wanted - before;
    if (missing > 0 && !drawer->ranker) {
        draw_uniform(search, drawer, missing, bracket);
    } else if (missing > 0) {
        int count = missing < CHUNK ? missing : CHUNK;
        if (search->memo.best >= 0) draw_model(search, drawer, count, bracket);
        if (bracket->count == before) draw_uniform(search, drawer, count, bracket);
    }
    if (missing > 0 && bracket->count == before) draw_again(search, drawer, bracket);
    ask_from(search, bracket, bracket->asked);
    bool more = bracket->count > bracket->asked;
    bracket->asked = bracket->count;
    return more;
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

void bracket_cut(struct search *search, struct bracket *bracket, int eta, int top, bool keep_noise)
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
    bracket->fidelity = eta > top / bracket->fidelity ? top : eta * bracket->fidelity;
    ask_from(search, bracket, 0);
}
