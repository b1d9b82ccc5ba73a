/* Private to base/space*.c: what a space holds, and the steps of finishing it.
 *
 *   space.c          building and the plain accessors
 *   space_order.c    constraints into conjuncts, parameters into groups, groups into a good order
 * of levels space_compile.c  the conjuncts of a group into a program with one part a level
 *   space_run.c      one level's part of such a program
 *   space_narrow.c   the values of a level worth trying
 *   space_build.c    a program into a tree with equal subtrees shared
 *   space_walk.c     rank, unrank, sampling and neighbours on finished trees
 *   space_config.c   configurations as text, hash and across spaces */
#ifndef STAX_BASE_SPACE_IMPL_H
#define STAX_BASE_SPACE_IMPL_H

#include "base/space.h"

enum {
    SPACE_PARAMS = 256
}; /* of one space: lets every walk keep its vectors on the stack (chosen) */

struct space_set { /* of parameters */
    uint64_t bits[SPACE_PARAMS / 64];
};

static inline bool space_has(const struct space_set *set, int param)
{
    return set->bits[param / 64] >> (param % 64) & 1;
}

static inline void space_put(struct space_set *set, int param)
{
    set->bits[param / 64] |= (uint64_t)1 << (param % 64);
}

/* Trees. A node of level l chooses a value of params[l]; node 0 stands behind the last level.
 * `before` counts the configurations of the edges to the left, so rank and unrank are sums and
 * searches along one path. */
struct space_edge {
    uint32_t value, child;
    uint64_t before;
};

struct space_node {
    uint32_t first, edges;
    uint64_t count;
};

struct space_tree {
    int levels;
    int *params;
    uint32_t root;
    const struct space_node *nodes;
    const struct space_edge *edges;
    uint64_t count;  /* valid choices of this group */
    uint64_t stride; /* product of the counts of the groups behind it in the chain */
};

struct space_constraint {
    const char *text;
    const struct expr *expr;
};

struct space_name {
    const char *name;
    struct value value;
};

struct space {
    const char *name;
    struct arena *arena;
    int count, capacity;
    struct param *params;
    int constraints, constraint_capacity;
    struct space_constraint *constraint;
    int defines, define_capacity;
    struct space_name *define;
    bool restricted;
    const int *rows;
    uint64_t row_count;

    bool finished; /* what follows holds from then on */
    int trees;
    struct space_tree *tree;
    int *tree_of, *level_of;  /* by parameter */
    const char ***value_text; /* by parameter and value */
    int *by_name;             /* parameters in the order of their names */
    bool impossible;          /* a constraint without free parameters is false */
    uint64_t total;
    size_t bytes;
    const char *warning;
};

/* A part of a constraint without `and` at its top: as soon as its last parameter is fixed, it can
 * be tested. */
struct space_conjunct {
    const struct expr *expr;
    const char *text;        /* of the constraint it is from */
    struct space_set params; /* those with more than one value */
    double pass_log2;        /* log2 of the share of value combinations that pass, by a sample */
};

struct space_split {
    int conjuncts;
    struct space_conjunct *conjunct;
    int groups;
    int *group_of; /* by parameter; groups are numbered by their first parameter */
    bool impossible;
    const char *warning; /* why, where a constant constraint could not be evaluated */
};

/* Values by name while a space is being finished: parameter p has value index chosen[p]. */
struct space_choice {
    const struct space *space;
    const int *chosen;
};
bool space_lookup(void *choice, const char *name, struct value *value); /* an expr_lookup */

enum stax_status space_split(const struct space *space, struct arena *arena,
                             struct space_split *split);
/* Writes the parameters of a group in the order that is expected to need the fewest states. */
int space_order(const struct space *space, const struct space_split *split, int group,
                struct arena *arena, int *order);

/* Programs: slots in static single assignment form. The level of a slot is that of its last
 * parameter, -1 for a constant. A slot is good or bad (a division by zero, an overflow ...); and,
 * or and if ignore what they do not take. */
enum slot_type { SLOT_BOOL, SLOT_INT, SLOT_FLOAT, SLOT_TEXT, SLOT_LIST };

enum slot_code {
    SLOT_CONST,
    SLOT_PARAM,
    SLOT_EVAL,
    SLOT_EVAL_LIST,
    SLOT_IN_LIST,
    SLOT_AND,
    SLOT_OR,
    SLOT_NOT,
    SLOT_SELECT,
    SLOT_TRUE_INT,
    SLOT_TRUE_FLOAT,
    SLOT_TO_FLOAT,
    SLOT_ADD,
    SLOT_SUB,
    SLOT_MUL,
    SLOT_FLOORDIV,
    SLOT_MOD,
    SLOT_POW,
    SLOT_SHL,
    SLOT_SHR,
    SLOT_BITAND,
    SLOT_BITOR,
    SLOT_BITXOR,
    SLOT_NEG,
    SLOT_ABS,
    SLOT_MIN,
    SLOT_MAX,
    SLOT_LT,
    SLOT_LE,
    SLOT_EQ,
    SLOT_NE,
    SLOT_FADD,
    SLOT_FSUB,
    SLOT_FMUL,
    SLOT_FDIV,
    SLOT_FFLOORDIV,
    SLOT_FMOD,
    SLOT_FPOW,
    SLOT_FNEG,
    SLOT_FABS,
    SLOT_FMIN,
    SLOT_FMAX,
    SLOT_FLT,
    SLOT_FLE,
    SLOT_FEQ,
    SLOT_FNE,
    SLOT_CEIL,
    SLOT_FLOOR,
    SLOT_ROUND,
    SLOT_TRUNC,
    SLOT_SQRT,
    SLOT_LOG2,
};

union cell {
    int64_t i; /* BOOL, INT; TEXT: its number among program.texts; LIST: among program.lists */
    double f;
};

struct slot {
    enum slot_code code;
    int a, b, c; /* operands, or -1; PARAM: a is the parameter */
};

struct slot_more { /* what running seldom needs */
    enum slot_type type;
    int level;
    const struct expr *expr; /* EVAL, EVAL_LIST */
    int *uses;               /* parameter slots that an EVAL reads */
    int use_count;
    int64_t *memo; /* with one use: the result by its value index, + 2; 1 bad, 0 not known yet */
};

struct program {
    const struct space *space;
    struct arena *arena; /* scratch of the build */
    int levels;
    const int *order;
    int slots, capacity;
    struct slot *slot;
    struct slot_more *more;
    union cell *cell;
    unsigned char *bad;
    /* steps[l]: what to do once the parameter of level l has its value: a slot to compute, or ~slot
     * to test. */
    int **steps;
    int *step_count;
    /* keeps[l]: slots that later levels read; they are the state behind level l. */
    int **keeps;
    int *keep_count;
    const union cell *
        *value_cells;           /* by level: the values of its parameter; NULL: cells are indices */
    const struct expr **tested; /* by slot: the conjunct it decides, or NULL */
    int *chosen;                /* by parameter: the value indices of the path being built */
    struct {
        const struct expr *expr;
        int slot;
    } * known; /* binary expressions compiled already */
    int known_count, known_capacity;
    const char **texts;
    int text_count, text_capacity;
    struct value *lists; /* `i` set: ascending integers */
    int list_count, list_capacity;
    struct arena *moment; /* reset after each use */
    const char *warning;  /* the first evaluation that failed and so counts as false, or NULL */
};

/* The slots 0 .. levels-1 are the parameters. */
void program_compile(const struct space *space, const struct space_split *split, int group,
                     const int *order, int levels, int *chosen, struct arena *arena,
                     struct program *program);
int program_text(struct program *program, const char *text); /* the number of a text */
/* Runs the steps of a level; false as soon as a conjunct fails. */
bool program_run(struct program *program, int level);
bool program_test(struct program *program,
                  int slot); /* a decided conjunct, also when its slot is bad */

/* Leaves those values of a level's parameter that can pass its tests: the indices from limits[0] to
 * before limits[1], or, where it returns true, the `*used` ones of `list`, which has room for all.
 */
bool program_narrow(const struct program *program, int level, int limits[2], int *list, int *used);

enum stax_status space_build_tree(struct space *space, const struct space_split *split, int group,
                                  struct space_tree *tree);
/* The tree of the recorded rows, over all parameters in their own order. */
enum stax_status space_build_rows(struct space *space, struct space_tree *tree);

#endif
