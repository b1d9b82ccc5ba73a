/* The one expression parser: `.stax` bodies, space constraints, size expressions and imported
 * Python-style conditions.
 *
 * Grammar, loosest first: `if c then a else b`, `a if c else b`, lambda `(i, j) -> e`, or, and,
 * not, comparisons (chained as in Python; `in`, `not in`), | ^ &, << >>, + -, * / // % @, unary - +
 * !, ** (right), postfix call f(a, k=b), index x[i, a:b:c, None], attribute x.T, [e for i in list
 * if c]. `&&`, `||` and `!` are accepted for and, or, not; true/false and True/False too. Numbers
 * are ints (decimal, hex) or floats; texts in single or double quotes; `#` starts a comment. The
 * evaluator at the end is for scalars (constraints, sizes); tensor meaning is given by codegen. */
#ifndef STAX_BASE_EXPR_H
#define STAX_BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* Where something stands in its text; lines and columns count from 1. */
struct span {
    const char *text; /* the whole source, for carets */
    size_t start, length;
};

enum token_kind {
    TOKEN_END,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_TEXT,
    TOKEN_NAME, /* also keywords; compare the text */
    TOKEN_MARK, /* punctuation and operators, longest match */
};

struct token {
    enum token_kind kind;
    struct span span;
    int64_t i;        /* TOKEN_INT */
    double f;         /* TOKEN_FLOAT, and TOKEN_INT as double */
    const char *text; /* TOKEN_TEXT unquoted, TOKEN_NAME, TOKEN_MARK: NUL-terminated */
};

/* A lexer with one token of look-ahead. On a bad character the status message is set and `token` is
 * TOKEN_END with `failed` true. */
struct lexer {
    const char *what; /* names the text in messages: a file, "--expr", a parameter */
    const char *text;
    size_t at;
    struct token token; /* the current token */
    size_t end; /* offset behind the last token taken: where a construct that just ended, ends */
    int depth;  /* of nested parsing; expr_parse refuses to pass EXPR_DEPTH */
    bool failed;
    struct arena *arena;
};

/* Nesting that a person writes stays below ten; the limit keeps every recursion over expressions
 * safe (chosen). */
enum { EXPR_DEPTH = 200, EXPR_CHAIN = 1000 };

struct lexer lexer_open(const char *what, const char *text,
                        struct arena *arena); /* first token already read */
void lexer_next(struct lexer *lexer);
bool lexer_is(const struct lexer *lexer,
              const char *text); /* is the current token this name or mark? */
bool lexer_accept(struct lexer *lexer, const char *text); /* takes it if so */
enum stax_status lexer_expect(struct lexer *lexer,
                              const char *text); /* STAX_USAGE with a caret otherwise */
/* STAX_USAGE at the current token; the message of a lexer that failed already stays as it is. */
enum stax_status lexer_error(const struct lexer *lexer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Names the current token for messages: "`x`", "the text \"x\"", "the end". */
const char *lexer_found(const struct lexer *lexer);

/* STAX_USAGE: "what:line:col: message", then the source line, then a caret line. */
enum stax_status span_error(const char *what, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void span_position(struct span span, int *line, int *column);

enum expr_kind {
    EXPR_INT,
    EXPR_FLOAT,
    EXPR_TEXT,
    EXPR_BOOL,
    EXPR_NONE, /* None, and an absent slice bound */
    EXPR_NAME,
    EXPR_UNARY,   /* op, kids[0] */
    EXPR_BINARY,  /* op, kids[0], kids[1] */
    EXPR_COMPARE, /* count kids, ops[count-1]: kids[0] ops[0] kids[1] ops[1] kids[2] ... */
    EXPR_AND,     /* n-ary */
    EXPR_OR,
    EXPR_CALL, /* kids[0] callee, the rest arguments; names[i] the keyword of kids[i] or NULL */
    EXPR_ATTRIBUTE, /* kids[0] . text */
    EXPR_INDEX,     /* kids[0] [ kids[1], ... ] */
    EXPR_SLICE,     /* kids: start, stop, step */
    EXPR_LIST,
    EXPR_TUPLE,
    EXPR_IF,     /* kids: condition, then, else */
    EXPR_LAMBDA, /* names[0..count-2] parameters, kids[count-1] the body (other kids NULL) */
    EXPR_EACH, /* [kids[0] for names[1] in kids[1] if kids[2] for names[3] in kids[3] ...]; kids[2]
                  may be NULL */
};

enum expr_op {
    EXPR_OP_NEG,
    EXPR_OP_POS,
    EXPR_OP_NOT,
    EXPR_OP_ADD,
    EXPR_OP_SUB,
    EXPR_OP_MUL,
    EXPR_OP_DIV,
    EXPR_OP_FLOORDIV,
    EXPR_OP_MOD,
    EXPR_OP_POW,
    EXPR_OP_MATMUL,
    EXPR_OP_BITAND,
    EXPR_OP_BITOR,
    EXPR_OP_BITXOR,
    EXPR_OP_SHL,
    EXPR_OP_SHR,
    EXPR_OP_LT,
    EXPR_OP_LE,
    EXPR_OP_GT,
    EXPR_OP_GE,
    EXPR_OP_EQ,
    EXPR_OP_NE,
    EXPR_OP_IN,
    EXPR_OP_NOT_IN,
};

struct expr {
    enum expr_kind kind;
    enum expr_op op;
    struct span span;
    int64_t i;
    double f;
    const char *text; /* EXPR_NAME, EXPR_TEXT, EXPR_ATTRIBUTE */
    int count;
    int depth; /* of this tree: 1 for a leaf, never over EXPR_CHAIN */
    struct expr **kids;
    const char **names;
    enum expr_op *ops;
};

/* Parses one expression from the lexer's current token; stops at the first token that cannot
 * continue it. */
enum stax_status expr_parse(struct lexer *lexer, struct expr **expr);
/* Parses a whole text; anything left over is an error. */
enum stax_status expr_parse_text(const char *what, const char *text, struct arena *arena,
                                 struct expr **expr);

/* Scalar values: what parameters hold and constraints compute. */
enum value_kind { VALUE_INT, VALUE_FLOAT, VALUE_TEXT, VALUE_BOOL, VALUE_LIST };

struct value {
    enum value_kind kind;
    int64_t i; /* VALUE_INT, VALUE_BOOL */
    double f;
    const char *text;
    struct value *items; /* VALUE_LIST */
    int count;
};

bool value_equal(const struct value *a, const struct value *b); /* 1 == 1.0 == True as in Python */
bool value_true(const struct value *value);
double value_number(const struct value *value); /* NAN for texts and lists */
/* Shortest text that reads back the same: 8, 0.5, "text" without quotes, True. */
char *value_text(const struct value *value, struct arena *arena);

/* Looks a name up; returns false when unknown. */
typedef bool expr_lookup(void *data, const char *name, struct value *value);

/* Evaluates with Python's rules (floor // and %, int ** int exact, / gives float, chained
 * comparisons, and/or return an operand, list comprehensions [f(i) for i in range(..)], list(),
 * range, min, max, abs, len, int, float, round, sum, ceil, log2, sqrt). Overflow of 64 bits and
 * division by zero are errors. Errors: STAX_USAGE with a caret. */
enum stax_status expr_eval(const char *what, const struct expr *expr, expr_lookup *lookup,
                           void *data, struct arena *arena, struct value *value);
/* Calls `visit` for every distinct free name in order of appearance. */
void expr_names(const struct expr *expr, void (*visit)(void *data, const char *name), void *data);

#endif
