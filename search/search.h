/* Search strategies: who to measure next. The module's only public header.
 *
 * A strategy is one file and one row of the table in strategies.c. It asks for configurations and
 * is told trials, in ask order whatever finishes first. It never times, sleeps, or holds the
 * budget: the session stops asking when the budget is spent. Same seed and same answers give the
 * same asks. */
#ifndef STAX_SEARCH_SEARCH_H
#define STAX_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/space.h"
#include "base/status.h"
#include "base/trial.h"

enum search_option_kind { SEARCH_OPTION_INT, SEARCH_OPTION_REAL, SEARCH_OPTION_CHOICE };

/* An option of a strategy: `--set name.option=value`. A table of these ends with a NULL name. */
struct search_option {
    const char *name;
    enum search_option_kind kind;
    const char *fallback; /* default, as text */
    double low, high;     /* inclusive, for INT and REAL */
    const char *choices;  /* "a|b|c", for CHOICE */
    const char *help;
};

/* What every strategy is given. Read only. */
struct search_problem {
    const struct space *space;
    int candidates; /* heuristic set, [0] the book's */
    const uint64_t *candidate;
    int warm; /* configurations known good elsewhere (database neighbours), best first */
    const uint64_t *warm_config;
    uint64_t seed;
    uint64_t budget_configs; /* distinct configurations the session will allow; UINT64_MAX when by
                                time */
    double quantile, confidence; /* for proposition 9.3: q and 1 - delta */
};

struct search; /* an open strategy */

enum { SEARCH_DONE = -1, SEARCH_WAIT = 0 };

struct search_ops {
    const char *name, *summary, *source;
    const struct search_option *options; /* may be NULL */
    bool cold;                           /* asks for no warm configuration */
    enum stax_status (*init)(struct search *search);
    /* Writes up to `n` asks (ids are filled in by search_ask); returns how many, SEARCH_WAIT (tell
     * something first) or SEARCH_DONE. */
    int (*ask)(struct search *search, struct ask *asks, int n);
    void (*tell)(struct search *search, const struct ask *ask, const struct trial *trial);
    /* One line of what may be claimed now ("best of 5 % with probability 0.95 ..."), or NULL.
     * Optional: NULL = none. */
    const char *(*claim)(struct search *search, struct arena *arena);
};

int search_table(const struct search_ops *const **rows);
const struct search_ops *search_find(const char *name); /* NULL when unknown */

/* `settings` are "option=value" texts for this strategy; unknown or out of range: STAX_USAGE with
 * the legal ones. */
enum stax_status search_open(const struct search_ops *ops, const struct search_problem *problem,
                             int settings, const char *const *setting, struct arena *arena,
                             struct search **search);
int search_ask(struct search *search, struct ask *asks, int n);
void search_tell(struct search *search, const struct ask *ask, const struct trial *trial);
const char *search_claim(struct search *search, struct arena *arena);
/* Lines of the libraries that strategies learn with, found or not, for `doctor`. */
const char *search_doctor(struct arena *arena);
/* The options as "name=value name=value", defaults included, for records. */
const char *search_settings(const struct search *search, struct arena *arena);

#endif
