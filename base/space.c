/* Building spaces and reading them back; see space.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr_value.h"
#include "base/space_impl.h"
#include "base/text.h"

/* Room for one more in an array that doubles. */
static void *room(struct arena *arena, void *array, int count, int *capacity, size_t each)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity ? 2 * *capacity : 8;
    return arena_grow(arena, array, (size_t)count, (size_t)*capacity, each);
}

struct space *space_create(const char *name, struct arena *arena)
{
    struct space *space = ARENA_NEW(arena, struct space);
    space->name = arena_text(arena, name);
    space->arena = arena;
    return space;
}

static struct value copy_value(const struct value *value, struct arena *arena)
{
    struct value copy = *value;
    if (value->kind == VALUE_TEXT) {
        copy.text = arena_text(arena, value->text);
    }
    if (value->kind == VALUE_LIST) {
        copy.items = ARENA_ARRAY(arena, struct value, value->count);
        for (int i = 0; i < value->count; i++) {
            copy.items[i] = copy_value(&value->items[i], arena);
        }
    }
    return copy;
}

static const struct space_name *find_define(const struct space *space, const char *name)
{
    for (int i = 0; i < space->defines; i++) {
        if (strcmp(space->define[i].name, name) == 0) {
            return &space->define[i];
        }
    }
    return NULL;
}

static enum stax_status check_name(const struct space *space, const char *name)
{
    STAX_CHECK(!space->finished);
    if (space_find(space, name) >= 0 || find_define(space, name)) {
        STAX_RETURN(STAX_USAGE, "space %s: `%s` is given twice: rename one", space->name, name);
    }
    if (space->count == SPACE_PARAMS) {
        STAX_RETURN(STAX_LIMIT, "space %s: more than %d parameters", space->name, SPACE_PARAMS);
    }
    return STAX_OK;
}

static int ascending(const void *a, const void *b)
{
    bool below;
    const char *error = value_compare(EXPR_OP_LT, a, b, &below);
    STAX_CHECK(!error);
    return below ? -1 : !value_equal(a, b);
}

/* Drops repetitions, keeping the first. Long lists are those of numbers, which stand ascending
 * already. */
static int unique(struct value *values, int count, bool sorted)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int j = sorted && kept ? kept - 1 : 0; j < kept && !seen; j++) {
            seen = value_equal(&values[j], &values[i]) &&
                   (values[j].kind == VALUE_BOOL) == (values[i].kind == VALUE_BOOL);
        }
        if (!seen) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

enum stax_status space_add_values(struct space *space, const char *name, const struct value *values,
                                  int count, bool categorical)
{
    STAX_TRY(check_name(space, name));
    if (count <= 0) {
        STAX_RETURN(STAX_USAGE, "space %s: parameter `%s` has no values", space->name, name);
    }
    struct param param = {.name = arena_text(space->arena, name), .ordered = !categorical};
    param.values = ARENA_ARRAY(space->arena, struct value, count);
    for (int i = 0; i < count; i++) {
        param.values[i] = copy_value(&values[i], space->arena);
        if (values[i].kind == VALUE_FLOAT && isnan(values[i].f)) {
            STAX_RETURN(STAX_USAGE, "space %s: parameter `%s` has a value that is no number",
                        space->name, name);
        }
        if (values[i].kind != VALUE_INT && values[i].kind != VALUE_FLOAT) {
            param.ordered = false;
        }
    }
    if (param.ordered) {
        qsort(param.values, (size_t)count, sizeof *param.values, ascending);
    }
    param.count = unique(param.values, count, param.ordered);
    space->params = room(space->arena, space->params, space->count, &space->capacity,
                         sizeof *space->params);
    space->params[space->count++] = param;
    return STAX_OK;
}

enum stax_status space_add_ints(struct space *space, const char *name, const int64_t *values,
                                int count)
{
    struct arena *scratch = arena_create();
    struct value *list = ARENA_ARRAY(scratch, struct value, count > 0 ? count : 0);
    for (int i = 0; i < count; i++) {
        list[i] = value_int(values[i]);
    }
    enum stax_status status = space_add_values(space, name, list, count, false);
    arena_destroy(scratch);
    return status;
}

enum stax_status space_add_texts(struct space *space, const char *name, const char *const *values,
                                 int count)
{
    struct arena *scratch = arena_create();
    struct value *list = ARENA_ARRAY(scratch, struct value, count > 0 ? count : 0);
    for (int i = 0; i < count; i++) {
        list[i] = (struct value){.kind = VALUE_TEXT, .text = values[i]};
    }
    enum stax_status status = space_add_values(space, name, list, count, true);
    arena_destroy(scratch);
    return status;
}

bool space_lookup(void *data, const char *name, struct value *value)
{
    const struct space_choice *choice = data;
    int param = space_find(choice->space, name);
    if (param >= 0) {
        *value = choice->space->params[param].values[choice->chosen[param]];
        return true;
    }
    const struct space_name *define = find_define(choice->space, name);
    if (define) {
        *value = define->value;
    }
    return define != NULL;
}

/* The earlier parameters that an expression names, or its first unknown name. */
struct named {
    const struct space *space;
    int count;
    int params[SPACE_PARAMS];
    const char *unknown;
};

static void note_name(void *data, const char *name)
{
    struct named *named = data;
    int param = space_find(named->space, name);
    if (param >= 0) {
        named->params[named->count++] = param;
    } else if (!find_define(named->space, name) && !named->unknown) {
        named->unknown = name;
    }
}

/* Gathers the union of an expression's values over all values of the parameters it names.
 * Combinations where it fails give none; it is an error only when all of them fail, and then
 * `status` is the last one's. */
static enum stax_status gather(struct space *space, const char *what, const struct expr *expr,
                               const struct named *named, struct arena *scratch, struct value *all)
{
    enum { COMBINATIONS = 1 << 20 }; /* chosen: a second or so */
    int chosen[SPACE_PARAMS] = {0}, capacity = 0, combinations = 0, crowded = 4096;
    struct space_choice choice = {space, chosen};
    enum stax_status last = STAX_OK;
    bool sorted = true;
    struct arena *moment = arena_create();
    *all = (struct value){.kind = VALUE_LIST};
    for (int place = 0; place >= 0; combinations++) {
        if (combinations == COMBINATIONS) {
            arena_destroy(moment);
            STAX_RETURN(STAX_LIMIT, "%s depends on too many values of other parameters", what);
        }
        struct value value;
        enum stax_status status = expr_eval(what, expr, space_lookup, &choice, moment, &value);
        last = status == STAX_OK || all->count ? STAX_OK : status;
        struct value one = value;
        if (status == STAX_OK && value.kind != VALUE_LIST) {
            value = (struct value){.kind = VALUE_LIST, .items = &one, .count = 1};
        }
        for (int i = 0; status == STAX_OK && i < value.count; i++) {
            all->items = room(scratch, all->items, all->count, &capacity, sizeof *all->items);
            all->items[all->count++] = copy_value(&value.items[i], scratch);
            sorted = sorted &&
                     (value.items[i].kind == VALUE_INT || value.items[i].kind == VALUE_FLOAT);
        }
        if (all->count > crowded) { /* repetitions are the rule: keep it short */
            if (sorted) {
                qsort(all->items, (size_t)all->count, sizeof *all->items, ascending);
            }
            all->count = unique(all->items, all->count, sorted);
            crowded = all->count > crowded / 2 ? 2 * all->count : crowded;
        }
        arena_reset(moment);
        for (place = named->count - 1; place >= 0; place--) { /* the next combination */
            int param = named->params[place];
            if (++chosen[param] < space->params[param].count) {
                break;
            }
            chosen[param] = 0;
        }
    }
    arena_destroy(moment);
    return last;
}

enum stax_status space_add_expression(struct space *space, const char *name, const char *expression)
{
    STAX_TRY(check_name(space, name));
    struct arena *scratch = arena_create();
    struct expr *expr;
    struct value all;
    struct named named = {.space = space};
    const char *what = arena_printf(scratch, "values of %s", name);
    enum stax_status status = expr_parse_text(what, expression, scratch, &expr);
    if (status == STAX_OK) {
        expr_names(expr, note_name, &named);
        if (named.unknown) {
            status = status_set(STAX_USAGE, "%s: unknown name `%s`: name earlier parameters only",
                                what, named.unknown);
        }
    }
    if (status == STAX_OK) {
        status = gather(space, what, expr, &named, scratch, &all);
    }
    if (status == STAX_OK) {
        status = space_add_values(space, name, all.items, all.count, false);
    }
    if (status == STAX_OK && named.count > 0) {
        status = space_add_constraint(space, arena_printf(scratch, "%s in (%s)", name, expression));
    }
    arena_destroy(scratch);
    return status;
}

enum stax_status space_add_constraint(struct space *space, const char *expression)
{
    STAX_CHECK(!space->finished);
    struct expr *expr;
    const char *text = arena_text(space->arena, expression);
    STAX_TRY(expr_parse_text("constraint", text, space->arena, &expr));
    space->constraint = room(space->arena, space->constraint, space->constraints,
                             &space->constraint_capacity, sizeof *space->constraint);
    space->constraint[space->constraints++] = (struct space_constraint){text, expr};
    return STAX_OK;
}

enum stax_status space_define(struct space *space, const char *name, struct value value)
{
    STAX_TRY(check_name(space, name));
    space->define = room(space->arena, space->define, space->defines, &space->define_capacity,
                         sizeof *space->define);
    space->define[space->defines++] = (struct space_name){arena_text(space->arena, name),
                                                          copy_value(&value, space->arena)};
    return STAX_OK;
}

enum stax_status space_restrict_to(struct space *space, const int *rows, uint64_t count)
{
    STAX_CHECK(!space->finished);
    if (count > UINT32_MAX) {
        STAX_RETURN(STAX_LIMIT, "space %s: too many recorded configurations", space->name);
    }
    space->restricted = true;
    space->row_count = count;
    space->rows = arena_copy(space->arena, rows,
                             (size_t)count * (size_t)space->count * sizeof *rows);
    return STAX_OK;
}

static void prepare_texts(struct space *space)
{
    space->by_name = ARENA_ARRAY(space->arena, int, space->count);
    space->value_text = ARENA_ARRAY(space->arena, const char **, space->count);
    for (int p = 0; p < space->count; p++) {
        const struct param *param = &space->params[p];
        int at = p;
        for (; at > 0 && strcmp(space->params[space->by_name[at - 1]].name, param->name) > 0;
             at--) {
            space->by_name[at] = space->by_name[at - 1];
        }
        space->by_name[at] = p;
        space->value_text[p] = ARENA_ARRAY(space->arena, const char *, param->count);
        for (int v = 0; v < param->count; v++) {
            space->value_text[p][v] = value_text(&param->values[v], space->arena);
        }
    }
}

/* Chains the trees: their order is that of their first parameters, the last one's rank varies
 * fastest. */
static enum stax_status chain(struct space *space)
{
    space->tree_of = ARENA_ARRAY(space->arena, int, space->count);
    space->level_of = ARENA_ARRAY(space->arena, int, space->count);
    space->total = 1;
    bool empty = space->impossible;
    for (int t = 0; t < space->trees; t++) {
        empty = empty || space->tree[t].count == 0;
    }
    for (int t = space->trees - 1; t >= 0; t--) {
        struct space_tree *tree = &space->tree[t];
        for (int level = 0; level < tree->levels; level++) {
            space->tree_of[tree->params[level]] = t;
            space->level_of[tree->params[level]] = level;
        }
        tree->stride = space->total;
        if (!empty && __builtin_mul_overflow(space->total, tree->count, &space->total)) {
            STAX_RETURN(STAX_LIMIT, "space %s has more than 2^64 valid configurations",
                        space->name);
        }
    }
    if (empty) {
        space->total = 0;
    }
    return STAX_OK;
}

static enum stax_status build(struct space *space, struct arena *scratch)
{
    if (space->restricted) {
        space->trees = 1;
        space->tree = ARENA_NEW(space->arena, struct space_tree);
        return space_build_rows(space, space->tree);
    }
    struct space_split split;
    STAX_TRY(space_split(space, scratch, &split));
    space->impossible = split.impossible;
    space->warning = split.warning ? arena_text(space->arena, split.warning) : NULL;
    space->trees = split.groups;
    space->tree = ARENA_ARRAY(space->arena, struct space_tree, split.groups);
    for (int group = 0; group < split.groups; group++) {
        STAX_TRY(space_build_tree(space, &split, group, &space->tree[group]));
    }
    return STAX_OK;
}

enum stax_status space_finish(struct space *space)
{
    STAX_CHECK(!space->finished);
    struct arena *scratch = arena_create();
    enum stax_status status = build(space, scratch);
    arena_destroy(scratch);
    STAX_TRY(status);
    STAX_TRY(chain(space));
    if (space->total == 0 && space->warning) {
        STAX_RETURN(STAX_USAGE, "space %s has no valid configuration: %s", space->name,
                    space->warning);
    }
    prepare_texts(space);
    space->finished = true;
    return STAX_OK;
}

const char *space_name(const struct space *space)
{
    return space->name;
}

int space_params(const struct space *space)
{
    return space->count;
}

const struct param *space_param(const struct space *space, int index)
{
    STAX_CHECK(index >= 0 && index < space->count);
    return &space->params[index];
}

int space_find(const struct space *space, const char *name)
{
    for (int p = 0; p < space->count; p++) {
        if (strcmp(space->params[p].name, name) == 0) {
            return p;
        }
    }
    return -1;
}

int space_constraints(const struct space *space)
{
    return space->constraints;
}

const char *space_constraint(const struct space *space, int index)
{
    STAX_CHECK(index >= 0 && index < space->constraints);
    return space->constraint[index].text;
}

double space_cartesian(const struct space *space)
{
    double product = 1;
    for (int p = 0; p < space->count; p++) {
        product *= space->params[p].count;
    }
    return product;
}

uint64_t space_count(const struct space *space)
{
    STAX_CHECK(space->finished);
    return space->total;
}

size_t space_bytes(const struct space *space)
{
    STAX_CHECK(space->finished);
    return space->bytes;
}

const char *space_warning(const struct space *space)
{
    return space->warning;
}
