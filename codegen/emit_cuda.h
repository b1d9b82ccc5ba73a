/* The parts of the CUDA printer: scopes over a thread's slots (emit_cuda.c), memory accesses
 * (emit_cuda_access.c), folds across lanes and warps and the last block (emit_cuda_fold.c). Private
 * to codegen. */
#ifndef STAX_CODEGEN_EMIT_CUDA_H
#define STAX_CODEGEN_EMIT_CUDA_H

#include "codegen/emit.h"

/* An open walk over slots: which loops it has and how many braces to close. */
struct scope {
    bool x, b;
    int braces, inner;
};

/* In slot_dims: the scope also tests the mask of that axis. */
#define CUDA_MASK_X (1u << 31)
#define CUDA_MASK_B (1u << 30)

/* Opens loops over the x slots and b slots asked for; declares the masks asked for and, of the
 * vector's start, the dims in `slot_dims`. `element_dims` are those that cuda_elements will want.
 */
struct scope emit_cuda_open(struct emit *e, bool x, bool b, unsigned slot_dims,
                            unsigned element_dims);
/* Inside it, opens the loop over a vector's elements and declares the dims of each element. */
void cuda_elements(struct emit *e, struct scope *scope, unsigned element_dims);
void cuda_elements_close(struct emit *e, struct scope *scope);
void cuda_close(struct emit *e, struct scope *scope);
/* "[i][e]" for a value of the x domain, "[i][j][e]" for one of the full domain; a dimension of one
 * slot has no subscript. */
const char *cuda_subscript(struct emit *e, bool x, bool b, bool elements);
const char *cuda_extent(struct emit *e, bool x, bool b,
                        bool elements);          /* "[2][4]", for declarations */
const char *cuda_name(struct emit *e, int node); /* value of a node inside a scope */
bool cuda_masked_x(const struct plan_kernel *k);
bool cuda_masked_b(const struct plan_kernel *k);
void cuda_body(struct emit *e);
void cuda_lanes(struct emit *e);
void cuda_constants(struct emit *e);

/* ---- emit_cuda_access.c ---- */
void cuda_load_declare(struct emit *e, int node);
void emit_cuda_load(struct emit *e, int node); /* loops and loads into rawN */
const char *cuda_load_value(struct emit *e,
                            int node);       /* takes the element out of rawN, inside a scope */
void cuda_store_x(struct emit *e, int node); /* a STORE of the x domain, whole */
/* A STORE of the full domain in three places: before, inside and after the loop over elements. */
bool cuda_store_wide(const struct emit *e,
                     int node); /* one store a vector: elements need no address */
void cuda_store_open(struct emit *e, int node);
void cuda_store_element(struct emit *e, int node);
void cuda_store_flush(struct emit *e, int node);

/* ---- emit_cuda_tile.c: loads that are turned in shared memory ---- */
bool cuda_turned(const struct plan_kernel *k, int node);
int64_t cuda_tile_bytes(const struct plan_kernel *k);
void cuda_tile_load(struct emit *e, int node); /* along y into rawN */
void cuda_tile_put(struct emit *e, int node);  /* rawN into shared memory; a barrier follows */
void cuda_tile_get(struct emit *e,
                   int node); /* inside the loop over elements: rawN is the one element */

/* ---- emit_cuda_fold.c ---- */
void cuda_fold_level(struct emit *e,
                     int level); /* accumulators of the level's reductions to tmpN */
void cuda_last_block(struct emit *e);

#endif
