/* Types of parameters: shapes with named dims, and what --arg and --dim change about them. */
#include <string.h>

#include "base/nearest.h"
#include "codegen/parse_header.h"

static struct dim_name *find_name(struct header *header, const char *name)
{
    for (int i = 0; i < header->names; i++) {
        if (strcmp(header->name[i].name, name) == 0) {
            return &header->name[i];
        }
    }
    return NULL;
}

static struct dim_name *add_name(struct header *header, const char *name, struct span span)
{
    struct dim_name *known = find_name(header, name);
    if (known) {
        return known;
    }
    if (header->names == header->name_capacity) {
        int capacity = header->name_capacity ? 2 * header->name_capacity : 8;
        header->name = arena_grow(header->arena, header->name, (size_t)header->names,
                                  (size_t)capacity, sizeof *header->name);
        header->name_capacity = capacity;
    }
    header->name[header->names] = (struct dim_name){.name = name, .span = span};
    return &header->name[header->names++];
}

static enum stax_status whole_number(struct lexer *lexer, int64_t *out)
{
    bool negative = lexer_accept(lexer, "-");
    if (lexer->token.kind != TOKEN_INT) {
        return lexer_error(lexer, "expected a whole number but found %s", lexer_found(lexer));
    }
    *out = negative ? -lexer->token.i : lexer->token.i;
    lexer_next(lexer);
    return STAX_OK;
}

static enum stax_status set_default(struct header *header, struct dim_name *name, struct span span,
                                    int64_t value)
{
    if (name->has_default && name->value != value) {
        return span_error(header->what, span, "`%s` was declared as %lld before", name->name,
                          (long long)name->value);
    }
    name->has_default = true;
    name->value = value;
    return STAX_OK;
}

static enum stax_status named_dim(struct header *header, struct lexer *lexer, struct type_dim *dim)
{
    struct dim_name *name = add_name(header, lexer->token.text, lexer->token.span);
    int64_t value = 0;
    dim->name = name->name;
    dim->span = lexer->token.span;
    lexer_next(lexer);
    if (lexer_accept(lexer, "in")) {
        STAX_TRY(whole_number(lexer, &name->low));
        STAX_TRY(lexer_expect(lexer, ".."));
        STAX_TRY(whole_number(lexer, &name->high));
        name->ranged = true;
        if (name->low < 0 || name->high < name->low) {
            return span_error(header->what, dim->span,
                              "the range of `%s` is empty or negative: write low..high from 0 up",
                              name->name);
        }
        if (!lexer_is(lexer, "=")) {
            return lexer_error(lexer, "expected `= hint`, the size to tune for, but found %s",
                               lexer_found(lexer));
        }
    }
    if (lexer_accept(lexer, "=")) {
        STAX_TRY(whole_number(lexer, &value));
        STAX_TRY(set_default(header, name, dim->span, value));
    }
    return STAX_OK;
}

/* Is the current token a name with `,`, `]`, `=` or `in` behind it? */
static bool at_named_dim(const struct lexer *lexer)
{
    struct lexer ahead = *lexer;
    if (lexer->token.kind != TOKEN_NAME) {
        return false;
    }
    lexer_next(&ahead);
    return lexer_is(&ahead, ",") || lexer_is(&ahead, "]") || lexer_is(&ahead, "=") ||
           lexer_is(&ahead, "in");
}

static const char *dtype_name(const void *unused, int index)
{
    (void)unused;
    return dtype_table[index].name;
}

enum stax_status header_type(struct header *header, struct lexer *lexer, struct type *type)
{
    *type = (struct type){.what = lexer->what, .span = lexer->token.span};
    if (lexer->token.kind != TOKEN_NAME ||
        !dtype_parse(lexer->token.text, strlen(lexer->token.text), &type->dtype)) {
        const char *near = nearest_name(lexer->token.text ? lexer->token.text : "", dtype_name,
                                        NULL, DTYPE_COUNT);
        return lexer_error(
            lexer, "expected a type such as f32, bf16, f16 or f64 but found %s%s%s%s",
            lexer_found(lexer), near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "");
    }
    lexer_next(lexer);
    if (!lexer_accept(lexer, "[")) {
        return STAX_OK; /* without dims */
    }
    while (!lexer_is(lexer, "]")) {
        if (type->rank == IR_MAX_RANK) {
            return lexer_error(lexer, "a tensor has at most %d dims", IR_MAX_RANK);
        }
        struct type_dim *dim = &type->dim[type->rank++];
        if (at_named_dim(lexer)) {
            STAX_TRY(named_dim(header, lexer, dim));
        } else {
            STAX_TRY(expr_parse(lexer, &dim->expr));
            dim->span = dim->expr->span;
        }
        if (!lexer_accept(lexer, ",")) {
            break;
        }
    }
    STAX_TRY(lexer_expect(lexer, "]"));
    type->span.length = lexer->end - type->span.start;
    return STAX_OK;
}

static enum stax_status add_parameter(struct header *header, const struct token *token,
                                      const char *what)
{
    for (int i = 0; i < header->parameters; i++) {
        if (strcmp(header->parameter[i].name, token->text) == 0) {
            return span_error(what, token->span, "parameter `%s` is declared twice", token->text);
        }
    }
    if (header->parameters == header->parameter_capacity) {
        int capacity = header->parameter_capacity ? 2 * header->parameter_capacity : 8;
        header->parameter = arena_grow(header->arena, header->parameter, (size_t)header->parameters,
                                       (size_t)capacity, sizeof *header->parameter);
        header->parameter_capacity = capacity;
    }
    header->parameter[header->parameters++] = (struct parameter){.name = token->text,
                                                                 .span = token->span};
    return STAX_OK;
}

enum stax_status header_parameters(struct header *header, struct lexer *lexer)
{
    while (!lexer_is(lexer, ")")) {
        int first = header->parameters;
        do {
            if (lexer->token.kind != TOKEN_NAME) {
                return lexer_error(lexer, "expected the name of a parameter but found %s",
                                   lexer_found(lexer));
            }
            STAX_TRY(add_parameter(header, &lexer->token, lexer->what));
            lexer_next(lexer);
        } while (lexer_accept(lexer, ","));
        struct type type;
        STAX_TRY(lexer_expect(lexer, ":"));
        STAX_TRY(header_type(header, lexer, &type));
        for (int i = first; i < header->parameters; i++) {
            header->parameter[i].type = type;
        }
        if (!lexer_accept(lexer, ",")) {
            break;
        }
    }
    return lexer_expect(lexer, ")");
}

static const char *parameter_name(const void *data, int index)
{
    return ((const struct header *)data)->parameter[index].name;
}

static const char *dim_name(const void *data, int index)
{
    return ((const struct header *)data)->name[index].name;
}

/* Gives a name the value that an option says; two options must not differ. */
static enum stax_status bind_name(struct header *header, const char *name, int64_t value,
                                  const char *option)
{
    struct dim_name *found = find_name(header, name);
    if (!found) {
        const char *near = nearest_name(name, dim_name, header, header->names);
        STAX_RETURN(STAX_USAGE, "%s: the kernel has no dim named `%s`%s%s%s", option, name,
                    near            ? ": did you mean `"
                    : header->names ? "; one is `"
                                    : "",
                    near            ? near
                    : header->names ? header->name[0].name
                                    : "",
                    near || header->names ? "`" : "");
    }
    if (found->bound && found->value != value) {
        STAX_RETURN(STAX_USAGE, "%s: dim `%s` is %lld by %s: give one value", option, name,
                    (long long)found->value, found->bound_by);
    }
    if (found->ranged && (value < found->low || value > found->high)) {
        STAX_RETURN(STAX_USAGE, "%s: dim `%s` lies in %lld..%lld", option, name,
                    (long long)found->low, (long long)found->high);
    }
    found->bound = true;
    found->value = value;
    found->bound_by = option;
    return STAX_OK;
}

static enum stax_status read_strides(struct lexer *lexer, struct type *type)
{
    int count = 0;
    do {
        int64_t stride = 0;
        struct span span = lexer->token.span;
        STAX_TRY(whole_number(lexer, &stride));
        if (stride < 0) {
            return span_error(lexer->what, span, "a stride is 0 or above");
        }
        if (count == type->rank) {
            return span_error(lexer->what, span, "more strides than dims: %d are wanted",
                              type->rank);
        }
        type->stride[count++] = stride;
    } while (lexer_accept(lexer, ","));
    if (count != type->rank) {
        return lexer_error(lexer, "expected %d strides, one a dim, but found %d", type->rank,
                           count);
    }
    type->strided = true;
    return STAX_OK;
}

enum stax_status header_arg(struct header *header, const char *arg, bool bare)
{
    const char *option = arena_printf(header->arena, "--arg %s", arg);
    struct lexer lexer = lexer_open("--arg", arg, header->arena);
    struct token token = lexer.token;
    if (token.kind != TOKEN_NAME) {
        return lexer_error(&lexer, "expected NAME=TYPE[SHAPE] but found %s", lexer_found(&lexer));
    }
    lexer_next(&lexer);
    STAX_TRY(lexer_expect(&lexer, "="));
    struct header dims = {.what = "--arg", .arena = header->arena};
    struct type *type = ARENA_NEW(header->arena, struct type);
    STAX_TRY(header_type(&dims, &lexer, type));
    if (lexer_accept(&lexer, ":")) {
        STAX_TRY(read_strides(&lexer, type));
    }
    if (lexer.token.kind != TOKEN_END) {
        return lexer_error(&lexer, "expected `:` and strides, or the end, but found %s",
                           lexer_found(&lexer));
    }
    if (dims.names) {
        return span_error("--arg", dims.name[0].span, "sizes are numbers here");
    }
    if (bare) {
        STAX_TRY(add_parameter(header, &token, "--arg"));
        header->parameter[header->parameters - 1].type = *type;
        return STAX_OK;
    }
    for (int i = 0; i < header->parameters; i++) {
        struct parameter *parameter = &header->parameter[i];
        if (strcmp(parameter->name, token.text) != 0) {
            continue;
        }
        parameter->given = type;
        for (int k = 0; k < type->rank && type->rank == parameter->type.rank; k++) {
            if (parameter->type.dim[k].name && type->dim[k].expr &&
                type->dim[k].expr->kind == EXPR_INT) {
                STAX_TRY(
                    bind_name(header, parameter->type.dim[k].name, type->dim[k].expr->i, option));
            }
        }
        return STAX_OK;
    }
    const char *near = nearest_name(token.text, parameter_name, header, header->parameters);
    const char *one = near ? near : header->parameters ? header->parameter[0].name : NULL;
    return span_error("--arg", token.span, "the kernel has no parameter `%s`%s%s%s", token.text,
                      near  ? ": did you mean `"
                      : one ? "; the first is `"
                            : "",
                      one ? one : "", one ? "`" : "");
}

enum stax_status header_dim(struct header *header, const char *dim)
{
    const char *option = arena_printf(header->arena, "--dim %s", dim);
    struct lexer lexer = lexer_open("--dim", dim, header->arena);
    int64_t value = 0;
    if (lexer.token.kind != TOKEN_NAME) {
        return lexer_error(&lexer, "expected NAME=VALUE but found %s", lexer_found(&lexer));
    }
    const char *name = lexer.token.text;
    lexer_next(&lexer);
    STAX_TRY(lexer_expect(&lexer, "="));
    STAX_TRY(whole_number(&lexer, &value));
    if (lexer.token.kind != TOKEN_END) {
        return lexer_error(&lexer, "expected the end but found %s", lexer_found(&lexer));
    }
    if (value < 0) {
        STAX_RETURN(STAX_USAGE, "%s: a size is 0 or above", option);
    }
    return bind_name(header, name, value, option);
}

/* ---- sizes ---- */

static enum stax_status dim_size(struct header *header, struct parse *parse,
                                 const struct type *type, int k, int64_t *out)
{
    const struct type_dim *dim = &type->dim[k];
    struct operand value;
    if (dim->name) {
        *out = find_name(header, dim->name)->value;
    } else {
        struct parse sizes = *parse;
        sizes.what = type->what;
        STAX_TRY(parse_value(&sizes, dim->expr, &value));
        if (value.kind != OPERAND_INT) {
            return span_error(type->what, dim->span, "a size is a whole number, not %s",
                              parse_describe(parse, &value));
        }
        *out = value.i;
    }
    if (*out < 0) {
        return span_error(type->what, dim->span, "a size is 0 or above, not %lld", (long long)*out);
    }
    return STAX_OK;
}

/* Strides and the number of elements that storage must have; STAX_USAGE beyond 2^59. */
static enum stax_status lay_out(struct parse *parse, const struct type *type,
                                struct graph_input *input)
{
    int64_t elements = graph_elements(input->shape), stride = 1, last = 0;
    if (elements < 0) {
        return span_error(type->what, type->span,
                          "this tensor has more than 2^59 elements: use smaller sizes");
    }
    for (int k = input->shape.rank - 1; k >= 0; k--) {
        input->stride[k] = type->strided ? type->stride[k] : stride;
        stride *= input->shape.size[k] > 0 ? input->shape.size[k] : 1;
        int64_t far;
        if (elements > 0 &&
            (__builtin_mul_overflow(input->shape.size[k] - 1, input->stride[k], &far) ||
             __builtin_add_overflow(last, far, &last) || last >= GRAPH_MOST_ELEMENTS)) {
            return span_error(type->what, type->span,
                              "this tensor spans more than 2^59 elements: use smaller strides");
        }
        stride = elements == 0 ? 1 : stride;
    }
    input->elements = elements ? last + 1 : 0;
    (void)parse;
    return STAX_OK;
}

enum stax_status header_finish(struct header *header, struct parse *parse, const char **note)
{
    struct graph *graph = parse->graph;
    struct text notes = text_make(header->arena);
    for (int i = 0; i < header->names; i++) {
        struct dim_name *name = &header->name[i];
        if (!name->bound && !name->has_default) {
            return span_error(header->what, name->span,
                              "dim `%s` has no size: write %s=SIZE once, or give --dim %s=SIZE",
                              name->name, name->name, name->name);
        }
        if (name->ranged && (name->value < name->low || name->value > name->high)) {
            return span_error(header->what, name->span, "the hint of `%s` lies outside %lld..%lld",
                              name->name, (long long)name->low, (long long)name->high);
        }
        if (name->ranged) {
            text_printf(&notes, "%s%s is specialised at %lld", notes.length ? ", " : "", name->name,
                        (long long)name->value);
        }
        struct scope *scope = ARENA_NEW(header->arena, struct scope);
        *scope = (struct scope){name->name, number_whole(name->value), parse->scope};
        parse->scope = scope;
    }
    *note = text_string(&notes);
    graph->inputs = header->parameters;
    graph->input = ARENA_ARRAY(header->arena, struct graph_input, header->parameters + 1);
    for (int i = 0; i < header->parameters; i++) {
        const struct parameter *parameter = &header->parameter[i];
        const struct type *type = parameter->given ? parameter->given : &parameter->type;
        struct graph_input *input = &graph->input[i];
        input->name = parameter->name;
        input->dtype = type->dtype;
        input->shape.rank = type->rank;
        for (int k = 0; k < type->rank; k++) {
            STAX_TRY(dim_size(header, parse, type, k, &input->shape.size[k]));
        }
        STAX_TRY(lay_out(parse, type, input));
    }
    for (int i = 0; i < header->parameters; i++) {
        struct scope *scope = ARENA_NEW(header->arena, struct scope);
        struct operand value = {.kind = OPERAND_TENSOR, .node = graph_input(graph, i)};
        *scope = (struct scope){header->parameter[i].name, value, parse->scope};
        parse->scope = scope;
    }
    return STAX_OK;
}
