/* Facts about one kernel that decide its mapping: the axis that carries vectors, which accesses may
 * be wide, what each pass over the tile needs, what a persistent kernel keeps. The space and the
 * emitters ask the same functions, so a value is offered exactly where it changes the code. */
#include "codegen/plan.h"

#include <string.h>

int64_t plan_pow2(int64_t value)
{
    int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}

bool plan_is_reduction(const struct ir_kernel *kernel)
{
    return kernel->levels > 0;
}

enum ir_axis plan_b_axis(const struct ir_kernel *kernel)
{
    if (plan_is_reduction(kernel)) return IR_AXIS_R;
    return ir_axis_present(kernel, IR_AXIS_Y) ? IR_AXIS_Y : IR_AXES;
}

int plan_inner_dim(const struct ir_kernel *kernel, enum ir_axis axis)
{
    for (int d = kernel->dims - 1; d >= 0; d--)
        if (kernel->dim[d].axis == axis) return d;
    return -1;
}

unsigned plan_index_dims(const struct index *index)
{
    if (index == NULL || index->kind == INDEX_CONST) return 0;
    if (index->kind == INDEX_VAR) return 1u << index->var;
    return plan_index_dims(index->a) | plan_index_dims(index->b);
}

bool plan_index_uses_axis(const struct ir_kernel *kernel, const struct index *index,
                          enum ir_axis axis)
{
    unsigned dims = plan_index_dims(index);
    for (int d = 0; d < kernel->dims; d++)
        if ((dims >> d & 1) && kernel->dim[d].axis == axis) return true;
    return false;
}

static bool is_access(const struct ir_node *node)
{
    return node->op == IR_LOAD || node->op == IR_STORE;
}

/* Does the guard change from element to element along the axis? */
static bool guard_uses_axis(const struct ir_kernel *kernel, int n, enum ir_axis axis)
{
    if (n < 0) return false;
    const struct ir_node *node = &kernel->node[n];
    bool uses = node->index != NULL && plan_index_uses_axis(kernel, node->index, axis);
    for (int a = 0; a < 3; a++) uses |= guard_uses_axis(kernel, node->arg[a], axis);
    return uses;
}

bool plan_vector_ok(const struct ir_program *program, const struct ir_kernel *kernel, int n,
                    enum ir_axis axis, int ve)
{
    const struct ir_node *node = &kernel->node[n];
    int inner = plan_inner_dim(kernel, axis);
    if (inner < 0) return false;
    if (node->op == IR_LOAD && guard_uses_axis(kernel, node->arg[0], axis)) return false;
    if (kernel->dim[inner].size % ve != 0) return false;
    int64_t coefficient[32] = {0}, offset = 0;
    STAX_CHECK(kernel->dims <= 32);
    if (!index_affine(node->index, kernel->dims, coefficient, &offset)) return false;
    if (coefficient[inner] != 1 || offset % ve != 0) return false;
    for (int d = 0; d < kernel->dims; d++)
        if (d != inner && coefficient[d] % ve != 0) return false;
    (void)program; /* buffers start at an alignment no smaller than any vector: measure and exported
                      callers keep that */
    return true;
}

bool plan_turned(const struct ir_kernel *kernel, int n)
{
    const struct ir_node *node = &kernel->node[n];
    int x = plan_inner_dim(kernel, IR_AXIS_X), y = plan_inner_dim(kernel, IR_AXIS_Y);
    int64_t coefficient[32] = {0}, offset;
    if (node->op != IR_LOAD || node->arg[0] >= 0 || x < 0 || y < 0) return false;
    if (!index_affine(node->index, kernel->dims, coefficient, &offset)) return false;
    return coefficient[y] == 1 && coefficient[x] != 1 && coefficient[x] != 0;
}

bool plan_vec_x(const struct ir_program *program, const struct ir_kernel *kernel)
{
    if (!plan_is_reduction(kernel)) return true;
    double along_x = 0, along_r = 0;
    int x = plan_inner_dim(kernel, IR_AXIS_X), r = plan_inner_dim(kernel, IR_AXIS_R);
    for (int n = 0; n < kernel->nodes; n++) {
        const struct ir_node *node = &kernel->node[n];
        if (!is_access(node) || !(node->op == IR_LOAD ? node->in_r : kernel->stores_in_r)) continue;
        int64_t coefficient[32] = {0}, offset;
        if (!index_affine(node->index, kernel->dims, coefficient, &offset)) continue;
        double bytes = dtype_table[program->buffer[node->buffer].dtype].bytes;
        /* An access counts by the points it moves along: a row vector shared by all rows weighs
         * little. */
        for (int d = 0; d < kernel->dims; d++)
            if (coefficient[d] != 0) bytes *= (double)kernel->dim[d].size;
        if (x >= 0 && coefficient[x] == 1 && kernel->dim[x].size > 1) along_x += bytes;
        if (r >= 0 && coefficient[r] == 1 && kernel->dim[r].size > 1) along_r += bytes;
    }
    return along_x > along_r;
}

int plan_element_bytes(const struct ir_program *program, const struct ir_kernel *kernel, bool vec_x)
{
    int bytes = 8;
    enum ir_axis axis = vec_x ? IR_AXIS_X : IR_AXIS_R;
    for (int n = 0; n < kernel->nodes; n++) {
        const struct ir_node *node = &kernel->node[n];
        if (!is_access(node) || !plan_index_uses_axis(kernel, node->index, axis)) continue;
        int each = dtype_table[program->buffer[node->buffer].dtype].bytes;
        if (each < bytes) bytes = each;
    }
    return bytes;
}

bool plan_vector_useful(const struct ir_program *program, const struct ir_kernel *kernel,
                        bool vec_x, int ve)
{
    if (ve == 1) return true;
    enum ir_axis axis = vec_x ? IR_AXIS_X : IR_AXIS_R;
    if (ir_axis_size(kernel, axis) % ve != 0) return false; /* a mask would cut a vector */
    for (int n = 0; n < kernel->nodes; n++)
        if (is_access(&kernel->node[n]) && plan_vector_ok(program, kernel, n, axis, ve))
            return true;
    return false;
}

/* ---- passes ---- */

/* Ops worth keeping rather than computing twice: a division or a transcendental costs many
 * instructions, an add one. */
static bool is_expensive(enum ir_op op)
{
    switch (op) {
    case IR_EXP:
    case IR_EXP2:
    case IR_LOG:
    case IR_TANH:
    case IR_ERF:
    case IR_SIN:
    case IR_COS:
    case IR_DIV:
    case IR_SQRT:
    case IR_RSQRT:
    case IR_RECIP: return true;
    default: return false;
    }
}

/* Marks what `n` needs in the full domain; stops where `have` says that an earlier pass kept it. */
static void need(const struct ir_kernel *ir, int n, bool *mark, const bool *have)
{
    if (n < 0 || mark[n] || !plan_full(ir, &ir->node[n]) || (have != NULL && have[n])) return;
    if (ir->node[n].op == IR_REDUCE) return;
    mark[n] = true;
    if (ir->node[n].op == IR_LOAD) return; /* its guard is printed where it loads */
    for (int a = 0; a < 3; a++) need(ir, ir->node[n].arg[a], mark, have);
}

static void need_of_pass(const struct ir_kernel *ir, int pass, bool *mark, const bool *have)
{
    for (int n = 0; n < ir->nodes; n++) {
        const struct ir_node *node = &ir->node[n];
        if (node->op == IR_REDUCE && node->level == pass + 1) need(ir, node->arg[0], mark, have);
        if (node->op == IR_STORE && plan_full(ir, node) && pass == ir->levels)
            need(ir, n, mark, have);
    }
}

static void mark_live(const struct ir_kernel *ir, bool *live)
{
    for (int n = ir->nodes - 1; n >= 0; n--) {
        const struct ir_node *node = &ir->node[n];
        if (node->op == IR_STORE) live[n] = true;
        for (int a = 0; a < 3; a++)
            if (live[n] && node->op != IR_LOAD && node->arg[a] >= 0) live[node->arg[a]] = true;
    }
}

void plan_passes(struct plan_kernel *kernel, struct arena *arena)
{
    const struct ir_kernel *ir = kernel->ir;
    kernel->live = ARENA_ARRAY(arena, bool, ir->nodes);
    mark_live(ir, kernel->live);
    bool last = ir->levels == 0 || ir->stores_in_r;
    kernel->passes = ir->levels + (last ? 1 : 0);
    kernel->pass = ARENA_ARRAY(arena, struct plan_pass, kernel->passes);
    kernel->keep = ARENA_ARRAY(arena, bool, ir->nodes);
    bool **whole = ARENA_ARRAY(arena, bool *, kernel->passes);
    for (int p = 0; p < kernel->passes; p++) {
        whole[p] = ARENA_ARRAY(arena, bool, ir->nodes);
        need_of_pass(ir, p, whole[p], NULL);
    }
    if (kernel->form == PLAN_PER)
        for (int n = 0; n < ir->nodes; n++) {
            int uses = 0;
            for (int p = 0; p < kernel->passes; p++) uses += whole[p][n];
            kernel->keep[n] = uses > 1 && ((ir->node[n].op == IR_LOAD && kernel->keep_loads) ||
                                           is_expensive(ir->node[n].op));
        }
    bool *have = ARENA_ARRAY(arena, bool, ir->nodes);
    for (int p = 0; p < kernel->passes; p++) {
        kernel->pass[p].need = ARENA_ARRAY(arena, bool, ir->nodes);
        need_of_pass(ir, p, kernel->pass[p].need, have);
        for (int n = 0; n < ir->nodes; n++)
            if (kernel->keep[n] && kernel->pass[p].need[n]) have[n] = true;
    }
    /* Kept for a pass that no longer asks (its user was kept too) is not kept at all. */
    for (int n = 0; n < ir->nodes; n++) {
        if (!kernel->keep[n]) continue;
        bool used = false;
        for (int p = 1; p < kernel->passes && !used; p++)
            for (int m = 0; m < ir->nodes && !used; m++) {
                bool asks = kernel->pass[p].need[m];
                if (ir->node[m].op == IR_REDUCE) asks = ir->node[m].level == p + 1;
                for (int a = 0; a < 3; a++)
                    if (asks && ir->node[m].arg[a] == n && !kernel->pass[p].need[n]) used = true;
            }
        kernel->keep[n] = used;
    }
}

double plan_kept_words(const struct ir_program *program, const struct ir_kernel *ir, bool loads,
                       struct arena *arena)
{
    struct plan_kernel kernel = {
        .program = program, .ir = ir, .form = PLAN_PER, .keep_loads = loads};
    plan_passes(&kernel, arena);
    double most = 0;
    for (int p = 0; p + 1 < kernel.passes; p++) {
        double words = 0; /* live from pass p to p + 1 */
        for (int n = 0; n < ir->nodes; n++) {
            if (!kernel.keep[n]) continue;
            bool made = false, used = false;
            for (int q = 0; q <= p; q++) made |= kernel.pass[q].need[n];
            for (int q = p + 1; q < kernel.passes; q++)
                for (int m = 0; m < ir->nodes; m++)
                    for (int a = 0; a < 3; a++)
                        used |= ir->node[m].arg[a] == n &&
                                (kernel.pass[q].need[m] ||
                                 (ir->node[m].op == IR_REDUCE && ir->node[m].level == q + 1));
            if (!made || !used) continue;
            int bytes = dtype_table[dtype_compute(ir->node[n].dtype)].bytes;
            if (ir->node[n].op == IR_LOAD) {
                if (!plan_index_uses_axis(ir, ir->node[n].index, IR_AXIS_X))
                    continue; /* one a column, not an element */
                bytes = dtype_table[program->buffer[ir->node[n].buffer].dtype].bytes;
            }
            words += bytes / 4.0;
        }
        if (words > most) most = words;
    }
    return most;
}
