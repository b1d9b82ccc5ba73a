/* Configuration spaces: parameters with finite value sets and constraints, enumerated lazily as a
 * chain of trees.
 *
 * Parameters that share constraints are grouped; each group is a tree of the value choices that
 * satisfy its constraints, counted bottom-up; the space is the chain of the groups' trees. So
 * counting, ranking, unranking and uniform sampling of valid configurations never touch the
 * Cartesian product (ATF, Rasch et al., TACO 2021).
 *
 * A `config` is the rank of a valid configuration in lexicographic order of the parameters as
 * grouped; `values` is its vector of value indices in the order of the parameters. A
 * configuration's identity outside the process is config_hash, never a rank. */
#ifndef STAX_BASE_SPACE_H
#define STAX_BASE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/expr.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/status.h"

struct param {
    const char *name;
    int count; /* number of values */
    struct value
        *values;  /* distinct; numeric values ascending whatever the order given, others as given */
    bool ordered; /* numeric and neither boolean nor declared categorical */
};

struct space;

/* Building: add parameters and constraints, then finish. All texts are copied. */
struct space *space_create(const char *name, struct arena *arena);
enum stax_status space_add_ints(struct space *space, const char *name, const int64_t *values,
                                int count);
enum stax_status space_add_texts(struct space *space, const char *name, const char *const *values,
                                 int count);
enum stax_status space_add_values(struct space *space, const char *name, const struct value *values,
                                  int count, bool categorical);
/* Values from an expression that may name earlier parameters ("divisors(N)", "[2**i for i in
 * range(6)]"); a dependent range becomes the union of its values plus the constraint `name in
 * expression`. */
enum stax_status space_add_expression(struct space *space, const char *name,
                                      const char *expression);
enum stax_status space_add_constraint(struct space *space, const char *expression);
/* A fixed name for use in constraints (device limits, sizes); no parameter. */
enum stax_status space_define(struct space *space, const char *name, struct value value);
/* A space that holds exactly the given configurations (a recorded cache): `rows` vectors of value
 * indices. */
enum stax_status space_restrict_to(struct space *space, const int *rows, uint64_t count);
/* Builds the trees; STAX_USAGE for a bad constraint, STAX_LIMIT when constraints couple too many
 * values to count. A constraint that cannot be evaluated for a configuration (it divides by zero
 * ...) excludes it, and space_warning says so. */
enum stax_status space_finish(struct space *space);
const char *space_warning(const struct space *space); /* NULL when there is nothing to say */

const char *space_name(const struct space *space);
int space_params(const struct space *space);
const struct param *space_param(const struct space *space, int index);
int space_find(const struct space *space, const char *name); /* -1 when absent */
int space_constraints(const struct space *space);
const char *space_constraint(const struct space *space, int index);
int space_definitions(const struct space *space); /* the names of space_define, in their order */
const char *space_definition(const struct space *space, int index, struct value *value);
double
space_cartesian(const struct space *space);      /* product of the value counts; may exceed 2^64 */
uint64_t space_count(const struct space *space); /* valid configurations; exact */
size_t space_bytes(const struct space *space);   /* memory held by the trees */

void space_unrank(const struct space *space, uint64_t config, int *values);
/* Rank of a vector of value indices; false when it breaks a constraint (`broken`, if not NULL, gets
 * that constraint's text). */
bool space_rank(const struct space *space, const int *values, uint64_t *config,
                const char **broken);
uint64_t space_sample(const struct space *space,
                      struct rng *rng); /* uniform over valid ones; count > 0 */

/* Valid neighbours, ascending without duplicates and without `config` itself.
 * STEP: one ordered numeric parameter times or over 2, the adjacent value where that is absent;
 * every other value of a categorical one (DESIGN: coordinate). ANY: one parameter to any other
 * value (Hamming 1). ADJACENT: every parameter moves by at most one position, at least one does.
 * Returns how many it wrote, at most `capacity`: the first ones. */
enum space_neighbours { SPACE_STEP, SPACE_ANY, SPACE_ADJACENT };
int space_neighbours(const struct space *space, uint64_t config, enum space_neighbours kind,
                     uint64_t *out, int capacity);
/* A capacity that is enough for STEP and ANY: the number of other values of all parameters. */
int space_neighbours_most(const struct space *space);

/* "XBLOCK=8, num_warps=4" in the order of the parameters. */
char *space_config_text(const struct space *space, uint64_t config, struct arena *arena);
/* The identity: hash of the name=value list sorted by name. */
struct hash128 space_config_hash(const struct space *space, uint64_t config);
/* Parses "A=1,B=x"; names left out keep their value from `base_config`. STAX_USAGE names the
 * unknown parameter, the value that is not in the set (and the set) or the broken constraint. */
enum stax_status space_parse_config(const struct space *space, const char *text,
                                    uint64_t base_config, uint64_t *config);
const struct value *space_value(const struct space *space, uint64_t config, int param);
/* Convenience for emitters: the integer of a named parameter, or `absent` when the space has none.
 */
int64_t space_int(const struct space *space, uint64_t config, const char *name, int64_t absent);
const char *space_text(const struct space *space, uint64_t config, const char *name,
                       const char *absent);
/* Same values in another space: the configuration of `to` that agrees with (from, config) on all
 * common parameters and has the nearest values elsewhere is not sought; false when a value is
 * missing or a constraint breaks. */
bool space_translate(const struct space *from, uint64_t config, const struct space *to,
                     uint64_t *out);

#endif
