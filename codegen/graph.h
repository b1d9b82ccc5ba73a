/* The tensor graph: what a kernel's text means, one node a tensor, before loops exist. Private to
 * the front of codegen.
 *
 * Shapes and dtypes are known for every node. Arguments of a PURE node have its shape: broadcasting
 * is a VIEW of its own. Every view (transpose, slice, reshape, expand, pad) is one thing: for each
 * source dim, an index over the node's own dims. A node's dtype is what a store of it would have;
 * values are computed in dtype_compute() of it and rounded by CAST and by stores alone (book 6.2).
 */
#ifndef STAX_CODEGEN_GRAPH_H
#define STAX_CODEGEN_GRAPH_H

#include "base/expr.h"
#include "codegen/ir.h"

/* Elements of one tensor: 2^62 bytes of the widest type, so that no product of a size in bytes
 * overflows. */
#define GRAPH_MOST_ELEMENTS ((int64_t)1 << 59)

enum graph_kind {
    GRAPH_INPUT,
    GRAPH_CONST,
    GRAPH_IOTA,
    GRAPH_PURE,
    GRAPH_CAST,
    GRAPH_VIEW,
    GRAPH_REDUCE
};

struct graph_shape {
    int rank;
    int64_t size[IR_MAX_RANK];
};

struct graph_node {
    enum graph_kind kind;
    enum dtype dtype;
    struct graph_shape shape;
    int arg[3];      /* -1 where absent */
    enum ir_op op;   /* PURE */
    double constant; /* CONST */
    int input;       /* INPUT: parameter number */
    const struct index *
        map[IR_MAX_RANK]; /* VIEW: a source dim as an index over own dims; IOTA: map[0] its value */
    bool padded;          /* VIEW: a map may leave the source; the value is 0 there */
    enum ir_reduction
        reduction; /* REDUCE: over the dims of arg[0] in `axes`; they vanish from the shape */
    unsigned axes;
};

struct graph_input {
    const char *name;
    enum dtype dtype;
    struct graph_shape shape;
    int64_t stride[IR_MAX_RANK];
    int64_t elements; /* of storage */
};

struct graph_output {
    int node;
    enum dtype dtype; /* of the store */
};

struct graph {
    struct arena *arena;
    const char *name;
    int nodes, capacity;
    struct graph_node *node;
    int inputs;
    struct graph_input *input;
    int outputs;
    struct graph_output *output;
};

/* ---- graph.c: nodes; equal ones are made once. Shapes must already agree where not said
 * otherwise. ---- */
int graph_input(struct graph *graph, int input);
int graph_const(struct graph *graph, enum dtype dtype, double value); /* rank 0 */
int graph_iota(struct graph *graph, int64_t count);                   /* i64 [0, count) */
int graph_pure(struct graph *graph, enum ir_op op, enum dtype dtype, const int *arg);
int graph_cast(struct graph *graph, enum dtype dtype,
               int arg); /* rounds to dtype; nothing to do when it is that */
/* Value-preserving: makes arithmetic on `arg` happen in dtype_compute(dtype); no rounding to 16
 * bits. */
int graph_promote(struct graph *graph, enum dtype dtype, int arg);
/* Over an empty range: the identity as a constant. */
int graph_reduce(struct graph *graph, enum ir_reduction reduction, int arg, unsigned axes);
int graph_view(struct graph *graph, int arg, struct graph_shape shape,
               const struct index *const *map, bool padded);
int64_t graph_elements(struct graph_shape shape); /* product; -1 above GRAPH_MOST_ELEMENTS */
bool graph_same_shape(struct graph_shape a, struct graph_shape b);
char *graph_shape_text(struct graph_shape shape, struct arena *arena); /* "[64, 128]" */
/* NumPy's rule; false when the shapes do not go together. */
bool graph_broadcast_shape(struct graph_shape a, struct graph_shape b, struct graph_shape *out);
/* The common dtype of two tensors: wider of one kind, float over int over bool, f16 with bf16 gives
 * f32. */
enum dtype graph_common_dtype(enum dtype a, enum dtype b);

/* ---- graph_view.c: views; arguments are already checked by the caller ---- */
int graph_expand(struct graph *graph, int arg, struct graph_shape shape); /* NumPy's broadcast_to */
int graph_permute(struct graph *graph, int arg,
                  const int *axes); /* out dim k is source dim axes[k] */
int graph_reshape(struct graph *graph, int arg, struct graph_shape shape);
/* Puts a dim of size 1 before every dim in `axes` (bits of the result). */
int graph_unsqueeze(struct graph *graph, int arg, unsigned axes);
int graph_squeeze(struct graph *graph, int arg,
                  unsigned axes); /* drops dims in `axes`, which have size 1 */
/* One part of x[...]: an index drops its dim, NEW inserts one. */
enum graph_part_kind { GRAPH_PART_AT, GRAPH_PART_SLICE, GRAPH_PART_NEW };
struct graph_part {
    enum graph_part_kind kind;
    int64_t start, step, count;
};
int graph_slice(struct graph *graph, int arg, const struct graph_part *part, int parts);
int graph_pad(struct graph *graph, int arg, const int64_t *before,
              const int64_t *after); /* zeros */

/* ---- graph_print.c ---- */
void graph_print(struct text *text, const struct graph *graph);

/* ---- parse.c: text to graph ---- */
struct parse_request {
    const char *what; /* names the text in messages */
    const char *text;
    const char *const *arg; /* --arg */
    int args;
    const char *const *dim; /* --dim */
    int dims;
};
/* `note` gets one line about what was assumed (ranged dims), or "". */
enum stax_status parse_kernel(const struct parse_request *request, struct arena *arena,
                              struct graph *graph, const char **note);

/* ---- lower.c: graph to loop IR, before merging and tiling ---- */
enum stax_status lower_graph(const struct graph *graph, struct arena *arena,
                             struct ir_program *program);

#endif
