/* From constraints to an order of levels.
 *
 * A constraint is split at its top-level `and`s, so that each part is tested as early as it can be.
 * Parameters that share a part form a group (union-find); parameters of one value connect nothing.
 * Inside a group the order decides how many states the tree has: a beam search over sets of fixed
 * parameters minimises the expected number of level steps, where the states behind a set are the
 * combinations of those fixed parameters that open conjuncts still read. */
#include <math.h>
#include <string.h>

#include "base/expr_value.h"
#include "base/rng.h"
#include "base/space_impl.h"

struct splitter {
    const struct space *space;
    struct arena *arena;
    struct space_split *split;
    int capacity;
    struct space_set *params; /* of the conjunct whose names are being walked */
    const char *unknown;
};

static void note_param(void *data, const char *name)
{
    struct splitter *s = data;
    int param = space_find(s->space, name);
    if (param >= 0) {
        if (s->space->params[param].count > 1) {
            space_put(s->params, param);
        }
        return;
    }
    int none[SPACE_PARAMS] = {0};
    struct value value;
    struct space_choice choice = {s->space, none};
    if (!space_lookup(&choice, name, &value) && !s->unknown) {
        s->unknown = name;
    }
}

/* An unknown function would only show as a constraint that never holds. */
static enum stax_status check_calls(const struct expr *expr, struct arena *arena)
{
    if (expr->kind == EXPR_CALL && expr->kids[0]->kind == EXPR_NAME) {
        struct value none;
        bool known;
        value_call(expr->kids[0]->text, NULL, -1, arena, &none, &known);
        if (!known) {
            return span_error("constraint", expr->kids[0]->span, "unknown function `%s`",
                              expr->kids[0]->text);
        }
    }
    for (int i = 0; i < expr->count; i++) {
        if (expr->kids[i]) {
            STAX_TRY(check_calls(expr->kids[i], arena));
        }
    }
    return STAX_OK;
}

static void add_conjunct(struct splitter *s, const struct expr *expr, const char *text)
{
    struct space_split *split = s->split;
    if (expr->kind == EXPR_AND) {
        for (int i = 0; i < expr->count; i++) {
            add_conjunct(s, expr->kids[i], text);
        }
        return;
    }
    if (split->conjuncts == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 16;
        split->conjunct = arena_grow(s->arena, split->conjunct, (size_t)split->conjuncts,
                                     (size_t)s->capacity, sizeof *split->conjunct);
    }
    struct space_conjunct *conjunct = &split->conjunct[split->conjuncts++];
    *conjunct = (struct space_conjunct){.expr = expr, .text = text};
    s->params = &conjunct->params;
    expr_names(expr, note_param, s);
}

/* Evaluates a conjunct that has no free parameter. */
static void decide(struct splitter *s, const struct expr *expr)
{
    int chosen[SPACE_PARAMS] = {0};
    struct space_choice choice = {s->space, chosen};
    struct value value;
    if (expr_eval("constraint", expr, space_lookup, &choice, s->arena, &value) != STAX_OK) {
        s->split->impossible = true;
        s->split->warning = arena_text(s->arena, status_message());
    } else if (!value_true(&value)) {
        s->split->impossible = true;
    }
}

/* The share of value combinations that pass, from 64 seeded draws (chosen: only the order depends
 * on it). */
static double sample_pass(const struct space *space, const struct space_conjunct *conjunct,
                          struct arena *moment)
{
    enum { DRAWS = 64 };
    struct rng rng = rng_make(1, 2);
    int chosen[SPACE_PARAMS] = {0}, passed = 0;
    struct space_choice choice = {space, chosen};
    for (int draw = 0; draw < DRAWS; draw++) {
        for (int p = 0; p < space->count; p++) {
            if (space_has(&conjunct->params, p)) {
                chosen[p] = (int)rng_below(&rng, (uint64_t)space->params[p].count);
            }
        }
        struct value value;
        enum stax_status status = expr_eval("constraint", conjunct->expr, space_lookup, &choice,
                                            moment, &value);
        passed += status == STAX_OK && value_true(&value);
        arena_reset(moment);
    }
    return log2((passed + 0.5) / (DRAWS + 0.5));
}

static int find_root(int *parent, int p)
{
    while (parent[p] != p) {
        parent[p] = parent[parent[p]];
        p = parent[p];
    }
    return p;
}

static void find_groups(const struct space *space, struct arena *arena, struct space_split *split)
{
    int *parent = ARENA_ARRAY(arena, int, space->count);
    for (int p = 0; p < space->count; p++) {
        parent[p] = p;
    }
    for (int c = 0; c < split->conjuncts; c++) {
        int first = -1;
        for (int p = 0; p < space->count; p++) {
            if (!space_has(&split->conjunct[c].params, p)) {
                continue;
            }
            if (first < 0) {
                first = find_root(parent, p);
            } else { /* the smaller number stays the root, so that groups count by first parameter
                      */
                int root = find_root(parent, p);
                parent[root > first ? root : first] = root < first ? root : first;
                first = root < first ? root : first;
            }
        }
    }
    split->group_of = ARENA_ARRAY(arena, int, space->count);
    for (int p = 0; p < space->count; p++) {
        int root = find_root(parent, p);
        split->group_of[p] = root == p ? split->groups++ : split->group_of[root];
    }
}

enum stax_status space_split(const struct space *space, struct arena *arena,
                             struct space_split *split)
{
    *split = (struct space_split){0};
    struct splitter s = {.space = space, .arena = arena, .split = split};
    for (int c = 0; c < space->constraints; c++) {
        const struct space_constraint *constraint = &space->constraint[c];
        STAX_TRY(check_calls(constraint->expr, arena));
        add_conjunct(&s, constraint->expr, constraint->text);
        if (s.unknown) {
            STAX_RETURN(STAX_USAGE,
                        "constraint `%s`: `%s` is neither a parameter of space %s nor defined",
                        constraint->text, s.unknown, space->name);
        }
    }
    int kept = 0;
    const struct space_set none = {{0}};
    struct arena *moment = arena_create();
    for (int c = 0; c < split->conjuncts; c++) {
        struct space_conjunct *conjunct = &split->conjunct[c];
        if (memcmp(&conjunct->params, &none, sizeof none) == 0) {
            decide(&s, conjunct->expr);
            continue;
        }
        conjunct->pass_log2 = sample_pass(space, conjunct, moment);
        split->conjunct[kept++] = *conjunct;
    }
    split->conjuncts = kept;
    arena_destroy(moment);
    find_groups(space, arena, split);
    return STAX_OK;
}

/* A partial order in the beam. */
struct partial {
    struct space_set fixed;
    double cost;   /* level steps so far */
    double states; /* log2 of the states behind the fixed ones */
    int parent, param;
};

struct orderer {
    const struct space *space;
    int count; /* parameters of the group */
    const int *params;
    int conjuncts;
    const struct space_conjunct **conjunct;
};

static bool inside(const struct space_set *small, const struct space_set *large)
{
    for (size_t i = 0; i < STAX_COUNT(small->bits); i++) {
        if (small->bits[i] & ~large->bits[i]) {
            return false;
        }
    }
    return true;
}

static double states_behind(const struct orderer *o, const struct space_set *fixed)
{
    struct space_set open = {{0}}, live;
    for (int c = 0; c < o->conjuncts; c++) {
        if (!inside(&o->conjunct[c]->params, fixed)) {
            for (size_t i = 0; i < STAX_COUNT(open.bits); i++) {
                open.bits[i] |= o->conjunct[c]->params.bits[i];
            }
        }
    }
    for (size_t i = 0; i < STAX_COUNT(open.bits); i++) {
        live.bits[i] = open.bits[i] & fixed->bits[i];
    }
    double states = 0;
    for (int i = 0; i < o->count; i++) {
        if (space_has(&live, o->params[i])) {
            states += log2(o->space->params[o->params[i]].count);
        }
    }
    for (int c = 0; c < o->conjuncts; c++) {
        if (inside(&o->conjunct[c]->params, &live)) {
            states += o->conjunct[c]->pass_log2;
        }
    }
    return states > 0 ? states : 0;
}

/* Puts a candidate into the sorted beam of the next depth; of two with the same fixed set the
 * cheaper stays. */
static void offer(struct partial *beam, int *used, int width, const struct partial *candidate)
{
    int at = *used;
    for (int i = 0; i < *used; i++) {
        if (memcmp(&beam[i].fixed, &candidate->fixed, sizeof candidate->fixed) == 0) {
            if (beam[i].cost <= candidate->cost) {
                return;
            }
            at = i;
            break;
        }
    }
    if (at == *used) {
        if (*used == width) {
            if (beam[width - 1].cost <= candidate->cost) {
                return;
            }
            at = width - 1;
        } else {
            ++*used;
        }
    }
    for (; at > 0 && beam[at - 1].cost > candidate->cost; at--) {
        beam[at] = beam[at - 1];
    }
    beam[at] = *candidate;
}

static void search(const struct orderer *o, struct arena *arena, int *order)
{
    int width = 200000 / (o->count * o->count * (o->conjuncts + 1)); /* chosen: about 10 ms */
    width = width < 1 ? 1 : width > 256 ? 256 : width;
    struct partial *all = ARENA_ARRAY(arena, struct partial, (o->count + 1) * width);
    all[0] = (struct partial){.param = -1};
    int used = 1;
    for (int depth = 0; depth < o->count; depth++) {
        const struct partial *now = &all[depth * width];
        int next_used = 0;
        for (int i = 0; i < used; i++) {
            for (int k = 0; k < o->count; k++) {
                int param = o->params[k];
                if (space_has(&now[i].fixed, param)) {
                    continue;
                }
                double steps = now[i].states + log2(o->space->params[param].count);
                struct partial next = now[i];
                space_put(&next.fixed, param);
                next.cost += exp2(steps < 1000 ? steps : 1000);
                next.states = states_behind(o, &next.fixed);
                next.parent = i;
                next.param = param;
                offer(&all[(depth + 1) * width], &next_used, width, &next);
            }
        }
        used = next_used;
    }
    int at = 0;
    for (int depth = o->count; depth > 0; depth--) {
        order[depth - 1] = all[depth * width + at].param;
        at = all[depth * width + at].parent;
    }
}

int space_order(const struct space *space, const struct space_split *split, int group,
                struct arena *arena, int *order)
{
    int params[SPACE_PARAMS];
    struct orderer o = {.space = space, .params = params};
    o.conjunct = ARENA_ARRAY(arena, const struct space_conjunct *, split->conjuncts);
    for (int p = 0; p < space->count; p++) {
        if (split->group_of[p] == group) {
            params[o.count++] = p;
        }
    }
    for (int c = 0; c < split->conjuncts; c++) {
        for (int i = 0; i < o.count; i++) {
            if (space_has(&split->conjunct[c].params, params[i])) {
                o.conjunct[o.conjuncts++] = &split->conjunct[c];
                break;
            }
        }
    }
    if (o.count == 1) {
        order[0] = params[0];
    } else {
        search(&o, arena, order);
    }
    return o.count;
}
