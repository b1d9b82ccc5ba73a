/* Recursive descent over the grammar of expr.h, binary operators by precedence climbing.
 *
 * Two limits keep every later recursion safe: EXPR_DEPTH on nesting while parsing, EXPR_CHAIN on
 * the depth of the tree, which left-associative chains (a + a + a ...) build without nesting. */
#include <string.h>

#include "base/expr.h"

struct operation {
    const char *text;
    int level; /* higher binds tighter */
    enum expr_op op;
};

static const struct operation binaries[] = {
    {"|", 1, EXPR_OP_BITOR},     {"^", 2, EXPR_OP_BITXOR}, {"&", 3, EXPR_OP_BITAND},
    {"<<", 4, EXPR_OP_SHL},      {">>", 4, EXPR_OP_SHR},   {"+", 5, EXPR_OP_ADD},
    {"-", 5, EXPR_OP_SUB},       {"*", 6, EXPR_OP_MUL},    {"/", 6, EXPR_OP_DIV},
    {"//", 6, EXPR_OP_FLOORDIV}, {"%", 6, EXPR_OP_MOD},    {"@", 6, EXPR_OP_MATMUL},
};

static const struct operation comparisons[] = {
    {"<", 0, EXPR_OP_LT},  {"<=", 0, EXPR_OP_LE}, {">", 0, EXPR_OP_GT},  {">=", 0, EXPR_OP_GE},
    {"==", 0, EXPR_OP_EQ}, {"!=", 0, EXPR_OP_NE}, {"in", 0, EXPR_OP_IN},
};

static const char *const keywords[] = {"and", "or", "not", "in", "if", "then", "else", "for"};

static enum stax_status parse_or(struct lexer *lexer, struct expr **out);
static enum stax_status parse_unary(struct lexer *lexer, struct expr **out);

/* A growing list of children, with the keyword (or comparison) that stands before each. */
struct list {
    struct expr **kids;
    const char **names;
    int count, capacity;
};

static void list_add(struct arena *arena, struct list *list, struct expr *kid, const char *name)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 4;
        list->kids = arena_grow(arena, list->kids, (size_t)list->count, (size_t)capacity,
                                sizeof *list->kids);
        list->names = arena_grow(arena, list->names, (size_t)list->count, (size_t)capacity,
                                 sizeof *list->names);
        list->capacity = capacity;
    }
    list->kids[list->count] = kid;
    list->names[list->count++] = name;
}

/* A node from the text offset `start` to the last token taken. */
static enum stax_status make(struct lexer *lexer, enum expr_kind kind, size_t start,
                             struct list list, struct expr **out)
{
    struct expr *expr = ARENA_NEW(lexer->arena, struct expr);
    expr->kind = kind;
    expr->span = (struct span){lexer->text, start, lexer->end - start};
    expr->count = list.count;
    expr->kids = list.kids;
    expr->names = list.names;
    for (int i = 0; i < list.count; i++) {
        if (list.kids[i] && list.kids[i]->depth > expr->depth) expr->depth = list.kids[i]->depth;
    }
    expr->depth++;
    *out = expr;
    if (expr->depth <= EXPR_CHAIN) return STAX_OK;
    return span_error(lexer->what, expr->span,
                      "this expression is too long: at most %d operators in a chain", EXPR_CHAIN);
}

static enum stax_status make_op(struct lexer *lexer, enum expr_kind kind, enum expr_op op,
                                size_t start, struct expr *left, struct expr *right,
                                struct expr **out)
{
    struct list list = {0};
    list_add(lexer->arena, &list, left, NULL);
    if (right) list_add(lexer->arena, &list, right, NULL);
    STAX_TRY(make(lexer, kind, start, list, out));
    (*out)->op = op;
    return STAX_OK;
}

static enum stax_status enter(struct lexer *lexer)
{
    if (++lexer->depth <= EXPR_DEPTH) return STAX_OK;
    return lexer_error(lexer, "this is nested too deeply: at most %d levels", EXPR_DEPTH);
}

static bool is_keyword(const struct token *token)
{
    if (token->kind != TOKEN_NAME) return false;
    for (size_t i = 0; i < STAX_COUNT(keywords); i++) {
        if (strcmp(token->text, keywords[i]) == 0) return true;
    }
    return false;
}

static enum stax_status parse_leaf(struct lexer *lexer, struct expr **out)
{
    struct token token = lexer->token;
    enum expr_kind kind = EXPR_NAME;
    switch (token.kind) {
    case TOKEN_INT: kind = EXPR_INT; break;
    case TOKEN_FLOAT: kind = EXPR_FLOAT; break;
    case TOKEN_TEXT: kind = EXPR_TEXT; break;
    case TOKEN_NAME:
        if (lexer_is(lexer, "true") || lexer_is(lexer, "True")) {
            kind = EXPR_BOOL;
            token.i = 1;
        } else if (lexer_is(lexer, "false") || lexer_is(lexer, "False")) {
            kind = EXPR_BOOL;
        } else if (lexer_is(lexer, "None")) {
            kind = EXPR_NONE;
        } else if (is_keyword(&token)) {
            return lexer_error(
                lexer, "expected a value but found %s%s", lexer_found(lexer),
                lexer_is(lexer, "if") || lexer_is(lexer, "not") ? ": put it in parentheses" : "");
        }
        break;
    default: return lexer_error(lexer, "expected a value but found %s", lexer_found(lexer));
    }
    lexer_next(lexer);
    STAX_TRY(make(lexer, kind, token.span.start, (struct list){0}, out));
    (*out)->i = token.i;
    (*out)->f = token.f;
    (*out)->text = token.text;
    return STAX_OK;
}

/* `for i in list if c ...` behind an element that was just read. The iterated list and the
 * condition are parsed as or-expressions: a conditional there would swallow the `if`. */
static enum stax_status parse_each(struct lexer *lexer, size_t start, struct expr *element,
                                   struct expr **out)
{
    struct list list = {0};
    list_add(lexer->arena, &list, element, NULL);
    while (lexer_accept(lexer, "for")) {
        if (lexer->token.kind != TOKEN_NAME || is_keyword(&lexer->token)) {
            return lexer_error(lexer, "expected the name of a variable but found %s",
                               lexer_found(lexer));
        }
        const char *name = lexer->token.text;
        lexer_next(lexer);
        STAX_TRY(lexer_expect(lexer, "in"));
        struct expr *values, *condition = NULL;
        STAX_TRY(parse_or(lexer, &values));
        if (lexer_accept(lexer, "if")) STAX_TRY(parse_or(lexer, &condition));
        list_add(lexer->arena, &list, values, name);
        list_add(lexer->arena, &list, condition, NULL);
    }
    return make(lexer, EXPR_EACH, start, list, out);
}

static enum stax_status parse_list(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    struct list list = {0};
    lexer_next(lexer);
    while (!lexer_is(lexer, "]")) {
        struct expr *kid;
        size_t kid_start = lexer->token.span.start;
        STAX_TRY(expr_parse(lexer, &kid));
        if (list.count == 0 && lexer_is(lexer, "for")) {
            STAX_TRY(parse_each(lexer, kid_start, kid, out));
            return lexer_expect(lexer, "]");
        }
        list_add(lexer->arena, &list, kid, NULL);
        if (!lexer_accept(lexer, ",")) break;
    }
    STAX_TRY(lexer_expect(lexer, "]"));
    return make(lexer, EXPR_LIST, start, list, out);
}

static enum stax_status parse_lambda(struct lexer *lexer, size_t start, const struct expr *head,
                                     struct expr **out)
{
    struct list list = {0};
    int parameters = head->kind == EXPR_NAME ? 1 : head->count;
    for (int i = 0; i < parameters; i++) {
        const struct expr *kid = head->kind == EXPR_NAME ? head : head->kids[i];
        if (kid->kind != EXPR_NAME) {
            return span_error(lexer->what, kid->span,
                              "expected the name of a parameter before `->`");
        }
        list_add(lexer->arena, &list, NULL, kid->text);
    }
    struct expr *body;
    STAX_TRY(lexer_expect(lexer, "->"));
    STAX_TRY(expr_parse(lexer, &body));
    list_add(lexer->arena, &list, body, NULL);
    return make(lexer, EXPR_LAMBDA, start, list, out);
}

/* `(e)`, a tuple, or the parameters of a lambda. */
static enum stax_status parse_parentheses(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    struct list list = {0};
    bool tuple = false;
    lexer_next(lexer);
    while (!lexer_is(lexer, ")")) {
        struct expr *kid;
        size_t kid_start = lexer->token.span.start;
        STAX_TRY(expr_parse(lexer, &kid));
        if (list.count == 0 && lexer_is(lexer, "for")) {
            STAX_TRY(parse_each(lexer, kid_start, kid, &kid));
        }
        list_add(lexer->arena, &list, kid, NULL);
        if (!lexer_is(lexer, ",")) break;
        tuple = true;
        lexer_next(lexer);
    }
    STAX_TRY(lexer_expect(lexer, ")"));
    bool lambda = lexer_is(lexer, "->");
    if (!lambda && list.count == 0) {
        struct span span = {lexer->text, start, lexer->end - start};
        return span_error(lexer->what, span, "expected a value between the parentheses");
    }
    if (!lambda && !tuple) {
        *out = list.kids[0];
        return STAX_OK;
    }
    STAX_TRY(make(lexer, EXPR_TUPLE, start, list, out));
    return lambda ? parse_lambda(lexer, start, *out, out) : STAX_OK;
}

static enum stax_status parse_primary(struct lexer *lexer, struct expr **out)
{
    if (lexer_is(lexer, "(")) return parse_parentheses(lexer, out);
    if (lexer_is(lexer, "[")) return parse_list(lexer, out);
    size_t start = lexer->token.span.start;
    STAX_TRY(parse_leaf(lexer, out));
    if ((*out)->kind == EXPR_NAME && lexer_is(lexer, "->"))
        return parse_lambda(lexer, start, *out, out);
    return STAX_OK;
}

static enum stax_status parse_arguments(struct lexer *lexer, size_t start, struct expr **out)
{
    struct list list = {0};
    list_add(lexer->arena, &list, *out, NULL);
    lexer_next(lexer);
    while (!lexer_is(lexer, ")")) {
        struct expr *kid;
        const char *name = NULL;
        size_t kid_start = lexer->token.span.start;
        STAX_TRY(expr_parse(lexer, &kid));
        if (lexer_is(lexer, "for")) {
            STAX_TRY(parse_each(lexer, kid_start, kid, &kid));
        } else if (kid->kind == EXPR_NAME && lexer_accept(lexer, "=")) {
            name = kid->text;
            STAX_TRY(expr_parse(lexer, &kid));
        } else if (list.count > 1 && list.names[list.count - 1]) {
            return span_error(lexer->what, kid->span,
                              "a plain argument cannot follow one with a keyword");
        }
        list_add(lexer->arena, &list, kid, name);
        if (!lexer_accept(lexer, ",")) break;
    }
    STAX_TRY(lexer_expect(lexer, ")"));
    return make(lexer, EXPR_CALL, start, list, out);
}

/* One entry between brackets: an expression, or a slice whose absent parts are EXPR_NONE. */
static enum stax_status parse_subscript(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    struct list list = {0};
    bool slice = false;
    for (int part = 0; part < 3; part++) {
        struct expr *kid;
        if (lexer_is(lexer, ":") || lexer_is(lexer, ",") || lexer_is(lexer, "]")) {
            size_t here = lexer->token.span.start;
            if (part == 0 && !lexer_is(lexer, ":")) {
                return lexer_error(lexer, "expected an index but found %s", lexer_found(lexer));
            }
            STAX_TRY(make(lexer, EXPR_NONE, here, (struct list){0}, &kid));
            kid->span.length = 0; /* nothing is written there */
        } else {
            STAX_TRY(expr_parse(lexer, &kid));
        }
        list_add(lexer->arena, &list, kid, NULL);
        if (part < 2 && lexer_accept(lexer, ":"))
            slice = true;
        else if (part == 0)
            break;
    }
    if (!slice) {
        *out = list.kids[0];
        return STAX_OK;
    }
    return make(lexer, EXPR_SLICE, start, list, out);
}

static enum stax_status parse_subscripts(struct lexer *lexer, size_t start, struct expr **out)
{
    struct list list = {0};
    list_add(lexer->arena, &list, *out, NULL);
    lexer_next(lexer);
    do {
        struct expr *kid;
        if (list.count > 1 && lexer_is(lexer, "]")) break; /* a trailing comma */
        STAX_TRY(parse_subscript(lexer, &kid));
        list_add(lexer->arena, &list, kid, NULL);
    } while (lexer_accept(lexer, ","));
    STAX_TRY(lexer_expect(lexer, "]"));
    return make(lexer, EXPR_INDEX, start, list, out);
}

static enum stax_status parse_postfix(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    STAX_TRY(parse_primary(lexer, out));
    for (;;) {
        if (lexer_is(lexer, "(")) {
            STAX_TRY(parse_arguments(lexer, start, out));
        } else if (lexer_is(lexer, "[")) {
            STAX_TRY(parse_subscripts(lexer, start, out));
        } else if (lexer_accept(lexer, ".")) {
            if (lexer->token.kind != TOKEN_NAME) {
                return lexer_error(lexer, "expected a name after `.` but found %s",
                                   lexer_found(lexer));
            }
            const char *name = lexer->token.text;
            lexer_next(lexer);
            STAX_TRY(make_op(lexer, EXPR_ATTRIBUTE, 0, start, *out, NULL, out));
            (*out)->text = name;
        } else {
            return STAX_OK;
        }
    }
}

/* `**` binds tighter than a sign before it and looser than one behind it, and to the right. */
static enum stax_status parse_power(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    STAX_TRY(parse_postfix(lexer, out));
    if (!lexer_accept(lexer, "**")) return STAX_OK;
    struct expr *exponent;
    STAX_TRY(parse_unary(lexer, &exponent));
    return make_op(lexer, EXPR_BINARY, EXPR_OP_POW, start, *out, exponent, out);
}

static enum stax_status parse_unary(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    STAX_TRY(enter(lexer));
    enum expr_op op = EXPR_OP_NEG;
    if (lexer_is(lexer, "+")) op = EXPR_OP_POS;
    if (lexer_is(lexer, "!")) op = EXPR_OP_NOT;
    if (lexer_accept(lexer, "-") || lexer_accept(lexer, "+") || lexer_accept(lexer, "!")) {
        STAX_TRY(parse_unary(lexer, out));
        STAX_TRY(make_op(lexer, EXPR_UNARY, op, start, *out, NULL, out));
    } else {
        STAX_TRY(parse_power(lexer, out));
    }
    lexer->depth--;
    return STAX_OK;
}

static const struct operation *find(const struct operation *table, size_t count,
                                    const struct lexer *lexer)
{
    for (size_t i = 0; i < count; i++) {
        if (lexer_is(lexer, table[i].text)) return &table[i];
    }
    return NULL;
}

static enum stax_status parse_binary(struct lexer *lexer, int level, struct expr **out)
{
    size_t start = lexer->token.span.start;
    STAX_TRY(parse_unary(lexer, out));
    for (;;) {
        const struct operation *row = find(binaries, STAX_COUNT(binaries), lexer);
        if (!row || row->level < level) return STAX_OK;
        lexer_next(lexer);
        struct expr *right;
        STAX_TRY(parse_binary(lexer, row->level + 1, &right));
        STAX_TRY(make_op(lexer, EXPR_BINARY, row->op, start, *out, right, out));
    }
}

/* Takes a comparison operator if there is one; `not` counts only before `in`. */
static bool accept_comparison(struct lexer *lexer, enum expr_op *op)
{
    if (lexer_is(lexer, "not")) {
        struct lexer ahead = *lexer;
        lexer_next(&ahead);
        if (!lexer_accept(&ahead, "in")) return false;
        *lexer = ahead;
        *op = EXPR_OP_NOT_IN;
        return true;
    }
    const struct operation *row = find(comparisons, STAX_COUNT(comparisons), lexer);
    if (!row) return false;
    lexer_next(lexer);
    *op = row->op;
    return true;
}

static enum stax_status parse_comparison(struct lexer *lexer, struct expr **out)
{
    enum { MOST = 64 }; /* operators in one chain; chosen */
    enum expr_op ops[MOST];
    struct list list = {0};
    size_t start = lexer->token.span.start;
    STAX_TRY(parse_binary(lexer, 0, out));
    list_add(lexer->arena, &list, *out, NULL);
    while (list.count <= MOST && accept_comparison(lexer, &ops[list.count - 1])) {
        struct expr *kid;
        STAX_TRY(parse_binary(lexer, 0, &kid));
        list_add(lexer->arena, &list, kid, NULL);
    }
    if (list.count == 1) return STAX_OK;
    STAX_TRY(make(lexer, EXPR_COMPARE, start, list, out));
    (*out)->ops = arena_copy(lexer->arena, ops, (size_t)(list.count - 1) * sizeof *ops);
    return STAX_OK;
}

static enum stax_status parse_not(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    if (!lexer_accept(lexer, "not")) return parse_comparison(lexer, out);
    STAX_TRY(enter(lexer));
    STAX_TRY(parse_not(lexer, out));
    lexer->depth--;
    return make_op(lexer, EXPR_UNARY, EXPR_OP_NOT, start, *out, NULL, out);
}

static enum stax_status parse_and(struct lexer *lexer, struct expr **out)
{
    struct list list = {0};
    size_t start = lexer->token.span.start;
    do {
        STAX_TRY(parse_not(lexer, out));
        list_add(lexer->arena, &list, *out, NULL);
    } while (lexer_accept(lexer, "and") || lexer_accept(lexer, "&&"));
    return list.count == 1 ? STAX_OK : make(lexer, EXPR_AND, start, list, out);
}

static enum stax_status parse_or(struct lexer *lexer, struct expr **out)
{
    struct list list = {0};
    size_t start = lexer->token.span.start;
    do {
        STAX_TRY(parse_and(lexer, out));
        list_add(lexer->arena, &list, *out, NULL);
    } while (lexer_accept(lexer, "or") || lexer_accept(lexer, "||"));
    return list.count == 1 ? STAX_OK : make(lexer, EXPR_OR, start, list, out);
}

/* Both orders of a conditional give the same node: condition, then, else. */
static enum stax_status parse_conditional(struct lexer *lexer, struct expr **out)
{
    size_t start = lexer->token.span.start;
    struct expr *condition, *then, *otherwise;
    if (lexer_accept(lexer, "if")) {
        STAX_TRY(expr_parse(lexer, &condition));
        STAX_TRY(lexer_expect(lexer, "then"));
        STAX_TRY(expr_parse(lexer, &then));
    } else {
        STAX_TRY(parse_or(lexer, out));
        if (!lexer_accept(lexer, "if")) return STAX_OK;
        then = *out;
        STAX_TRY(parse_or(lexer, &condition));
    }
    STAX_TRY(lexer_expect(lexer, "else"));
    STAX_TRY(expr_parse(lexer, &otherwise));
    struct list list = {0};
    list_add(lexer->arena, &list, condition, NULL);
    list_add(lexer->arena, &list, then, NULL);
    list_add(lexer->arena, &list, otherwise, NULL);
    return make(lexer, EXPR_IF, start, list, out);
}

enum stax_status expr_parse(struct lexer *lexer, struct expr **expr)
{
    STAX_TRY(enter(lexer));
    STAX_TRY(parse_conditional(lexer, expr));
    lexer->depth--;
    return lexer->failed ? STAX_USAGE : STAX_OK;
}

enum stax_status expr_parse_text(const char *what, const char *text, struct arena *arena,
                                 struct expr **expr)
{
    struct lexer lexer = lexer_open(what, text, arena);
    STAX_TRY(expr_parse(&lexer, expr));
    if (lexer.token.kind == TOKEN_END) return STAX_OK;
    return lexer_error(&lexer, "expected the end or an operator but found %s", lexer_found(&lexer));
}
