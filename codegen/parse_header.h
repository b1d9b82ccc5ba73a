/* Parameters of a kernel as declared and overridden, before their sizes are known. Private to
 * parse.c and parse_type.c. */
#ifndef STAX_CODEGEN_PARSE_HEADER_H
#define STAX_CODEGEN_PARSE_HEADER_H

#include "codegen/parse.h"

/* One dim of a declared type: a name (declared here or elsewhere) or an expression of names. */
struct type_dim {
    struct span span;
    const char *name;  /* n, n=4096, n in 2..8 = 4; NULL for an expression */
    struct expr *expr; /* NULL when named */
};

struct type {
    const char *what; /* names the text that the spans are of */
    struct span span;
    enum dtype dtype;
    int rank;
    struct type_dim dim[IR_MAX_RANK];
    bool strided; /* strides were given */
    int64_t stride[IR_MAX_RANK];
};

struct parameter {
    const char *name;
    struct span span;
    struct type type;
    const struct type *given; /* --arg */
};

/* A named dim. Its value is the --dim or --arg that names it, else the declared default or hint. */
struct dim_name {
    const char *name;
    struct span span;
    bool has_default, ranged, bound;
    int64_t value, low, high;
    const char *bound_by; /* "--dim n=8" */
};

struct header {
    const char *what;
    struct arena *arena;
    int parameters, parameter_capacity;
    struct parameter *parameter;
    int names, name_capacity;
    struct dim_name *name;
};

/* Reads TYPE[dim, ...] at the lexer; named dims are declared in `header`. */
enum stax_status header_type(struct header *header, struct lexer *lexer, struct type *type);
/* Reads `a, b: TYPE` groups up to `)`. */
enum stax_status header_parameters(struct header *header, struct lexer *lexer);
/* NAME=TYPE[SHAPE][:STRIDES]; on a header without parameters (`bare`) it declares one. */
enum stax_status header_arg(struct header *header, const char *arg, bool bare);
enum stax_status header_dim(struct header *header, const char *dim); /* NAME=VALUE */
/* Values for all names, then shapes and strides into graph->input. */
enum stax_status header_finish(struct header *header, struct parse *parse, const char **note);

#endif
