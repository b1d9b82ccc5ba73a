/* Tables of the loop IR and the facts that follow from a kernel's nodes: levels, domains, the
 * reduction's direction. */
#include "codegen/ir.h"

#include <string.h>

const struct ir_op_row ir_op_table[IR_PURE_COUNT] = {
#define OP(id, name, arity, result, flop, f32, i, value, error) \
    [IR_##id] = {name, arity, IR_RESULT_##result, flop, f32, i, #value, #error},
#include "codegen/ops.def"
#undef OP
};

const struct ir_reduction_row ir_reduction_table[IR_RED_COUNT] = {
#define RED(id, name, identity, combine, identity_double, combine_double) \
    [IR_RED_##id] = {name, identity, combine, #identity_double, #combine_double},
#include "codegen/reductions.def"
#undef RED
};

int64_t ir_axis_size(const struct ir_kernel *kernel, enum ir_axis axis)
{
    int64_t size = 1;
    for (int i = 0; i < kernel->dims; i++) {
        size *= kernel->dim[i].axis == axis ? kernel->dim[i].size : 1;
    }
    return size;
}

bool ir_axis_present(const struct ir_kernel *kernel, enum ir_axis axis)
{
    for (int i = 0; i < kernel->dims; i++) {
        if (kernel->dim[i].axis == axis) {
            return true;
        }
    }
    return false;
}

void ir_sizes(const struct ir_kernel *kernel, int64_t *size)
{
    for (int i = 0; i < kernel->dims; i++) {
        size[i] = kernel->dim[i].size;
    }
}

const char *const *ir_dim_names(const struct ir_kernel *kernel, struct arena *arena)
{
    static const char *const prefix[IR_AXES] = {"x", "y", "z", "r0_"};
    const char **names = ARENA_ARRAY(arena, const char *, kernel->dims + 1);
    for (int i = 0; i < kernel->dims; i++) {
        names[i] = arena_printf(arena, "%s%d", prefix[kernel->dim[i].axis], i);
    }
    return (const char *const *)names;
}

/* R dims stand last; the first of them. */
static int first_r(const struct ir_kernel *kernel)
{
    int first = kernel->dims;
    while (first > 0 && kernel->dim[first - 1].axis == IR_AXIS_R) {
        first--;
    }
    return first;
}

/* How far an address moves when the innermost reduction variable that it uses makes one step from 0
 * (facts: evaluate the address where it is not affine). */
static int64_t step_in_r(const struct ir_kernel *kernel, const struct index *index)
{
    int64_t at[64] = {0};
    STAX_CHECK(kernel->dims <= 64);
    for (int i = kernel->dims - 1; i >= first_r(kernel); i--) {
        if (kernel->dim[i].size > 1 && index_uses(index, i, i + 1)) {
            int64_t before = index_eval(index, at);
            at[i] = 1;
            /* Only a step of the innermost dim is a step of r; an outer one moves a whole row. */
            bool inner = i == kernel->dims - 1;
            int64_t step = index_eval(index, at) - before;
            return inner ? step : step == 1 ? 2 : step;
        }
    }
    return 0;
}

/* A read is inner when r moves it by one element, outer when by more; reads that r does not move
 * vote for neither. INNER wins by majority, OUTER likewise (rule of the compilers; the tie is
 * DEFAULT: chosen). */
static enum ir_hint direction(const struct ir_kernel *kernel)
{
    int inner = 0, outer = 0;
    for (int i = 0; i < kernel->nodes; i++) {
        if (kernel->node[i].op == IR_LOAD) {
            int64_t step = step_in_r(kernel, kernel->node[i].index);
            inner += step == 1 || step == -1;
            outer += step > 1 || step < -1;
        }
    }
    return inner > outer ? IR_HINT_INNER : outer > inner ? IR_HINT_OUTER : IR_HINT_DEFAULT;
}

void ir_finish(struct ir_kernel *kernel)
{
    int first = first_r(kernel);
    kernel->levels = 0;
    kernel->stores_in_r = false;
    for (int i = 0; i < kernel->nodes; i++) {
        struct ir_node *node = &kernel->node[i];
        node->level = 0;
        node->in_r = node->index && index_uses(node->index, first, kernel->dims);
        for (int k = 0; k < 3; k++) {
            if (node->arg[k] >= 0) {
                const struct ir_node *arg = &kernel->node[node->arg[k]];
                node->level = arg->level > node->level ? arg->level : node->level;
                node->in_r = node->in_r || arg->in_r;
            }
        }
        if (node->op == IR_REDUCE) {
            node->level++;
            node->in_r = false;
            kernel->levels = node->level > kernel->levels ? node->level : kernel->levels;
        } else if (node->op == IR_STORE) {
            kernel->stores_in_r = kernel->stores_in_r || node->in_r;
        }
    }
    kernel->hint = direction(kernel);
}
