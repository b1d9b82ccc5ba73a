/* What the printers share: lines with indentation, ops as text, literals, names. Private to
 * codegen.
 *
 * Names in generated code follow the listings of book 9.2-9.5: xnumel, r0_numel, xoffset, xindex,
 * xmask, r0_index, x0, r0_1 for dimensions by position, tmpN for the value of node N, _tmpN for its
 * accumulator, in_ptrN, out_ptrN. */
#ifndef STAX_CODEGEN_EMIT_H
#define STAX_CODEGEN_EMIT_H

#include "codegen/plan.h"

struct emit {
    struct text text;
    int indent;
    struct arena *arena;
    const struct plan_kernel *k;
    bool cuda;
    bool in_fold; /* printing the fold of last_block: partials come from L2, tiles from the group */
    const char *
        *argument; /* name of each buffer of the program in this kernel; NULL where unused */
};

void emit_line(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_open(struct emit *e, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* line, then deeper */
void emit_close(struct emit *e, const char *line);

/* Type of a value in registers: compute type of the dtype, truth values as int. */
const char *emit_type(const struct emit *e, enum dtype dtype);
/* Literal of `value` in the compute type of `dtype`, exact. */
const char *emit_literal(struct emit *e, enum dtype dtype, double value);
/* `template` with $0 $1 $2 replaced. */
const char *emit_fill(struct arena *arena, const char *template_text, const char *const *argument);
/* The right-hand side of a node that is a pure op, CONST, CAST or INDEX, given the texts of its
 * arguments. */
const char *emit_value(struct emit *e, const struct ir_node *node, const char *const *argument,
                       int argument_dtype);
/* Identity and combination of a reduction in the node's compute type. */
const char *emit_identity(struct emit *e, const struct ir_node *reduce);
const char *emit_combine(struct emit *e, const struct ir_node *reduce, const char *a,
                         const char *b);

/* Dimension names by position: x0, y0, r0_1. */
const char *const *emit_dim_names(struct emit *e);
/* The index as text over the dimension names. */
const char *emit_index(struct emit *e, const struct index *index);
/* Declares the dimensions in `dims` of `axis` from the flat position `flat` (a name). */
void emit_dims(struct emit *e, enum ir_axis axis, unsigned dims, const char *flat);
/* Declares the dims of the axes that only count blocks, from the variable `outer`. */
void emit_outer_dims(struct emit *e);
/* Dimensions that the evaluated nodes of a pass (INDEX nodes, loads and stores chosen by `want`)
 * refer to. */
unsigned emit_node_dims(const struct ir_node *node);
const char *emit_size_type(const struct emit *e); /* int or long long (int64_t in C) */

/* The printers: append the kernels of a plan to e->text. */
enum stax_status emit_cuda(const struct plan *plan, struct arena *arena, const char **source);
enum stax_status emit_c(const struct plan *plan, struct arena *arena, const char **source);

/* Fills job->reference and appends its buffers. of_buffer: job buffer of each buffer of
 * cg->program. */
enum stax_status emit_reference(const struct cg_kernel *cg, const struct device_info *device,
                                struct arena *arena, struct job *job, int *capacity,
                                const int *of_buffer);
int job_add_buffer(struct job *job, int *capacity, struct job_buffer buffer, struct arena *arena);

/* Launch shape of a kernel (emit_cuda.c, emit_cuda_fold.c). */
void cuda_grid(const struct plan_kernel *k, int64_t grid[3]);
int64_t cuda_shared_bytes(const struct plan_kernel *k); /* dynamic; its last_block fold included */

/* An embedded text of this folder by its name. */
const char *emit_embedded(const char *name);

#endif
