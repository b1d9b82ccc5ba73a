/* The kernels of one configuration: the program after its form and split, and how each kernel maps
 * to threads.
 *
 * A kernel works on tiles of XBLOCK x BBLOCK points. The second axis, called b here, is the
 * reduction (R), or Y of a two-dimensional pointwise kernel, or absent (1). One of the two axes
 * carries the vectors: `vec_x` tells which. A thread owns slots: sx along x and sb along b, each a
 * vector of `ve` elements on the vector axis. Axes that are neither (Z, and Y of a reduction) only
 * count blocks. Private to codegen; made by plan.c, printed by the emitters. */
#ifndef STAX_CODEGEN_PLAN_H
#define STAX_CODEGEN_PLAN_H

#include "codegen/program.h"

enum plan_form { PLAN_POI, PLAN_RED, PLAN_PER };
enum plan_choice { CHOICE_PER, CHOICE_RED, CHOICE_SPLIT }; /* values of FORM */
enum plan_finish { PLAN_TWO_KERNEL, PLAN_LAST_BLOCK };

/* One configuration's values for one kernel of the program, absent parameters at their only value.
 */
struct plan_values {
    bool split;
    bool persistent;
    int64_t xblock, yblock, rblock;
    int warps;   /* cuda */
    int threads; /* cpu: OpenMP threads */
    int vec;     /* bytes a lane loads at once */
    int64_t rsplit;
    enum plan_finish finish;
    bool evict; /* cuda: streaming loads and stores */
};

/* One walk over the tile: pass p feeds the reductions of level p + 1; the last may hold the stores
 * of the (x, r) domain. */
struct plan_pass {
    bool *need; /* per node: evaluated (or, for a LOAD, first loaded) in this pass, full domain only
                 */
};

struct plan_kernel {
    const struct ir_program *program;
    const struct ir_kernel *ir;
    const char *entry; /* stax_red_fused_0 */
    enum plan_form form;
    enum ir_axis b_axis; /* IR_AXIS_R, IR_AXIS_Y, or IR_AXES when there is no second axis */
    bool vec_x;
    int threads, ve, vector_bytes;
    int64_t xblock, bblock;
    int64_t lx, lb, sx, sb; /* lanes and slots along x and b; lx * lb = threads, on cpu 1 lane */
    int64_t xnumel, bnumel, outer; /* outer: points of the axes that only count blocks */
    bool wide;                     /* some address needs 64 bits */
    bool evict;
    int passes;
    struct plan_pass *pass;
    bool keep_loads; /* cuda; a cpu reads its input again from a cache */
    bool *live;      /* per node: some store depends on its value, guards aside */
    bool *keep;      /* per node: held in registers between passes (persistent form) */
    int args;
    int *arg; /* buffer numbers, inputs first */
    bool *arg_written;
    struct plan_kernel
        *fold;   /* last_block: the kernel whose body the last block of a group runs; else NULL */
    int counter; /* last_block: number of counters (groups) */
};

struct plan {
    const struct ir_program *program; /* after splits; more buffers than the kernel's own */
    int kernels;
    struct plan_kernel *kernel; /* in launch order */
};

/* Values -> kernels and their mapping. `values` has one entry a kernel of cg->program. */
enum stax_status plan_make(const struct cg_kernel *cg, const struct device_info *device,
                           const struct plan_values *values, struct arena *arena,
                           struct plan **plan);

/* ---- plan_map.c: facts about one kernel that the space and the mapping share ---- */
bool plan_is_reduction(const struct ir_kernel *kernel);
enum ir_axis plan_b_axis(const struct ir_kernel *kernel);
/* Which axis carries the vectors: the one along which more bytes are contiguous. */
bool plan_vec_x(const struct ir_program *program, const struct ir_kernel *kernel);
/* Smallest element, in bytes, of the accesses that move along the vector axis: VEC / that is the
 * vector's length. */
int plan_element_bytes(const struct ir_program *program, const struct ir_kernel *kernel,
                       bool vec_x);
/* May the access of `node` (LOAD, STORE) move `ve` elements at once along the axis: contiguous,
 * aligned, never cut by a mask? */
bool plan_vector_ok(const struct ir_program *program, const struct ir_kernel *kernel, int node,
                    enum ir_axis axis, int ve);
/* Does any access gain from vectors of `ve` elements? True for 1. */
bool plan_vector_useful(const struct ir_program *program, const struct ir_kernel *kernel,
                        bool vec_x, int ve);
/* Is the LOAD contiguous along Y and not along X, so that a two-dimensional kernel turns it in
 * shared memory? */
bool plan_turned(const struct ir_kernel *kernel, int node);
int plan_inner_dim(const struct ir_kernel *kernel,
                   enum ir_axis axis); /* innermost dim of the axis; -1 */
bool plan_index_uses_axis(const struct ir_kernel *kernel, const struct index *index,
                          enum ir_axis axis);
unsigned plan_index_dims(const struct index *index); /* bit per dim */
int64_t plan_pow2(int64_t value);                    /* smallest power of two >= value */
/* Does the value live in the tile's full domain, as against the x domain? */
static inline bool plan_full(const struct ir_kernel *kernel, const struct ir_node *node)
{
    return kernel->levels == 0 || node->in_r;
}
void plan_passes(struct plan_kernel *kernel, struct arena *arena);
/* Words of 32 bits that a persistent thread must hold between passes, for each element of its tile.
 */
double plan_kept_words(const struct ir_program *program, const struct ir_kernel *kernel, bool loads,
                       struct arena *arena);

/* ---- params.c: which values the parameters of a kernel may take; space.c and the reader of
 * configurations share it ---- */
struct knob {
    const char *name; /* without suffix */
    int count;
    int64_t value[16];
    const char *text[4]; /* a categorical knob names its values */
};
enum {
    KNOB_FORM,
    KNOB_RSPLIT,
    KNOB_FINISH,
    KNOB_YBLOCK,
    KNOB_XBLOCK,
    KNOB_RBLOCK,
    KNOB_WARPS,
    KNOB_THREADS,
    KNOB_VEC,
    KNOB_EVICT,
    KNOB_COUNT
};
struct knobs {
    struct knob knob[KNOB_COUNT];
    int constraints;
    const char *constraint[16]; /* with the kernel's suffix in place */
};
enum stax_status knobs_make(const struct cg_kernel *cg, int kernel,
                            const struct device_info *device, struct arena *arena,
                            struct knobs *knobs);
/* "" for a program of one kernel, "_1" for the second of several. */
const char *knob_suffix(const struct cg_kernel *cg, int kernel, struct arena *arena);
enum stax_status plan_values_read(const struct cg_kernel *cg, const struct device_info *device,
                                  const struct space *space, uint64_t config, struct arena *arena,
                                  struct plan_values **values);

#endif
