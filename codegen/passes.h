/* The passes between lowering and a finished program, in the order front.c runs them. Private to
 * codegen.
 *
 * Every pass takes a kernel and leaves it finished (ir_finish) and checked in debug builds. */
#ifndef STAX_CODEGEN_PASSES_H
#define STAX_CODEGEN_PASSES_H

#include "codegen/ir.h"

/* Rebuilds the kernel over other dims: old variable k becomes with[k] (an index over the new dims).
 * ir_build.c */
void ir_rebuild(struct ir_kernel *kernel, int dims, struct ir_dim *dim,
                const struct index *const *with, struct arena *arena);

/* merge.c: loop order by bytes, then contiguous neighbours become one dim and dims of one point
 * vanish. */
void pass_order(const struct ir_program *program, struct ir_kernel *kernel, struct arena *arena);
void pass_merge(struct ir_kernel *kernel, struct arena *arena);

/* tile.c: gives pointwise kernels their axes X, Y, Z by the bytes that become coalesced. */
void pass_tile(const struct ir_program *program, struct ir_kernel *kernel, struct arena *arena);

/* Bytes an access of `node` (LOAD or STORE) moves, a store counted twice: what order and tiling
 * weigh by. tile.c */
double pass_access_weight(const struct ir_program *program, const struct ir_kernel *kernel,
                          const struct ir_node *node);

#endif
