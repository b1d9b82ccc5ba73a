/* What strategies share; private to search/.
 *
 * A strategy plans in batches: `advance` fills a batch once every trial of the one before was told,
 * so what is asked depends on the answers alone, never on how many asks were outstanding or what
 * finished first. */
#ifndef STAX_SEARCH_STRATEGY_H
#define STAX_SEARCH_STRATEGY_H

#include "search/search.h"

/* ---- table.c: keys and values of 64 bits ---- */
struct table {
    struct arena *arena;
    uint64_t *key, *value;
    bool *used;
    uint64_t slots, count;
};

struct table table_make(struct arena *arena);
bool table_get(const struct table *table, uint64_t key, uint64_t *value);
void table_put(struct table *table, uint64_t key, uint64_t value);

/* A uniformly random order of 0..size-1, drawn without replacement: Fisher-Yates whose array holds
 * only the places that were swapped, so memory goes with the draws and not with the size. */
struct shuffle {
    struct table swapped;
    uint64_t size, drawn;
    struct rng rng;
};

struct shuffle shuffle_make(uint64_t size, struct rng rng, struct arena *arena);
bool shuffle_next(struct shuffle *shuffle, uint64_t *value); /* false when all were drawn */

/* ---- memo.c: every configuration that was asked, once ---- */
struct record {
    uint64_t config;
    double time_ns; /* of the newest trial; INFINITY while not told and after a failure */
    double noise; /* half width of the median's interval over the median; NAN for under 2 samples */
    enum outcome outcome;
    int samples, tells;
};

struct memo {
    struct table index; /* config -> place in record */
    struct record *record;
    int count, capacity;
    int told; /* records told at least once */
    int best; /* place of the fastest; ties go to the one asked first; -1 while none is finite */
};

struct memo memo_make(struct arena *arena);
int memo_find(const struct memo *memo, uint64_t config); /* -1 when never asked */
int memo_add(struct memo *memo, uint64_t config);
void memo_tell(struct memo *memo, const struct ask *ask, const struct trial *trial);
double memo_time(const struct memo *memo, uint64_t config); /* INFINITY when unknown */

/* ---- search.c ---- */
struct option_value {
    int64_t i;
    double f; /* NAN when the option was given as a word ("auto") */
    const char *text;
};

struct batch {
    struct ask *ask;
    int count, capacity;
    int asked, told;
};

struct pending; /* asks not yet told to the strategy */

struct search {
    const struct search_ops *ops;
    struct search_problem problem;
    uint64_t size; /* valid configurations */
    struct option_value *option;
    struct memo memo; /* filled before ops->tell is called */
    struct batch batch;
    bool done;
    struct rng rng; /* the strategy's own */
    struct rng
        draws; /* for uniform draws: the same for all strategies, so that comparisons are paired */
    struct arena *arena;
    void *state;
    struct pending *pending;
};

int64_t search_int(const struct search *search, const char *option);
double search_real(const struct search *search, const char *option);
bool search_is(const struct search *search, const char *option, const char *word);

/* ---- batch.c ---- */
void batch_add(struct search *search, uint64_t config, int fidelity);
/* Adds a configuration never asked before; false when it was, or when the batch already has it. */
bool batch_add_new(struct search *search, uint64_t config);
void batch_add_all(struct search *search, int count, const uint64_t *config); /* fidelity AUTO */
/* The `ask` of a strategy that plans in batches: `advance` adds to the empty batch; nothing added
 * ends the search. */
int batch_ask(struct search *search, struct ask *asks, int n, void (*advance)(struct search *));
/* Candidates and warm configurations, each once. */
void batch_add_seeds(struct search *search);

/* ---- bracket.c: successive halving, shared by halving and hyperband ---- */
struct ranker; /* ranker.h */

/* Where members come from. */
struct drawer {
    struct shuffle shuffle;
    struct ranker *ranker; /* NULL: all uniform */
    int top;               /* samples of the last rung */
};

/* By a ranker when the option `draw` says "model". */
struct drawer drawer_make(struct search *search, int top);

struct bracket {
    uint64_t *config; /* members that are still in, at the rung's fidelity */
    int count;
    int asked;    /* of them, in the first rung */
    int wanted;   /* members of the first rung */
    int fidelity; /* timed samples of this rung */
};

/* An empty bracket for `wanted` members, or as many as there are. */
struct bracket bracket_make(struct search *search, int wanted, int fidelity);
/* Adds candidates and warm configurations, without asking for them. */
void bracket_seed(struct search *search, struct bracket *bracket);
/* Adds some members and asks for them: configurations never asked, then (all asked) those with
 * fewer than `top` samples. False when it is full, or nothing is left. */
bool bracket_fill(struct search *search, struct drawer *drawer, struct bracket *bracket);
/* The next rung, asked for: `eta` times the samples, `top` at most, for
 * the fastest count/eta (at least one) and those within the noise of the cut if asked; failed ones
 * never stay. */
void bracket_cut(struct search *search, struct bracket *bracket, int eta, int top, bool keep_noise);

extern const struct search_ops search_heuristic, search_exhaustive, search_random, search_hyperband,
    search_halving, search_coordinate, search_local, search_annealing, search_genetic, search_model,
    search_auto;

#endif
