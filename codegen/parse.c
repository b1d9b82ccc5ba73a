/* Kernel text to tensor graph: `kernel name(parameters) -> types { let ...; return ... }`, or a
 * bare body whose parameters are declared by --arg. The pieces: parse_type.c (header), parse_eval.c
 * (body), parse_call.c and functions.c (calls). */
#include <string.h>

#include "codegen/parse_header.h"

struct results {
    int count; /* -1: not declared */
    enum dtype dtype[32];
};

/* `-> bf16`, `-> bf16, f32` or `-> (bf16, f32)`: the dtypes that outputs are stored as. */
static enum stax_status read_results(struct lexer *lexer, struct results *results)
{
    results->count = -1;
    if (!lexer_accept(lexer, "->")) {
        return STAX_OK;
    }
    bool open = lexer_accept(lexer, "(");
    results->count = 0;
    do {
        if (lexer->token.kind != TOKEN_NAME || results->count == (int)STAX_COUNT(results->dtype) ||
            !dtype_parse(lexer->token.text, strlen(lexer->token.text),
                         &results->dtype[results->count])) {
            return lexer_error(lexer, "expected a type such as f32 or bf16 but found %s",
                               lexer_found(lexer));
        }
        results->count++;
        lexer_next(lexer);
    } while (lexer_accept(lexer, ","));
    return open ? lexer_expect(lexer, ")") : STAX_OK;
}

static enum stax_status put_outputs(struct parse *parse, struct span span,
                                    const struct results *results, const struct operand *list)
{
    struct graph *graph = parse->graph;
    if (results->count > 1 && results->count != list->count) {
        return parse_fail(parse, span, "%d types are declared for %d returned tensors",
                          results->count, list->count);
    }
    graph->outputs = list->count;
    graph->output = ARENA_ARRAY(parse->arena, struct graph_output, list->count);
    for (int i = 0; i < list->count; i++) {
        struct graph_output *output = &graph->output[i];
        output->node = parse_tensor(parse, &list->items[i], DTYPE_F32);
        output->dtype = graph->node[output->node].dtype;
        if (results->count > 0) {
            output->dtype = results->dtype[results->count == 1 ? 0 : i];
        }
    }
    return STAX_OK;
}

static enum stax_status apply_options(const struct parse_request *request, struct header *header,
                                      bool bare)
{
    for (int i = 0; i < request->args; i++) {
        STAX_TRY(header_arg(header, request->arg[i], bare));
    }
    for (int i = 0; i < request->dims; i++) {
        STAX_TRY(header_dim(header, request->dim[i]));
    }
    return STAX_OK;
}

/* Two options for one name must not depend on their order, so names bound by --arg are checked as
 * they come. */
static enum stax_status read_kernel(const struct parse_request *request, struct lexer *lexer,
                                    struct parse *parse, const char **note)
{
    struct header header = {.what = request->what, .arena = parse->arena};
    struct results results;
    struct operand list;
    struct span span = lexer->token.span;
    if (lexer->token.kind != TOKEN_NAME) {
        return lexer_error(lexer, "expected the kernel's name but found %s", lexer_found(lexer));
    }
    parse->graph->name = lexer->token.text;
    lexer_next(lexer);
    STAX_TRY(lexer_expect(lexer, "("));
    STAX_TRY(header_parameters(&header, lexer));
    STAX_TRY(read_results(lexer, &results));
    STAX_TRY(lexer_expect(lexer, "{"));
    STAX_TRY(apply_options(request, &header, false));
    STAX_TRY(header_finish(&header, parse, note));
    STAX_TRY(parse_body(parse, lexer, "}", &list));
    STAX_TRY(lexer_expect(lexer, "}"));
    if (lexer->token.kind != TOKEN_END) {
        return lexer_error(
            lexer, "expected the end after the kernel but found %s: one text holds one kernel",
            lexer_found(lexer));
    }
    return put_outputs(parse, span, &results, &list);
}

static enum stax_status read_bare(const struct parse_request *request, struct lexer *lexer,
                                  struct parse *parse, const char **note)
{
    struct header header = {.what = request->what, .arena = parse->arena};
    struct results results = {.count = -1};
    struct operand list;
    struct span span = lexer->token.span;
    parse->graph->name = "expr";
    STAX_TRY(apply_options(request, &header, true));
    STAX_TRY(header_finish(&header, parse, note));
    if (lexer_is(lexer, "let") || lexer_is(lexer, "return")) {
        STAX_TRY(parse_body(parse, lexer, "", &list));
    } else {
        struct expr *expr;
        struct operand *value = ARENA_NEW(parse->arena, struct operand);
        STAX_TRY(expr_parse(lexer, &expr));
        STAX_TRY(parse_value(parse, expr, value));
        if (value->kind != OPERAND_TENSOR && !parse_is_number(value)) {
            return parse_fail(parse, expr->span, "a kernel returns tensors, not %s",
                              parse_describe(parse, value));
        }
        if (lexer->token.kind != TOKEN_END) {
            return lexer_error(lexer, "expected an operator or the end but found %s",
                               lexer_found(lexer));
        }
        list = (struct operand){.kind = OPERAND_LIST, .count = 1, .items = value};
    }
    return put_outputs(parse, span, &results, &list);
}

enum stax_status parse_kernel(const struct parse_request *request, struct arena *arena,
                              struct graph *graph, const char **note)
{
    *graph = (struct graph){.arena = arena};
    *note = "";
    struct parse parse = {.what = request->what, .arena = arena, .graph = graph};
    struct lexer lexer = lexer_open(request->what, request->text, arena);
    if (lexer.failed) {
        return STAX_USAGE;
    }
    if (lexer_accept(&lexer, "kernel")) {
        return read_kernel(request, &lexer, &parse, note);
    }
    if (lexer.token.kind == TOKEN_END) {
        return lexer_error(&lexer,
                           "expected `kernel name(...) { return ... }` but the text is empty");
    }
    return read_bare(request, &lexer, &parse, note);
}
