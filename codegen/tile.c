/* One, two or three axes for a pointwise kernel, by the bytes whose neighbours in a block are
 * neighbours in memory (book 9.3).
 *
 * Each access is coalesced along the dim that moves it by one element, or that does not move it at
 * all. A split of the dims into groups makes the innermost dim of every group a direction of the
 * block; its score is the bytes of the accesses coalesced along those dims, less for groups under 8
 * points, which waste transactions. Source of rule and numbers: compilers' tiling analysis
 * (coalesced bytes, writes twice, 8 points, 2.5 % a dim). Reductions keep one axis: r is their
 * other direction. */
#include "codegen/passes.h"

static const double SMALL_GROUP = 8; /* points under which a group's score shrinks in proportion */
static const double UNCOALESCED = 0.05; /* weight of accesses that no dim makes contiguous */
static const double EACH_AXIS = 1.025;  /* a further axis must gain this much */

double pass_access_weight(const struct ir_program *program, const struct ir_kernel *kernel,
                          const struct ir_node *node)
{
    const struct ir_buffer *buffer = &program->buffer[node->buffer];
    double points = 1.0;
    for (int d = 0; d < kernel->dims; d++) {
        points *= index_uses(node->index, d, d + 1) ? (double)kernel->dim[d].size : 1.0;
    }
    double elements = points < (double)buffer->elements ? points : (double)buffer->elements;
    return elements * dtype_table[buffer->dtype].bytes * (node->op == IR_STORE ? 2.0 : 1.0);
}

/* How far the address moves when dim d makes its first step; accesses that it does not move count
 * as coalesced. */
static bool coalesced_along(const struct ir_kernel *kernel, const struct index *index, int d)
{
    int64_t at[64] = {0};
    STAX_CHECK(kernel->dims <= 64);
    int64_t before = index_eval(index, at);
    at[d] = 1;
    int64_t step = index_eval(index, at) - before;
    return step == 1 || step == 0;
}

/* score[d]: bytes coalesced along d; returns the bytes coalesced along none. */
static double score_dims(const struct ir_program *program, const struct ir_kernel *kernel,
                         double *score)
{
    double none = 0.0;
    for (int d = 0; d < kernel->dims; d++) {
        score[d] = 0.0;
    }
    for (int i = 0; i < kernel->nodes; i++) {
        const struct ir_node *node = &kernel->node[i];
        if (node->op != IR_LOAD && node->op != IR_STORE) {
            continue;
        }
        double weight = pass_access_weight(program, kernel, node);
        int found = -1;
        for (int d = kernel->dims - 1; d >= 0 && found < 0; d--) {
            found = coalesced_along(kernel, node->index, d) ? d : -1;
        }
        if (found < 0) {
            none += weight;
        } else {
            score[found] += weight;
        }
    }
    return none;
}

/* Groups end before dim `y` .. `x`: Z is [0, y), Y is [y, x), X is [x, dims). Equal borders make a
 * group empty. */
static double rank(const struct ir_kernel *kernel, const double *score, double none, int y, int x)
{
    int end[3] = {y, x, kernel->dims}, first = 0, axes = 0;
    double sum = 0.0;
    for (int g = 0; g < 3; g++) {
        double points = 1.0;
        for (int d = first; d < end[g]; d++) {
            points *= (double)kernel->dim[d].size;
        }
        if (end[g] > first) {
            sum += score[end[g] - 1] * (points < SMALL_GROUP ? points / SMALL_GROUP : 1.0);
            axes++;
        }
        first = end[g];
    }
    sum += UNCOALESCED * none;
    for (; axes > 1; axes--) {
        sum /= EACH_AXIS;
    }
    return sum;
}

void pass_tile(const struct ir_program *program, struct ir_kernel *kernel, struct arena *arena)
{
    if (ir_axis_present(kernel, IR_AXIS_R) || kernel->dims < 2) {
        return;
    }
    double score[64], none = score_dims(program, kernel, score);
    int best_y = 0, best_x = 0;
    double best = rank(kernel, score, none, 0, 0);
    for (int x = 1; x < kernel->dims; x++) {
        for (int y = 0; y < x; y++) {
            double each = rank(kernel, score, none, y, x);
            if (each > best) {
                best = each;
                best_y = y;
                best_x = x;
            }
        }
    }
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, kernel->dims);
    for (int d = 0; d < kernel->dims; d++) {
        dim[d] = kernel->dim[d];
        dim[d].axis = d >= best_x ? IR_AXIS_X : d >= best_y ? IR_AXIS_Y : IR_AXIS_Z;
    }
    kernel->dim = dim;
    ir_finish(kernel);
}
