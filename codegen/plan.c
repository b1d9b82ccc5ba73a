/* From parameter values to kernels: applies the form, derives each kernel's lanes and slots, names
 * it.
 *
 * Inner layout (vectors along r): lanes a row = threads / XBLOCK; outer and pointwise layout
 * (vectors along x): threads along x first, the rest along b. Where a tile has fewer vectors than
 * the block threads, threads repeat the work of others. Sources: book 9.2-9.4 (structure and
 * names). */
#include "codegen/plan.h"
#include "codegen/passes.h"

#include <stdio.h>
#include <string.h>

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void map_lanes(struct plan_kernel *k, bool cuda)
{
    int64_t threads = cuda ? k->threads : 1;
    if (k->vec_x) {
        int64_t vectors = max64(1, k->xblock / k->ve);
        k->lx = min64(threads, vectors);
        k->lb = min64(threads / k->lx, k->bblock);
        k->sx = vectors / k->lx;
        k->sb = k->bblock / k->lb;
    } else {
        int64_t vectors = max64(1, k->bblock / k->ve);
        k->lb = max64(1, min64(threads / min64(threads, k->xblock), vectors));
        k->lx = min64(threads / k->lb, k->xblock);
        k->sx = k->xblock / k->lx;
        k->sb = vectors / k->lb;
    }
}

/* Does the index, or a value on the way to it, leave 32 bits? */
static bool exceeds(const struct index *index, const int64_t *size)
{
    if (index == NULL) return false;
    int64_t low, high;
    index_range(index, size, &low, &high);
    if (low < -INT32_MAX || high > INT32_MAX) return true;
    return exceeds(index->a, size) || exceeds(index->b, size);
}

/* Do all addresses and flat positions, those of masked lanes included, fit 32 bits (pytorch#97447
 * and its kin)? */
static bool needs_wide(const struct plan_kernel *k)
{
    const int64_t limit = INT32_MAX;
    const struct ir_kernel *ir = k->ir;
    int64_t size[32], total[IR_AXES];
    for (int a = 0; a < IR_AXES; a++) total[a] = 1;
    for (int d = ir->dims - 1; d >= 0; d--) {
        enum ir_axis axis = ir->dim[d].axis;
        int64_t block = axis == IR_AXIS_X ? k->xblock : axis == k->b_axis ? k->bblock : 1;
        size[d] = ir->dim[d].size + block / total[axis] + 1;
        total[axis] *= ir->dim[d].size;
    }
    if (k->xnumel + k->xblock > limit || k->bnumel + k->bblock > limit) return true;
    for (int n = 0; n < ir->nodes; n++) {
        if (ir->node[n].index == NULL) continue;
        if (exceeds(ir->node[n].index, size)) return true;
    }
    return false;
}

static void list_arguments(struct plan_kernel *k, struct arena *arena)
{
    const struct ir_program *program = k->program;
    bool *used = ARENA_ARRAY(arena, bool, program->buffers),
         *written = ARENA_ARRAY(arena, bool, program->buffers);
    const struct plan_kernel *both[2] = {k, k->fold};
    for (int i = 0; i < 2 && both[i] != NULL; i++)
        for (int n = 0; n < both[i]->ir->nodes; n++) {
            const struct ir_node *node = &both[i]->ir->node[n];
            if (node->op == IR_LOAD || node->op == IR_STORE) used[node->buffer] = true;
            if (node->op == IR_STORE) written[node->buffer] = true;
        }
    k->arg = ARENA_ARRAY(arena, int, program->buffers);
    k->arg_written = ARENA_ARRAY(arena, bool, program->buffers);
    k->args = 0;
    for (int out = 0; out < 2; out++)
        for (int b = 0; b < program->buffers; b++)
            if (used[b] && written[b] == (out == 1)) {
                k->arg[k->args] = b;
                k->arg_written[k->args++] = out == 1;
            }
}

static int64_t outer_points(const struct ir_kernel *ir, enum ir_axis b_axis)
{
    int64_t points = ir_axis_size(ir, IR_AXIS_Z);
    if (b_axis != IR_AXIS_Y) points *= ir_axis_size(ir, IR_AXIS_Y);
    return points;
}

static void describe(struct plan_kernel *k, const struct ir_program *program,
                     const struct ir_kernel *ir)
{
    k->program = program;
    k->ir = ir;
    k->b_axis = plan_b_axis(ir);
    k->vec_x = plan_vec_x(program, ir);
    k->xnumel = ir_axis_size(ir, IR_AXIS_X);
    k->bnumel = k->b_axis == IR_AXES ? 1 : ir_axis_size(ir, k->b_axis);
    k->outer = outer_points(ir, k->b_axis);
}

static void complete(struct plan_kernel *k, bool cuda, int number, struct arena *arena)
{
    static const char *const prefix[] = {"poi", "red", "per"}; /* book 9.5, end */
    map_lanes(k, cuda);
    k->wide = needs_wide(k);
    k->keep_loads = cuda;
    plan_passes(k, arena);
    k->entry = arena_printf(arena, "stax_%s_fused_%d", prefix[k->form], number);
}

/* Largest useful vector for a kernel whose values are derived, not searched: up to 16 bytes (one
 * load of a lane). */
static int derived_vector(const struct plan_kernel *k)
{
    int bytes = plan_element_bytes(k->program, k->ir, k->vec_x);
    for (int ve = 16 / bytes; ve > 1; ve /= 2)
        if (plan_vector_useful(k->program, k->ir, k->vec_x, ve)) return ve;
    return 1;
}

/* The main kernel of a configuration: whole, or the first of a split. */
static void plan_main(struct plan_kernel *k, const struct plan_values *v, bool cuda)
{
    k->threads = cuda ? 32 * v->warps : v->threads;
    k->evict = v->evict;
    k->vector_bytes = v->vec;
    k->ve = (int)max64(1, v->vec / plan_element_bytes(k->program, k->ir, k->vec_x));
    k->xblock = v->xblock;
    if (k->b_axis == IR_AXIS_R) {
        bool whole = v->split ? v->rblock >= k->bnumel : v->persistent;
        if (!cuda && v->split)
            whole = false; /* on cpu R0_BLOCK is a strip, the persistent row a local array */
        k->form = whole ? PLAN_PER : PLAN_RED;
        k->bblock = cuda && whole ? plan_pow2(k->bnumel) : v->rblock;
    } else {
        k->form = PLAN_POI;
        k->bblock = k->b_axis == IR_AXIS_Y ? v->yblock : 1;
    }
}

/* The second kernel of a split, derived: a persistent reduction over the parts (book 9.4 form 3),
 * 128 threads in blocks that hold one vector a thread (chosen: it runs once over little data, so
 * that its latency is one load and one fold). */
static void plan_fold(struct plan_kernel *k, bool cuda, int threads)
{
    k->form = cuda ? PLAN_PER : PLAN_RED;
    k->ve = cuda ? derived_vector(k) : 1;
    k->threads = cuda ? 128 : threads;
    k->bblock = cuda ? plan_pow2(k->bnumel) : 1;
    if (cuda) {
        k->xblock = max64(1, 128 * k->ve / k->bblock);
        k->xblock = min64(k->xblock, plan_pow2(k->xnumel));
        if (k->vec_x) k->xblock = max64(k->xblock, min64(32 * k->ve, plan_pow2(k->xnumel)));
    } else {
        k->xblock = min64(k->vec_x ? 1024 : 64, plan_pow2(k->xnumel));
        if (k->vec_x) k->ve = (int)min64(16, k->xblock);
    }
}

/* The same fold inside the last block of a group (last_block): inner, one output by the first warp;
 * outer, the block's columns. */
static void plan_last_block(struct plan_kernel *first, struct plan_kernel *fold)
{
    fold->form = PLAN_PER;
    fold->bblock = plan_pow2(fold->bnumel);
    fold->evict = false;
    if (first->vec_x) {
        fold->threads = first->threads;
        fold->xblock = first->xblock;
        fold->ve = derived_vector(fold);
        first->counter = (int)((first->xnumel + first->xblock - 1) / first->xblock);
    } else {
        fold->threads = 32;
        fold->xblock = 1;
        fold->ve = 1;
        first->counter = (int)fold->xnumel;
    }
    first->fold = fold;
}

/* An outer split keeps x whole: the parts, its last dim, come first and only count blocks, so that
 * tiles never straddle parts and vectors stay along the columns. */
static void parts_to_outer_axis(struct ir_kernel *ir, int64_t parts, struct arena *arena)
{
    int first = 0, last = plan_inner_dim(ir, IR_AXIS_X);
    while (first < ir->dims && ir->dim[first].axis != IR_AXIS_X) first++;
    if (first >= last || ir->dim[last].size != parts) return;
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, ir->dims);
    const struct index **with = ARENA_ARRAY(arena, const struct index *, ir->dims);
    for (int d = 0; d < ir->dims; d++) {
        int to = d == last ? first : d >= first && d < last ? d + 1 : d;
        dim[to] = ir->dim[d];
        with[d] = index_var(arena, to);
    }
    dim[first].axis = IR_AXIS_Y;
    ir_rebuild(ir, ir->dims, dim, with, arena);
}

enum stax_status plan_make(const struct cg_kernel *cg, const struct device_info *device,
                           const struct plan_values *values, struct arena *arena, struct plan **out)
{
    bool cuda = device->kind == DEVICE_CUDA;
    struct ir_program *program = ARENA_NEW(arena, struct ir_program);
    *program = cg->program;
    program->kernel = arena_copy(arena, cg->program.kernel,
                                 sizeof *program->kernel * (size_t)program->kernels);
    bool *first_of_split = ARENA_ARRAY(arena, bool, 2 * program->kernels + 1);
    const struct plan_values **value = ARENA_ARRAY(arena, const struct plan_values *,
                                                   2 * program->kernels + 1);
    for (int k = 0, at = 0; k < cg->program.kernels; k++, at++) {
        value[at] = &values[k];
        if (!values[k].split) continue;
        bool vec_x = plan_vec_x(program, &program->kernel[at]);
        STAX_TRY(ir_split(program, at, values[k].rsplit, arena));
        if (vec_x) parts_to_outer_axis(&program->kernel[at], values[k].rsplit, arena);
        first_of_split[at] = true;
        value[at + 1] = &values[k];
        at++;
    }
    struct plan *plan = ARENA_NEW(arena, struct plan);
    plan->program = program;
    plan->kernel = ARENA_ARRAY(arena, struct plan_kernel, program->kernels);
    for (int i = 0; i < program->kernels; i++) {
        struct plan_kernel *k = &plan->kernel[plan->kernels];
        describe(k, program, &program->kernel[i]);
        plan_main(k, value[i], cuda);
        complete(k, cuda, plan->kernels, arena);
        plan->kernels++;
        if (first_of_split[i]) {
            bool last_block = value[i]->finish == PLAN_LAST_BLOCK;
            struct plan_kernel *fold = last_block ? ARENA_NEW(arena, struct plan_kernel)
                                                  : &plan->kernel[plan->kernels];
            i++;
            describe(fold, program, &program->kernel[i]);
            if (last_block)
                plan_last_block(k, fold);
            else
                plan_fold(fold, cuda, value[i]->threads);
            complete(fold, cuda, plan->kernels, arena);
            if (!last_block) {
                list_arguments(fold, arena);
                plan->kernels++;
            }
        }
        list_arguments(k, arena);
    }
    *out = plan;
    return STAX_OK;
}
