/* Loop order and contiguous merging of dims (book 9.4: [64, 2] becomes one x0 of 128, since
 * 16384*i0 + 8192*i1 = 8192*(2*i0 + i1)).
 *
 * Merging is tried by substitution: two neighbours i (m points) and j (n points) become v / n and v
 * % n; if the simplifier leaves no more divisions in any address than there were, they are one dim.
 * This covers affine addresses and reshapes alike. */
#include "codegen/passes.h"

/* Does the kernel's traffic want dim `a` outside dim `b`? Votes of the affine accesses that both
 * move, weighed by bytes. */
static double outside_votes(const struct ir_program *program, const struct ir_kernel *kernel, int a,
                            int b)
{
    double votes = 0.0;
    for (int i = 0; i < kernel->nodes; i++) {
        const struct ir_node *node = &kernel->node[i];
        int64_t coefficient[64], offset;
        if ((node->op != IR_LOAD && node->op != IR_STORE) ||
            !index_affine(node->index, kernel->dims, coefficient, &offset)) {
            continue;
        }
        int64_t step_a = coefficient[a] < 0 ? -coefficient[a] : coefficient[a];
        int64_t step_b = coefficient[b] < 0 ? -coefficient[b] : coefficient[b];
        if (step_a && step_b && step_a != step_b) {
            votes += (step_a > step_b ? 1.0 : -1.0) * pass_access_weight(program, kernel, node);
        }
    }
    return votes;
}

void pass_order(const struct ir_program *program, struct ir_kernel *kernel, struct arena *arena)
{
    int dims = kernel->dims;
    int *order = ARENA_ARRAY(arena, int, dims + 1);
    bool moved = false;
    for (int i = 0; i < dims; i++) {
        order[i] = i;
        /* Insertion sort, stable: a dim moves outwards past those that the traffic wants inside it.
         */
        for (int j = i; j > 0; j--) {
            int inner = order[j], outer = order[j - 1];
            if (kernel->dim[inner].axis != kernel->dim[outer].axis ||
                outside_votes(program, kernel, inner, outer) <= 0) {
                break;
            }
            order[j] = outer;
            order[j - 1] = inner;
            moved = true;
        }
    }
    if (!moved) {
        return;
    }
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, dims);
    const struct index **with = ARENA_ARRAY(arena, const struct index *, dims);
    for (int i = 0; i < dims; i++) {
        dim[i] = kernel->dim[order[i]];
        with[order[i]] = index_var(arena, i);
    }
    ir_rebuild(kernel, dims, dim, with, arena);
}

static void drop_ones(struct ir_kernel *kernel, struct arena *arena)
{
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, kernel->dims + 1);
    const struct index **with = ARENA_ARRAY(arena, const struct index *, kernel->dims + 1);
    int dims = 0;
    bool reduces = ir_axis_present(kernel, IR_AXIS_R);
    for (int i = 0; i < kernel->dims; i++) {
        /* A kernel with reductions keeps one R dim, so that they have something to fold. */
        bool last_r = reduces && i == kernel->dims - 1 &&
                      (dims == 0 || dim[dims - 1].axis != IR_AXIS_R);
        if (kernel->dim[i].size == 1 && !last_r) {
            with[i] = index_const(arena, 0);
        } else {
            with[i] = index_var(arena, dims);
            dim[dims++] = kernel->dim[i];
        }
    }
    if (dims < kernel->dims) {
        ir_rebuild(kernel, dims, dim, with, arena);
    }
}

/* Substitution that joins dims `at` and `at + 1`; the new dims are written to dim. */
static const struct index **joined(const struct ir_kernel *kernel, int at, struct ir_dim *dim,
                                   int64_t *size, struct arena *arena)
{
    const struct index **with = ARENA_ARRAY(arena, const struct index *, kernel->dims);
    for (int i = 0, k = 0; i < kernel->dims; i++, k++) {
        dim[k] = kernel->dim[i];
        if (i == at) {
            dim[k].size = kernel->dim[i].size * kernel->dim[i + 1].size;
            i++;
        }
        size[k] = dim[k].size;
    }
    for (int i = 0; i < kernel->dims; i++) {
        with[i] = index_var(arena, i > at ? i - 1 : i);
    }
    const struct index *both = index_var(arena, at);
    with[at] = index_div(arena, both, kernel->dim[at + 1].size, size);
    with[at + 1] = index_mod(arena, both, kernel->dim[at + 1].size, size);
    return with;
}

static bool try_join(struct ir_kernel *kernel, int at, struct arena *arena)
{
    if (kernel->dim[at].axis != kernel->dim[at + 1].axis) {
        return false;
    }
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, kernel->dims);
    int64_t *size = ARENA_ARRAY(arena, int64_t, kernel->dims);
    const struct index **with = joined(kernel, at, dim, size, arena);
    for (int i = 0; i < kernel->nodes; i++) {
        const struct index *index = kernel->node[i].index;
        if (index &&
            index_divisions(index_replace(arena, index, with, size)) > index_divisions(index)) {
            return false;
        }
    }
    ir_rebuild(kernel, kernel->dims - 1, dim, with, arena);
    return true;
}

void pass_merge(struct ir_kernel *kernel, struct arena *arena)
{
    drop_ones(kernel, arena);
    for (int at = kernel->dims - 2; at >= 0; at--) {
        if (try_join(kernel, at, arena) && at < kernel->dims - 1) {
            at++; /* the joined dim may join its new inner neighbour too */
        }
    }
}
