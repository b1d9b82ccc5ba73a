/* Loop IR: what lowering produces, scheduling rewrites and emitters print.
 *
 * A program is a list of fused kernels over buffers. A kernel is a set of iteration dims (axes X,
 * Y, Z) and reduction dims (axis R) and a DAG of nodes in topological order, one value a point of
 * the domain. A node that depends on no reduction dim directly or only through REDUCE nodes is of
 * the x domain; otherwise of the (x, r) domain. REDUCE folds an (x, r) value over all reduction
 * dims into an x value. `level` of a REDUCE is 1 + the greatest level of the REDUCEs it depends on:
 * a looped kernel makes one pass over r a level, and a last pass if a STORE is in the (x, r) domain
 * (softmax: max, sum, store). Node values are in dtype_compute(); LOAD converts from the buffer's
 * dtype, STORE to it. Source: book 9.2-9.5 (the listings); the interpreter ir_eval.c is the
 * definition. */
#ifndef STAX_CODEGEN_IR_H
#define STAX_CODEGEN_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"

enum ir_op {
#define OP(id, name, arity, result, flop, f32, i, value, error) IR_##id,
#include "codegen/ops.def"
#undef OP
    IR_PURE_COUNT,
    IR_CONST = IR_PURE_COUNT, /* constant */
    IR_INDEX,                 /* the value of `index` as a number of the node's dtype */
    IR_LOAD,   /* buffer[index], 0 where `guard` arg is false (pad, slices): arg[0] guard node or -1
                */
    IR_CAST,   /* arg[0] converted to dtype (16-bit floats round as if stored) */
    IR_REDUCE, /* arg[0] folded by `reduction` */
    IR_STORE,  /* buffer[index] = arg[0] */
    IR_OP_COUNT
};

enum ir_result { IR_RESULT_SAME, IR_RESULT_BOOL, IR_RESULT_ARG1 };

struct ir_op_row {
    const char *name;
    int arity;
    enum ir_result result;
    int flop;
    const char *f32, *i;                 /* emitter texts */
    const char *value_text, *error_text; /* double texts for the reference */
};
extern const struct ir_op_row ir_op_table[IR_PURE_COUNT];

enum ir_reduction {
#define RED(id, name, identity, combine, identity_double, combine_double) IR_RED_##id,
#include "codegen/reductions.def"
#undef RED
    IR_RED_COUNT
};

struct ir_reduction_row {
    const char *name, *identity, *combine, *identity_double, *combine_double; /* texts */
};
extern const struct ir_reduction_row ir_reduction_table[IR_RED_COUNT];

/* Index expressions: integer trees over loop variables, always simplified by ranges. Division is
 * floor, MOD >= 0. */
enum index_kind { INDEX_CONST, INDEX_VAR, INDEX_ADD, INDEX_MUL, INDEX_DIV, INDEX_MOD };

struct index {
    enum index_kind kind;
    int64_t value;             /* CONST */
    int var;                   /* VAR: position in kernel->dim */
    const struct index *a, *b; /* MUL: b is CONST; DIV and MOD: b is a positive CONST; ADD: any */
};

enum ir_axis { IR_AXIS_X, IR_AXIS_Y, IR_AXIS_Z, IR_AXIS_R, IR_AXES };

struct ir_dim {
    enum ir_axis axis; /* dims of one axis are flattened row-major, outermost first, in their order
                          in `dim` */
    int64_t size;      /* >= 1 in a kernel that runs; an empty output makes no kernel */
};

enum ir_hint {
    IR_HINT_INNER,
    IR_HINT_OUTER,
    IR_HINT_DEFAULT
}; /* direction of the reduction; facts: count of reads */

struct ir_node {
    enum ir_op op;
    enum dtype dtype; /* of the value; STORE: of the buffer */
    int arg[3];       /* node numbers, -1 where absent */
    double constant;
    const struct index *index;
    int buffer;
    enum ir_reduction reduction;
    int level; /* REDUCE: see above; other nodes: greatest level they depend on, 0 for none */
    bool in_r; /* (x, r) domain */
};

struct ir_kernel {
    const char *name; /* "red_fused_0" without prefix stax_ until named */
    int dims;
    struct ir_dim *dim; /* order: Z.., Y.., X.., R.. */
    int nodes;
    struct ir_node *node;
    enum ir_hint hint;
    int levels;       /* greatest level */
    bool stores_in_r; /* some STORE is in the (x, r) domain */
};

enum ir_buffer_role { IR_BUFFER_INPUT, IR_BUFFER_OUTPUT, IR_BUFFER_SCRATCH };

struct ir_buffer {
    const char *name; /* parameter name, "out0", "buf0" */
    enum ir_buffer_role role;
    enum dtype dtype;
    int64_t elements; /* storage elements, strides included */
    int rank;
    int64_t shape[8], stride[8]; /* in elements; asserted by the caller of an exported kernel */
};

enum { IR_MAX_RANK = 8 };

struct ir_program {
    const char *name;
    int buffers;
    struct ir_buffer *buffer;
    int kernels;
    struct ir_kernel *kernel;
};

/* ---- ir.c: table, construction, checking, printing ---- */
int64_t ir_axis_size(const struct ir_kernel *kernel,
                     enum ir_axis axis); /* product; 1 when the axis has no dim */
bool ir_axis_present(const struct ir_kernel *kernel, enum ir_axis axis);
void ir_finish(struct ir_kernel *kernel); /* computes level, in_r, levels, stores_in_r, hint */
/* STAX_INTERNAL names the kernel, node and rule that is broken; run after every pass in debug
 * builds. */
enum stax_status ir_check(const struct ir_program *program);
void ir_print(struct text *text, const struct ir_program *program);
/* Like ir_check, and aborts with the message: what passes call in debug builds (nothing otherwise).
 */
void ir_debug_check(const struct ir_program *program);
/* Names of the kernel's variables for index_print: x0 y1 r0_2, by axis and position in `dim`. */
const char *const *ir_dim_names(const struct ir_kernel *kernel, struct arena *arena);
void ir_sizes(const struct ir_kernel *kernel,
              int64_t *size); /* dim sizes as index functions want them */

/* ---- ir_build.c: makes a kernel's nodes; equal pure nodes, loads and constants are made once,
 * constants fold ---- */
struct ir_builder {
    struct arena *arena;
    struct ir_node *node;
    int nodes, capacity;
    const int64_t *size; /* of the dims; for indices */
};
struct ir_builder ir_build(struct arena *arena, const int64_t *size);
int ir_build_const(struct ir_builder *builder, enum dtype dtype, double value);
int ir_build_index(struct ir_builder *builder, enum dtype dtype, const struct index *index);
int ir_build_load(struct ir_builder *builder, int buffer, enum dtype dtype,
                  const struct index *index, int guard);
int ir_build_cast(struct ir_builder *builder, enum dtype dtype, int arg);
int ir_build_pure(struct ir_builder *builder, enum ir_op op, int a, int b,
                  int c); /* args already of one dtype */
int ir_build_reduce(struct ir_builder *builder, enum ir_reduction reduction, int arg);
int ir_build_store(struct ir_builder *builder, int buffer, enum dtype dtype,
                   const struct index *index, int arg);
/* Adds `node` of another kernel with its args already renumbered; finds an equal one first. */
int ir_build_node(struct ir_builder *builder, const struct ir_node *node);
/* Hands the nodes that some STORE needs to `kernel`, in order, and runs ir_finish. */
void ir_build_into(struct ir_builder *builder, struct ir_kernel *kernel);
/* The value of a pure op in double: the table's definition. */
double ir_value(enum ir_op op, double a, double b, double c);

/* ---- index.c ---- */
const struct index *index_const(struct arena *arena, int64_t value);
const struct index *index_var(struct arena *arena, int var);
const struct index *index_add(struct arena *arena, const struct index *a, const struct index *b);
const struct index *index_mul(struct arena *arena, const struct index *a, int64_t factor);
/* `size[var]` gives each variable's extent, so that ranges simplify: (128 i + j) / 128 = i for j <
 * 128. */
const struct index *index_div(struct arena *arena, const struct index *a, int64_t by,
                              const int64_t *size);
const struct index *index_mod(struct arena *arena, const struct index *a, int64_t by,
                              const int64_t *size);
/* Replaces variable k by with[k]; sizes are those of the new variables. */
const struct index *index_replace(struct arena *arena, const struct index *a,
                                  const struct index *const *with, const int64_t *size);
void index_range(const struct index *a, const int64_t *size, int64_t *low, int64_t *high);
/* Splits into offset + sum coefficient[var] * var; false when a DIV or MOD stands in the way. */
bool index_affine(const struct index *a, int vars, int64_t *coefficient, int64_t *offset);
bool index_equal(const struct index *a, const struct index *b);
int64_t index_eval(const struct index *a, const int64_t *vars);
/* C syntax, "r0_1 + 8192*x0". Dividends are never negative, so that C's / and % are the floor forms
 * meant here. */
void index_print(struct text *text, const struct index *a, const char *const *names);
bool index_uses(const struct index *a, int first, int past); /* some variable in [first, past)? */
int index_divisions(const struct index *a);                  /* DIV and MOD nodes in it */
/* True when no value on the way exceeds 32 signed bits; otherwise it must be printed in 64-bit
 * arithmetic. */
bool index_fits_i32(const struct index *a, const int64_t *size);

/* ---- ir_eval.c: the definition ---- */
/* Runs the program in double. data[b] holds buffer b's storage as doubles (inputs filled; outputs
 * and scratch written). bound, if not NULL, gets the running error bound of every element (see
 * ops.def), 0 for inputs. STAX_LIMIT beyond 2^26 domain points. */
enum stax_status ir_eval(const struct ir_program *program, double *const *data,
                         double *const *bound);

/* ---- split.c: forms that change the kernel list ---- */
/* Splits the kernel's single-level reduction into `parts` partial reductions of ceil(r / parts)
 * each and a second kernel that folds the partials and runs what follows (book 9.4 form 3): 64 x
 * 16384 in 2 parts gives 128 x 8192 then 64 x 2, with a scratch buffer between. Partials carry the
 * compute dtype. Parts that do not divide r are padded by a guard at the identity. STAX_UNSUPPORTED
 * where the kernel has levels != 1 or stores in (x, r). The result replaces `kernel` in the
 * program. */
enum stax_status ir_split(struct ir_program *program, int kernel, int64_t parts,
                          struct arena *arena);
/* Parts by the rule (compilers' rule for inner and outer reductions; 64 x 16384 gives 2 on 132
 * processors); 1: no split. */
int64_t ir_split_parts(const struct ir_kernel *kernel, int processors);
/* Persistent by the book 9.4 (1): inner length <= 1024, otherwise <= 64. */
bool ir_persistent(const struct ir_kernel *kernel);

#endif
