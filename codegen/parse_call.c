/* Calls: arguments are bound to a signature, then a row of the function table or an op of ops.def
 * does the work.
 *
 * Signatures are text, so that a function written in the kernel language and one written in C read
 * alike. `dim` and `keepdim` are accepted for `axis` and `keepdims`. */
#include <string.h>

#include "base/nearest.h"
#include "codegen/parse.h"

/* A signature taken apart: names and default texts. */
struct signature {
    int count;
    const char *name[PARSE_MOST_PARAMETERS];
    struct expr *absent[PARSE_MOST_PARAMETERS]; /* NULL: must be given */
};

static enum stax_status read_signature(struct parse *parse, const struct function *function,
                                       struct signature *out)
{
    struct lexer lexer = lexer_open(function->name, function->signature, parse->arena);
    out->count = 0;
    while (lexer.token.kind == TOKEN_NAME) {
        STAX_CHECK(out->count < PARSE_MOST_PARAMETERS);
        out->name[out->count] = lexer.token.text;
        out->absent[out->count] = NULL;
        lexer_next(&lexer);
        if (lexer_accept(&lexer, "=")) {
            STAX_TRY(expr_parse(&lexer, &out->absent[out->count]));
        }
        out->count++;
        lexer_accept(&lexer, ",");
    }
    return STAX_OK;
}

static int find_parameter(const struct signature *signature, const char *name)
{
    const char *known = strcmp(name, "dim") == 0       ? "axis"
                        : strcmp(name, "keepdim") == 0 ? "keepdims"
                                                       : name;
    for (int i = 0; i < signature->count; i++) {
        if (strcmp(signature->name[i], known) == 0 || strcmp(signature->name[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Binds what was written; a last parameter named `rest` gathers all further plain arguments into a
 * list. */
static enum stax_status bind(struct parse *parse, const struct expr *expr,
                             const struct operand *self, struct call *call)
{
    const struct function *function = call->function;
    struct signature signature;
    bool given[PARSE_MOST_PARAMETERS] = {false};
    STAX_TRY(read_signature(parse, function, &signature));
    bool gathers = signature.count && strcmp(signature.name[signature.count - 1], "rest") == 0;
    int plain = 0;
    struct operand *rest = ARENA_ARRAY(parse->arena, struct operand, expr->count + 1);
    int rests = 0;
    for (int k = self ? 0 : 1; k < expr->count; k++) {
        bool is_self = k == 0;
        const char *keyword = !is_self && expr->names ? expr->names[k] : NULL;
        struct operand value;
        if (is_self) {
            value = *self;
        } else {
            STAX_TRY(parse_value(parse, expr->kids[k], &value));
        }
        int at = keyword ? find_parameter(&signature, keyword) : plain++;
        if (gathers && !keyword && at >= signature.count - 1) {
            rest[rests++] = value;
            at = signature.count - 1;
            given[at] = false;
            value = (struct operand){.kind = OPERAND_LIST, .count = rests, .items = rest};
        }
        if (at < 0 || at >= signature.count) {
            return parse_fail(parse, expr->kids[k]->span,
                              keyword ? "%s has no parameter `%s`: it takes (%s)"
                                      : "%s has too many arguments%.0s: it takes (%s)",
                              function->name, keyword, function->signature);
        }
        if (given[at]) {
            return parse_fail(parse, expr->kids[k]->span, "%s: `%s` is given twice", function->name,
                              signature.name[at]);
        }
        given[at] = true;
        call->value[at] = value;
        call->at[at] = is_self ? expr->span : expr->kids[k]->span;
    }
    for (int i = 0; i < signature.count; i++) {
        if (given[i]) {
            continue;
        }
        call->at[i] = expr->span;
        if (gathers && i == signature.count - 1) {
            call->value[i] = (struct operand){.kind = OPERAND_LIST, .items = rest};
        } else if (signature.absent[i]) {
            STAX_TRY(parse_value(parse, signature.absent[i], &call->value[i]));
        } else {
            return parse_fail(parse, expr->span, "%s needs `%s`: it takes (%s)", function->name,
                              signature.name[i], function->signature);
        }
    }
    return STAX_OK;
}

/* Runs a body of the table in a scope that holds its parameters alone. */
static enum stax_status run_body(struct parse *parse, struct call *call, struct operand *out)
{
    const struct function *function = call->function;
    struct signature signature;
    STAX_TRY(read_signature(parse, function, &signature));
    struct parse inner = *parse;
    struct scope *scope = ARENA_ARRAY(parse->arena, struct scope, signature.count);
    inner.scope = NULL;
    for (int i = 0; i < signature.count; i++) {
        scope[i] = (struct scope){signature.name[i], call->value[i], inner.scope};
        inner.scope = &scope[i];
    }
    if (!inner.inside) {
        inner.inside = function->name;
        inner.call = call->span;
    }
    struct lexer lexer = lexer_open(function->name, function->body, parse->arena);
    struct operand list;
    STAX_TRY(parse_body(&inner, &lexer, "", &list));
    *out = list.items[0];
    return STAX_OK;
}

static int op_find(const char *name)
{
    for (int op = 0; op < IR_PURE_COUNT; op++) {
        if (strcmp(ir_op_table[op].name, name) == 0) {
            return op;
        }
    }
    return -1;
}

static enum stax_status run_op(struct parse *parse, const struct expr *expr,
                               const struct operand *self, int op, struct operand *out)
{
    struct operand value[4];
    int arity = ir_op_table[op].arity, count = 0;
    if (self) {
        value[count++] = *self;
    }
    for (int k = 1; k < expr->count; k++) {
        if (count == arity || (expr->names && expr->names[k])) {
            return parse_fail(parse, expr->kids[k]->span, "%s takes %d plain argument%s",
                              ir_op_table[op].name, arity, arity == 1 ? "" : "s");
        }
        STAX_TRY(parse_value(parse, expr->kids[k], &value[count++]));
    }
    if (count < arity) {
        return parse_fail(parse, expr->span, "%s takes %d plain argument%s", ir_op_table[op].name,
                          arity, arity == 1 ? "" : "s");
    }
    return op == IR_WHERE ? parse_where(parse, expr->span, value, out)
                          : parse_pure(parse, expr->span, (enum ir_op)op, value, out);
}

static enum stax_status cast_to(struct parse *parse, const struct expr *expr, enum dtype dtype,
                                struct operand *out)
{
    struct operand value;
    if (expr->count != 2) {
        return parse_fail(parse, expr->span, "%s takes one argument", dtype_table[dtype].name);
    }
    STAX_TRY(parse_value(parse, expr->kids[1], &value));
    if (value.kind != OPERAND_TENSOR && !parse_is_number(&value)) {
        return parse_fail(parse, expr->kids[1]->span, "%s takes a tensor or a number, not %s",
                          dtype_table[dtype].name, parse_describe(parse, &value));
    }
    int node = graph_cast(parse->graph, dtype, parse_tensor(parse, &value, DTYPE_F32));
    *out = (struct operand){.kind = OPERAND_TENSOR, .node = node};
    return STAX_OK;
}

static enum stax_status unknown(struct parse *parse, const struct expr *callee)
{
    const char *near = nearest_name(callee->text, function_name, NULL, function_names());
    return parse_fail(parse, callee->span,
                      near ? "unknown function `%s`: did you mean `%s`?" : "unknown function `%s`",
                      callee->text, near);
}

enum stax_status parse_call(struct parse *parse, const struct expr *expr, struct operand *out)
{
    const struct expr *callee = expr->kids[0];
    struct operand self, *method = NULL;
    if (callee->kind == EXPR_ATTRIBUTE) {
        STAX_TRY(parse_value(parse, callee->kids[0], &self));
        method = &self;
    } else if (callee->kind != EXPR_NAME) {
        return parse_fail(parse, callee->span, "only functions and methods can be called");
    }
    struct call call = {.function = function_find(callee->text), .span = expr->span};
    enum dtype dtype;
    int op = op_find(callee->text);
    if (call.function && (call.function->name[0] != '_' || parse->inside)) {
        STAX_TRY(bind(parse, expr, method, &call));
        return call.function->body ? run_body(parse, &call, out)
                                   : call.function->run(parse, &call, out);
    }
    if (op >= 0) {
        return run_op(parse, expr, method, op, out);
    }
    if (!method && dtype_parse(callee->text, strlen(callee->text), &dtype)) {
        return cast_to(parse, expr, dtype, out);
    }
    return unknown(parse, callee);
}
