/* The scalar evaluator and the walk over free names; see expr.h.
 *
 * Recursion follows the tree, whose depth the parser bounds. Loops of comprehensions share one
 * budget of steps, so that no expression runs for ever. */
#include <stdarg.h>
#include <string.h>

#include "base/expr_value.h"

enum { STEPS = 1 << 22 }; /* rounds of all loops of one evaluation (chosen: under a second) */

/* Variables of the comprehensions around, innermost first. */
struct scope {
    const struct scope *outer;
    const char *name;
    struct value value;
};

struct eval {
    const char *what;
    expr_lookup *lookup;
    void *data;
    struct arena *arena;
    int steps;
};

static enum stax_status eval(struct eval *e, const struct expr *expr, const struct scope *scope,
                             struct value *out);

static enum stax_status eval_name(struct eval *e, const struct expr *expr,
                                  const struct scope *scope, struct value *out)
{
    for (; scope; scope = scope->outer) {
        if (strcmp(scope->name, expr->text) == 0) {
            *out = scope->value;
            return STAX_OK;
        }
    }
    if (e->lookup && e->lookup(e->data, expr->text, out)) {
        return STAX_OK;
    }
    return span_error(e->what, expr->span, "unknown name `%s`", expr->text);
}

static enum stax_status eval_compare(struct eval *e, const struct expr *expr,
                                     const struct scope *scope, struct value *out)
{
    struct value left, right;
    STAX_TRY(eval(e, expr->kids[0], scope, &left));
    for (int i = 1; i < expr->count; i++) {
        bool holds;
        STAX_TRY(eval(e, expr->kids[i], scope, &right));
        const char *error = value_compare(expr->ops[i - 1], &left, &right, &holds);
        if (error) {
            return span_error(e->what, expr->span, "this %s", error);
        }
        *out = value_bool(holds);
        if (!holds) {
            break;
        }
        left = right;
    }
    return STAX_OK;
}

static enum stax_status eval_items(struct eval *e, const struct expr *expr,
                                   const struct scope *scope, struct value *out)
{
    struct value *items = ARENA_ARRAY(e->arena, struct value, expr->count);
    for (int i = 0; i < expr->count; i++) {
        STAX_TRY(eval(e, expr->kids[i], scope, &items[i]));
    }
    *out = (struct value){.kind = VALUE_LIST, .items = items, .count = expr->count};
    return STAX_OK;
}

/* The clauses of a comprehension from kids[clause] on; results are appended to `out`. */
static enum stax_status eval_each(struct eval *e, const struct expr *expr, int clause,
                                  const struct scope *scope, struct value *out, int *capacity)
{
    if (clause == expr->count) {
        if (out->count == *capacity) {
            if (out->count >= VALUE_LIST_MOST) {
                return span_error(e->what, expr->span, "this list is too long");
            }
            *capacity = *capacity ? 2 * *capacity : 16;
            out->items = arena_grow(e->arena, out->items, (size_t)out->count, (size_t)*capacity,
                                    sizeof *out->items);
        }
        struct value item;
        STAX_TRY(eval(e, expr->kids[0], scope, &item));
        out->items[out->count++] = item;
        return STAX_OK;
    }
    struct value list, keep = value_bool(true);
    STAX_TRY(eval(e, expr->kids[clause], scope, &list));
    if (list.kind != VALUE_LIST) {
        return span_error(e->what, expr->kids[clause]->span, "expected a list to go through");
    }
    for (int i = 0; i < list.count; i++) {
        if (e->steps++ > STEPS) {
            return span_error(e->what, expr->span, "this takes too many steps");
        }
        struct scope inner = {scope, expr->names[clause], list.items[i]};
        if (expr->kids[clause + 1]) {
            STAX_TRY(eval(e, expr->kids[clause + 1], &inner, &keep));
        }
        if (value_true(&keep)) {
            STAX_TRY(eval_each(e, expr, clause + 2, &inner, out, capacity));
        }
    }
    return STAX_OK;
}

static enum stax_status eval_call(struct eval *e, const struct expr *expr,
                                  const struct scope *scope, struct value *out)
{
    const struct expr *callee = expr->kids[0];
    bool math = callee->kind == EXPR_ATTRIBUTE && callee->kids[0]->kind == EXPR_NAME &&
                strcmp(callee->kids[0]->text, "math") == 0;
    if (callee->kind != EXPR_NAME && !math) {
        return span_error(e->what, callee->span, "this is not a function");
    }
    struct value *arguments = ARENA_ARRAY(e->arena, struct value, expr->count);
    for (int i = 1; i < expr->count; i++) {
        if (expr->names[i]) {
            return span_error(e->what, expr->kids[i]->span, "`%s` takes no keyword arguments",
                              callee->text);
        }
        STAX_TRY(eval(e, expr->kids[i], scope, &arguments[i - 1]));
    }
    bool known;
    const char *error = value_call(callee->text, arguments, expr->count - 1, e->arena, out, &known);
    if (!known) {
        return span_error(e->what, callee->span, "unknown function `%s`", callee->text);
    }
    return error ? span_error(e->what, expr->span, "%s: %s", callee->text, error) : STAX_OK;
}

static enum stax_status eval_index(struct eval *e, const struct expr *expr,
                                   const struct scope *scope, struct value *out)
{
    struct value list, index;
    STAX_TRY(eval(e, expr->kids[0], scope, &list));
    if (list.kind != VALUE_LIST || expr->count != 2 || expr->kids[1]->kind == EXPR_SLICE) {
        return span_error(e->what, expr->span, "only a list can be indexed, by one integer");
    }
    STAX_TRY(eval(e, expr->kids[1], scope, &index));
    int64_t at = index.i < 0 ? index.i + list.count : index.i;
    if (!value_is_whole(&index) || at < 0 || at >= list.count) {
        return span_error(e->what, expr->kids[1]->span, "this is no index of a list of %d",
                          list.count);
    }
    *out = list.items[at];
    return STAX_OK;
}

static enum stax_status eval_logic(struct eval *e, const struct expr *expr,
                                   const struct scope *scope, struct value *out)
{
    for (int i = 0; i < expr->count; i++) {
        STAX_TRY(eval(e, expr->kids[i], scope, out));
        if (value_true(out) == (expr->kind == EXPR_OR)) {
            break;
        }
    }
    return STAX_OK;
}

static enum stax_status eval_operator(struct eval *e, const struct expr *expr,
                                      const struct scope *scope, struct value *out)
{
    struct value a, b;
    STAX_TRY(eval(e, expr->kids[0], scope, &a));
    const char *error;
    if (expr->kind == EXPR_UNARY) {
        error = value_unary(expr->op, &a, out);
    } else {
        STAX_TRY(eval(e, expr->kids[1], scope, &b));
        error = value_binary(expr->op, &a, &b, e->arena, out);
    }
    return error ? span_error(e->what, expr->span, "this %s", error) : STAX_OK;
}

static enum stax_status eval(struct eval *e, const struct expr *expr, const struct scope *scope,
                             struct value *out)
{
    struct value condition;
    int capacity = 0;
    switch (expr->kind) {
    case EXPR_INT: *out = value_int(expr->i); return STAX_OK;
    case EXPR_FLOAT: *out = value_float(expr->f); return STAX_OK;
    case EXPR_BOOL: *out = value_bool(expr->i != 0); return STAX_OK;
    case EXPR_TEXT: *out = (struct value){.kind = VALUE_TEXT, .text = expr->text}; return STAX_OK;
    case EXPR_NAME: return eval_name(e, expr, scope, out);
    case EXPR_UNARY:
    case EXPR_BINARY: return eval_operator(e, expr, scope, out);
    case EXPR_COMPARE: return eval_compare(e, expr, scope, out);
    case EXPR_AND:
    case EXPR_OR: return eval_logic(e, expr, scope, out);
    case EXPR_CALL: return eval_call(e, expr, scope, out);
    case EXPR_INDEX: return eval_index(e, expr, scope, out);
    case EXPR_LIST:
    case EXPR_TUPLE: return eval_items(e, expr, scope, out);
    case EXPR_EACH:
        *out = (struct value){.kind = VALUE_LIST};
        return eval_each(e, expr, 1, scope, out, &capacity);
    case EXPR_IF:
        STAX_TRY(eval(e, expr->kids[0], scope, &condition));
        return eval(e, expr->kids[value_true(&condition) ? 1 : 2], scope, out);
    case EXPR_NONE:
    case EXPR_ATTRIBUTE:
    case EXPR_SLICE:
    case EXPR_LAMBDA: break;
    }
    return span_error(e->what, expr->span, "this is no number, text, list or truth value");
}

enum stax_status expr_eval(const char *what, const struct expr *expr, expr_lookup *lookup,
                           void *data, struct arena *arena, struct value *value)
{
    struct eval e = {what, lookup, data, arena, 0};
    return eval(&e, expr, NULL, value);
}

struct names {
    struct arena *arena;
    const char **seen;
    int count, capacity;
    void (*visit)(void *data, const char *name);
    void *data;
};

static void walk(struct names *names, const struct expr *expr, const struct scope *scope);

static void walk_name(struct names *names, const char *name, const struct scope *scope)
{
    for (; scope; scope = scope->outer) {
        if (strcmp(scope->name, name) == 0) {
            return;
        }
    }
    for (int i = 0; i < names->count; i++) {
        if (strcmp(names->seen[i], name) == 0) {
            return;
        }
    }
    if (names->count == names->capacity) {
        names->capacity = names->capacity ? 2 * names->capacity : 16;
        names->seen = arena_grow(names->arena, names->seen, (size_t)names->count,
                                 (size_t)names->capacity, sizeof *names->seen);
    }
    names->seen[names->count++] = name;
    names->visit(names->data, name);
}

/* Clauses bind their variables for what follows and for the element, which is walked last. */
static void walk_each(struct names *names, const struct expr *expr, int clause,
                      const struct scope *scope)
{
    if (clause == expr->count) {
        walk(names, expr->kids[0], scope);
        return;
    }
    walk(names, expr->kids[clause], scope);
    struct scope inner = {.outer = scope, .name = expr->names[clause]};
    if (expr->kids[clause + 1]) {
        walk(names, expr->kids[clause + 1], &inner);
    }
    walk_each(names, expr, clause + 2, &inner);
}

static void walk_lambda(struct names *names, const struct expr *expr, int parameter,
                        const struct scope *scope)
{
    if (parameter == expr->count - 1) {
        walk(names, expr->kids[parameter], scope);
        return;
    }
    struct scope inner = {.outer = scope, .name = expr->names[parameter]};
    walk_lambda(names, expr, parameter + 1, &inner);
}

static void walk(struct names *names, const struct expr *expr, const struct scope *scope)
{
    switch (expr->kind) {
    case EXPR_NAME: walk_name(names, expr->text, scope); return;
    case EXPR_EACH: walk_each(names, expr, 1, scope); return;
    case EXPR_LAMBDA: walk_lambda(names, expr, 0, scope); return;
    default: break;
    }
    for (int i = expr->kind == EXPR_CALL; i < expr->count;
         i++) { /* a function's name is not free */
        if (expr->kids[i]) {
            walk(names, expr->kids[i], scope);
        }
    }
}

void expr_names(const struct expr *expr, void (*visit)(void *data, const char *name), void *data)
{
    struct names names = {.arena = arena_create(), .visit = visit, .data = data};
    walk(&names, expr, NULL);
    arena_destroy(names.arena);
}
