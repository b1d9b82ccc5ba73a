/* What the files of the kernel language's front share: values while a body is read, scopes, calls.
 * Private to parse*.c. */
#ifndef STAX_CODEGEN_PARSE_H
#define STAX_CODEGEN_PARSE_H

#include "codegen/graph.h"

enum operand_kind {
    OPERAND_TENSOR,
    OPERAND_INT, /* Python numbers are weak: they take the dtype of the tensor they meet */
    OPERAND_FLOAT,
    OPERAND_BOOL,
    OPERAND_NONE,
    OPERAND_LIST,
    OPERAND_DTYPE,
};

struct operand {
    enum operand_kind kind;
    int node;         /* TENSOR */
    int64_t i;        /* INT, BOOL */
    double f;         /* INT and BOOL too */
    enum dtype dtype; /* DTYPE */
    int count;        /* LIST */
    struct operand *items;
};

struct scope {
    const char *name;
    struct operand value;
    const struct scope *up;
};

struct parse {
    const char *what;
    struct arena *arena;
    struct graph *graph;
    const struct scope *scope;
    /* Inside a composite function, messages point at the call that the user wrote. */
    const char *inside;
    struct span call;
};

enum { PARSE_MOST_PARAMETERS = 8 };

struct call {
    const struct function *function;
    struct span span;
    struct operand value[PARSE_MOST_PARAMETERS]; /* in the order of the signature */
    struct span at[PARSE_MOST_PARAMETERS]; /* where each was written; the call where it was not */
};

/* A function of the language: written in the language itself (`body`), or in C (`run`). */
struct function {
    const char *name;
    const char *signature; /* "x, axis=None, keepdims=False" */
    const char *body;
    enum stax_status (*run)(struct parse *parse, struct call *call, struct operand *out);
};

/* STAX_USAGE with place and caret; inside a composite function at the user's call. */
enum stax_status parse_fail(const struct parse *parse, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- parse_eval.c ---- */
enum stax_status parse_value(struct parse *parse, const struct expr *expr, struct operand *out);
/* `let`s and a `return`, up to `end` ("" for the end of the text); several values make a list. */
enum stax_status parse_body(struct parse *parse, struct lexer *lexer, const char *end,
                            struct operand *out);
/* Applies an op with promotion and broadcasting. */
enum stax_status parse_pure(struct parse *parse, struct span span, enum ir_op op,
                            const struct operand *value, struct operand *out);
enum stax_status parse_binary(struct parse *parse, struct span span, enum expr_op op,
                              const struct operand *value, struct operand *out);
enum stax_status parse_where(struct parse *parse, struct span span, const struct operand *value,
                             struct operand *out);
/* The operand as a tensor; a number becomes a constant of `weak` (f32 unless a tensor decides). */
int parse_tensor(struct parse *parse, const struct operand *value, enum dtype weak);
enum stax_status parse_check_size(const struct parse *parse, struct span span,
                                  struct graph_shape shape);
const char *parse_describe(const struct parse *parse,
                           const struct operand *value); /* "a tensor f32[64, 128]" */

/* ---- parse_number.c ---- */
struct operand number_real(double f);
struct operand number_whole(int64_t i);
struct operand number_truth(bool b);
enum stax_status number_binary(struct parse *parse, struct span span, enum expr_op op,
                               const struct operand *value, struct operand *out);
static inline bool parse_is_number(const struct operand *value)
{
    return value->kind == OPERAND_INT || value->kind == OPERAND_FLOAT ||
           value->kind == OPERAND_BOOL;
}

/* ---- parse_index.c ---- */
enum stax_status parse_index(struct parse *parse, const struct expr *expr,
                             const struct operand *value, struct operand *out);

/* ---- parse_call.c: binding arguments; functions.c: the table ---- */
enum stax_status parse_call(struct parse *parse, const struct expr *expr, struct operand *out);
const struct function *function_find(const char *name);
const char *function_name(const void *unused,
                          int index); /* of all functions and ops, for suggestions */
int function_names(void);

#endif
