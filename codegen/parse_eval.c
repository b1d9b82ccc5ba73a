/* Meaning of expressions: Python's rules for numbers, NumPy's for tensors; the value of an
 * expression is a node of the graph.
 *
 * Numbers are weak: they take the dtype of the tensor they meet (an int or float with a float
 * tensor stays in its dtype). */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/nearest.h"
#include "codegen/parse.h"

enum stax_status parse_fail(const struct parse *parse, struct span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(parse->arena, format, args);
    va_end(args);
    if (parse->inside) {
        return span_error(parse->what, parse->call, "in %s: %s", parse->inside, message);
    }
    return span_error(parse->what, span, "%s", message);
}

const char *parse_describe(const struct parse *parse, const struct operand *value)
{
    switch (value->kind) {
    case OPERAND_TENSOR: {
        const struct graph_node *node = &parse->graph->node[value->node];
        return arena_printf(parse->arena, "a tensor %s%s", dtype_table[node->dtype].name,
                            graph_shape_text(node->shape, parse->arena));
    }
    case OPERAND_INT: return arena_printf(parse->arena, "the number %lld", (long long)value->i);
    case OPERAND_FLOAT: return arena_printf(parse->arena, "the number %g", value->f);
    case OPERAND_BOOL: return value->i ? "True" : "False";
    case OPERAND_NONE: return "None";
    case OPERAND_LIST: return "a list";
    case OPERAND_DTYPE: return "a type";
    }
    return "";
}

enum stax_status parse_check_size(const struct parse *parse, struct span span,
                                  struct graph_shape shape)
{
    if (graph_elements(shape) < 0) {
        return parse_fail(parse, span,
                          "a tensor of shape %s has more than 2^59 elements: use smaller sizes",
                          graph_shape_text(shape, parse->arena));
    }
    return STAX_OK;
}

int parse_tensor(struct parse *parse, const struct operand *value, enum dtype weak)
{
    if (value->kind == OPERAND_TENSOR) {
        return value->node;
    }
    return graph_const(parse->graph, weak,
                       value->kind == OPERAND_FLOAT ? value->f : (double)value->i);
}

/* The dtype that the values take together; `floats`: the op is defined for floats alone. */
static enum dtype common(const struct parse *parse, const struct operand *value, int count,
                         bool floats)
{
    bool tensor = false, real = false;
    enum dtype dtype = DTYPE_BOOL;
    for (int k = 0; k < count; k++) {
        if (value[k].kind == OPERAND_TENSOR) {
            enum dtype each = parse->graph->node[value[k].node].dtype;
            dtype = tensor ? graph_common_dtype(dtype, each) : each;
            tensor = true;
        } else {
            real = real || value[k].kind == OPERAND_FLOAT;
        }
    }
    if (!tensor || ((real || floats) && !dtype_is_float(dtype))) {
        return DTYPE_F32;
    }
    for (int k = 0; k < count; k++) {
        if (dtype == DTYPE_BOOL && value[k].kind == OPERAND_INT) {
            dtype = DTYPE_I64; /* as NumPy: True + 1 is an integer */
        }
    }
    return dtype;
}

/* Brings tensors to one shape. */
static enum stax_status broadcast(struct parse *parse, struct span span, int *node, int first,
                                  int count)
{
    struct graph_shape shape = {0};
    for (int k = first; k < count; k++) {
        struct graph_shape each = parse->graph->node[node[k]].shape, before = shape;
        if (!graph_broadcast_shape(before, each, &shape)) {
            return parse_fail(
                parse, span, "shapes %s and %s do not broadcast: each dim must agree or be 1",
                graph_shape_text(before, parse->arena), graph_shape_text(each, parse->arena));
        }
    }
    STAX_TRY(parse_check_size(parse, span, shape));
    for (int k = first; k < count; k++) {
        node[k] = graph_expand(parse->graph, node[k], shape);
    }
    return STAX_OK;
}

static enum stax_status want_numbers(const struct parse *parse, struct span span, const char *op,
                                     const struct operand *value, int count)
{
    for (int k = 0; k < count; k++) {
        if (value[k].kind != OPERAND_TENSOR && !parse_is_number(&value[k])) {
            return parse_fail(parse, span, "%s takes tensors and numbers, not %s", op,
                              parse_describe(parse, &value[k]));
        }
    }
    return STAX_OK;
}

enum stax_status parse_pure(struct parse *parse, struct span span, enum ir_op op,
                            const struct operand *value, struct operand *out)
{
    const struct ir_op_row *row = &ir_op_table[op];
    STAX_TRY(want_numbers(parse, span, row->name, value, row->arity));
    bool logic = op == IR_AND || op == IR_OR || op == IR_NOT;
    enum dtype dtype = logic ? DTYPE_BOOL : common(parse, value, row->arity, row->i[0] == '\0');
    if (dtype == DTYPE_BOOL && !logic && row->result == IR_RESULT_SAME && op != IR_MAX &&
        op != IR_MIN) {
        dtype = DTYPE_I64; /* arithmetic on truth values counts */
    }
    int node[3] = {-1, -1, -1};
    for (int k = 0; k < row->arity; k++) {
        node[k] = parse_tensor(parse, &value[k], dtype);
        if (logic && parse->graph->node[node[k]].dtype != DTYPE_BOOL) {
            node[k] = graph_cast(parse->graph, DTYPE_BOOL, node[k]);
        }
        node[k] = graph_promote(parse->graph, dtype, node[k]);
    }
    STAX_TRY(broadcast(parse, span, node, 0, row->arity));
    enum dtype result = row->result == IR_RESULT_BOOL ? DTYPE_BOOL : dtype;
    *out = (struct operand){.kind = OPERAND_TENSOR,
                            .node = graph_pure(parse->graph, op, result, node)};
    return STAX_OK;
}

enum stax_status parse_where(struct parse *parse, struct span span, const struct operand *value,
                             struct operand *out)
{
    STAX_TRY(want_numbers(parse, span, "where", value, 3));
    enum dtype dtype = common(parse, value + 1, 2, false);
    int node[3];
    node[0] = graph_cast(parse->graph, DTYPE_BOOL, parse_tensor(parse, &value[0], DTYPE_BOOL));
    for (int k = 1; k < 3; k++) {
        node[k] = graph_promote(parse->graph, dtype, parse_tensor(parse, &value[k], dtype));
    }
    STAX_TRY(broadcast(parse, span, node, 0, 3));
    *out = (struct operand){.kind = OPERAND_TENSOR,
                            .node = graph_pure(parse->graph, IR_WHERE, dtype, node)};
    return STAX_OK;
}

/* ---- operators ---- */

/* Whole powers by squaring; 0.5 and -0.5 by roots. */
static enum stax_status tensor_power(struct parse *parse, struct span span,
                                     const struct operand *value, struct operand *out)
{
    double exponent = value[1].f;
    if (!parse_is_number(&value[1]) || (exponent != rint(exponent) && fabs(exponent) != 0.5) ||
        fabs(exponent) > 16) {
        return parse_fail(parse, span,
                          "a tensor can be raised to whole numbers up to 16, to 0.5 and to -0.5; "
                          "write exp(y * log(x)) for others");
    }
    if (fabs(exponent) == 0.5) {
        return parse_pure(parse, span, exponent > 0 ? IR_SQRT : IR_RSQRT, value, out);
    }
    struct operand result = number_real(1.0), square = value[0];
    bool first = true;
    for (int left = (int)fabs(exponent); left > 0; left >>= 1) {
        struct operand pair[2] = {result, square};
        if (left & 1) {
            if (first) {
                result = square;
            } else {
                STAX_TRY(parse_pure(parse, span, IR_MUL, pair, &result));
            }
            first = false;
        }
        if (left > 1) {
            struct operand twice[2] = {square, square};
            STAX_TRY(parse_pure(parse, span, IR_MUL, twice, &square));
        }
    }
    if (exponent == 0) { /* 1 for every x, NaN too, as in NumPy; of the shape and dtype of x */
        struct operand equal[3] = {number_truth(true), number_real(1.0), value[0]};
        return parse_where(parse, span, equal, out);
    }
    if (exponent < 0) {
        return parse_pure(parse, span, IR_RECIP, &result, out);
    }
    *out = result;
    return STAX_OK;
}

enum stax_status parse_binary(struct parse *parse, struct span span, enum expr_op op,
                              const struct operand *value, struct operand *out)
{
    if (parse_is_number(&value[0]) && parse_is_number(&value[1])) {
        return number_binary(parse, span, op, value, out);
    }
    struct operand swapped[2] = {value[1], value[0]};
    switch (op) {
    case EXPR_OP_ADD: return parse_pure(parse, span, IR_ADD, value, out);
    case EXPR_OP_SUB: return parse_pure(parse, span, IR_SUB, value, out);
    case EXPR_OP_MUL: return parse_pure(parse, span, IR_MUL, value, out);
    case EXPR_OP_DIV: return parse_pure(parse, span, IR_DIV, value, out);
    case EXPR_OP_POW: return tensor_power(parse, span, value, out);
    case EXPR_OP_LT: return parse_pure(parse, span, IR_LT, value, out);
    case EXPR_OP_LE: return parse_pure(parse, span, IR_LE, value, out);
    case EXPR_OP_GT: return parse_pure(parse, span, IR_LT, swapped, out);
    case EXPR_OP_GE: return parse_pure(parse, span, IR_LE, swapped, out);
    case EXPR_OP_EQ: return parse_pure(parse, span, IR_EQ, value, out);
    case EXPR_OP_NE: return parse_pure(parse, span, IR_NE, value, out);
    case EXPR_OP_BITAND: return parse_pure(parse, span, IR_AND, value, out);
    case EXPR_OP_BITOR: return parse_pure(parse, span, IR_OR, value, out);
    case EXPR_OP_MATMUL:
        return parse_fail(parse, span, "matrix products are not available in generated kernels");
    default:
        return parse_fail(
            parse, span,
            "this operator is not defined for tensors: use + - * / ** < <= > >= == != & |");
    }
}

static enum stax_status compare_chain(struct parse *parse, const struct expr *expr,
                                      struct operand *out)
{
    struct operand pair[2], each;
    STAX_TRY(parse_value(parse, expr->kids[0], &pair[0]));
    for (int k = 1; k < expr->count; k++) {
        STAX_TRY(parse_value(parse, expr->kids[k], &pair[1]));
        STAX_TRY(parse_binary(parse, expr->span, expr->ops[k - 1], pair, &each));
        if (k > 1 && parse_is_number(out) && parse_is_number(&each)) {
            each = number_truth(out->i && each.i);
        } else if (k > 1) {
            struct operand both[2] = {*out, each};
            STAX_TRY(parse_pure(parse, expr->span, IR_AND, both, &each));
        }
        *out = each;
        pair[0] = pair[1];
    }
    return STAX_OK;
}

/* and, or: numbers as in Python, tensors element by element. */
static enum stax_status logic(struct parse *parse, const struct expr *expr, enum ir_op op,
                              struct operand *out)
{
    STAX_TRY(parse_value(parse, expr->kids[0], out));
    for (int k = 1; k < expr->count; k++) {
        struct operand pair[2] = {*out};
        if (parse_is_number(out) && (out->f != 0) == (op == IR_OR)) {
            return STAX_OK;
        }
        STAX_TRY(parse_value(parse, expr->kids[k], &pair[1]));
        if (parse_is_number(&pair[0])) {
            *out = pair[1];
        } else {
            STAX_TRY(parse_pure(parse, expr->span, op, pair, out));
        }
    }
    return STAX_OK;
}

static enum stax_status unary(struct parse *parse, const struct expr *expr, struct operand *out)
{
    struct operand value;
    STAX_TRY(parse_value(parse, expr->kids[0], &value));
    if (expr->op == EXPR_OP_NOT) {
        if (parse_is_number(&value)) {
            *out = number_truth(value.f == 0);
            return STAX_OK;
        }
        return parse_pure(parse, expr->span, IR_NOT, &value, out);
    }
    if (expr->op == EXPR_OP_POS) {
        *out = value;
        return STAX_OK;
    }
    if (value.kind == OPERAND_FLOAT) {
        *out = number_real(-value.f);
        return STAX_OK;
    }
    if (parse_is_number(&value)) {
        struct operand pair[2] = {number_whole(0), value};
        return number_binary(parse, expr->span, EXPR_OP_SUB, pair, out);
    }
    return parse_pure(parse, expr->span, IR_NEG, &value, out);
}

static const char *scope_name(const void *data, int index)
{
    const struct scope *scope = data;
    for (; index > 0; index--) {
        scope = scope->up;
    }
    return scope->name;
}

static enum stax_status name(struct parse *parse, const struct expr *expr, struct operand *out)
{
    for (const struct scope *scope = parse->scope; scope; scope = scope->up) {
        if (strcmp(scope->name, expr->text) == 0) {
            *out = scope->value;
            return STAX_OK;
        }
    }
    if (dtype_parse(expr->text, strlen(expr->text), &out->dtype)) {
        out->kind = OPERAND_DTYPE;
        return STAX_OK;
    }
    int count = 0;
    for (const struct scope *scope = parse->scope; scope; scope = scope->up) {
        count++;
    }
    const char *near = nearest_name(expr->text, scope_name, parse->scope, count);
    if (function_find(expr->text)) {
        return parse_fail(parse, expr->span, "`%s` is a function: write %s(...)", expr->text,
                          expr->text);
    }
    return parse_fail(parse, expr->span,
                      near ? "unknown name `%s`: did you mean `%s`?" : "unknown name `%s`",
                      expr->text, near);
}

static enum stax_status condition(struct parse *parse, const struct expr *expr, struct operand *out)
{
    struct operand value[3];
    STAX_TRY(parse_value(parse, expr->kids[0], &value[0]));
    if (parse_is_number(&value[0])) {
        return parse_value(parse, expr->kids[value[0].f != 0 ? 1 : 2], out);
    }
    STAX_TRY(parse_value(parse, expr->kids[1], &value[1]));
    STAX_TRY(parse_value(parse, expr->kids[2], &value[2]));
    return parse_where(parse, expr->span, value, out);
}

static enum stax_status list(struct parse *parse, const struct expr *expr, struct operand *out)
{
    *out = (struct operand){.kind = OPERAND_LIST, .count = expr->count};
    out->items = ARENA_ARRAY(parse->arena, struct operand, expr->count + 1);
    for (int k = 0; k < expr->count; k++) {
        STAX_TRY(parse_value(parse, expr->kids[k], &out->items[k]));
    }
    return STAX_OK;
}

static enum stax_status attribute(struct parse *parse, const struct expr *expr, struct operand *out)
{
    struct operand value;
    STAX_TRY(parse_value(parse, expr->kids[0], &value));
    if (value.kind != OPERAND_TENSOR) {
        return parse_fail(parse, expr->span, "%s has no attribute `%s`",
                          parse_describe(parse, &value), expr->text);
    }
    struct graph_shape shape = parse->graph->node[value.node].shape;
    if (strcmp(expr->text, "T") == 0) {
        int axes[IR_MAX_RANK];
        for (int k = 0; k < shape.rank; k++) {
            axes[k] = shape.rank - 1 - k;
        }
        *out = (struct operand){.kind = OPERAND_TENSOR,
                                .node = graph_permute(parse->graph, value.node, axes)};
        return STAX_OK;
    }
    if (strcmp(expr->text, "shape") == 0) {
        *out = (struct operand){.kind = OPERAND_LIST, .count = shape.rank};
        out->items = ARENA_ARRAY(parse->arena, struct operand, shape.rank + 1);
        for (int k = 0; k < shape.rank; k++) {
            out->items[k] = number_whole(shape.size[k]);
        }
        return STAX_OK;
    }
    return parse_fail(parse, expr->span, "tensors have the attributes T and shape, not `%s`",
                      expr->text);
}

enum stax_status parse_value(struct parse *parse, const struct expr *expr, struct operand *out)
{
    struct operand pair[2];
    *out = (struct operand){.kind = OPERAND_NONE};
    switch (expr->kind) {
    case EXPR_INT: *out = number_whole(expr->i); return STAX_OK;
    case EXPR_FLOAT: *out = number_real(expr->f); return STAX_OK;
    case EXPR_BOOL: *out = number_truth(expr->i != 0); return STAX_OK;
    case EXPR_NONE: return STAX_OK;
    case EXPR_NAME: return name(parse, expr, out);
    case EXPR_UNARY: return unary(parse, expr, out);
    case EXPR_BINARY:
        STAX_TRY(parse_value(parse, expr->kids[0], &pair[0]));
        STAX_TRY(parse_value(parse, expr->kids[1], &pair[1]));
        return parse_binary(parse, expr->span, expr->op, pair, out);
    case EXPR_COMPARE: return compare_chain(parse, expr, out);
    case EXPR_AND: return logic(parse, expr, IR_AND, out);
    case EXPR_OR: return logic(parse, expr, IR_OR, out);
    case EXPR_IF: return condition(parse, expr, out);
    case EXPR_CALL: return parse_call(parse, expr, out);
    case EXPR_ATTRIBUTE: return attribute(parse, expr, out);
    case EXPR_LIST:
    case EXPR_TUPLE: return list(parse, expr, out);
    case EXPR_INDEX:
        STAX_TRY(parse_value(parse, expr->kids[0], &pair[0]));
        return parse_index(parse, expr, &pair[0], out);
    default:
        return parse_fail(parse, expr->span,
                          "this has no meaning in a kernel: expected a tensor expression");
    }
}

static enum stax_status let(struct parse *parse, struct lexer *lexer)
{
    struct scope *scope = ARENA_NEW(parse->arena, struct scope);
    if (lexer->token.kind != TOKEN_NAME) {
        return lexer_error(lexer, "expected a name after `let` but found %s", lexer_found(lexer));
    }
    scope->name = lexer->token.text;
    lexer_next(lexer);
    STAX_TRY(lexer_expect(lexer, "="));
    struct expr *expr;
    STAX_TRY(expr_parse(lexer, &expr));
    STAX_TRY(parse_value(parse, expr, &scope->value));
    scope->up = parse->scope;
    parse->scope = scope;
    return lexer_expect(lexer, ";");
}

enum stax_status parse_body(struct parse *parse, struct lexer *lexer, const char *end,
                            struct operand *out)
{
    while (lexer_accept(lexer, "let")) {
        STAX_TRY(let(parse, lexer));
    }
    if (!lexer_accept(lexer, "return")) {
        return lexer_error(lexer, "expected `let` or `return` but found %s", lexer_found(lexer));
    }
    struct operand items[32];
    int count = 0;
    do {
        struct expr *expr;
        STAX_TRY(expr_parse(lexer, &expr));
        if (count == (int)STAX_COUNT(items)) {
            return parse_fail(parse, expr->span, "a kernel returns at most %d tensors",
                              (int)STAX_COUNT(items));
        }
        STAX_TRY(parse_value(parse, expr, &items[count]));
        if (items[count].kind != OPERAND_TENSOR && !parse_is_number(&items[count])) {
            return parse_fail(parse, expr->span, "a kernel returns tensors, not %s",
                              parse_describe(parse, &items[count]));
        }
        count++;
    } while (lexer_accept(lexer, ","));
    lexer_accept(lexer, ";");
    if (end[0] ? !lexer_is(lexer, end) : lexer->token.kind != TOKEN_END) {
        return lexer_error(lexer, "expected an operator, `,` or `%s` but found %s",
                           end[0] ? end : "the end", lexer_found(lexer));
    }
    *out = (struct operand){.kind = OPERAND_LIST, .count = count};
    out->items = arena_copy(parse->arena, items, sizeof *items * (size_t)count);
    return STAX_OK;
}
