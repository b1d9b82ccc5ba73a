/* The checker of the loop IR: run after every pass in debug builds, so that a broken pass is named
 * at once.
 *
 * Rules are the contract in ir.h: order, arities, dtypes, domains, ranges of every address inside
 * its buffer. */
#include "codegen/ir.h"

static enum stax_status broken(const struct ir_kernel *kernel, int node, const char *rule)
{
    STAX_RETURN(STAX_INTERNAL, "kernel %s, node %%%d: %s", kernel->name, node, rule);
}

static enum stax_status check_dims(const struct ir_kernel *kernel)
{
    static const int order[IR_AXES] = {
        [IR_AXIS_Z] = 0, [IR_AXIS_Y] = 1, [IR_AXIS_X] = 2, [IR_AXIS_R] = 3};
    for (int i = 0; i < kernel->dims; i++) {
        if (kernel->dim[i].size < 1) {
            STAX_RETURN(STAX_INTERNAL, "kernel %s: dim %d has no points", kernel->name, i);
        }
        if (i > 0 && order[kernel->dim[i].axis] < order[kernel->dim[i - 1].axis]) {
            STAX_RETURN(STAX_INTERNAL, "kernel %s: dims are not in the order Z, Y, X, R",
                        kernel->name);
        }
    }
    return STAX_OK;
}

static enum stax_status check_address(const struct ir_program *program,
                                      const struct ir_kernel *kernel, int i, const int64_t *size)
{
    const struct ir_node *node = &kernel->node[i];
    if (!node->index) {
        return broken(kernel, i, "has no index");
    }
    if (index_uses(node->index, kernel->dims, INT32_MAX)) {
        return broken(kernel, i, "index names a variable that is no dim");
    }
    if (node->op == IR_INDEX) {
        return STAX_OK;
    }
    if (node->buffer < 0 || node->buffer >= program->buffers) {
        return broken(kernel, i, "names no buffer");
    }
    int64_t low, high;
    index_range(node->index, size, &low, &high);
    bool guarded = node->op == IR_LOAD && node->arg[0] >= 0;
    if (!guarded && (low < 0 || high >= program->buffer[node->buffer].elements)) {
        return broken(kernel, i, "address leaves its buffer");
    }
    return STAX_OK;
}

static enum stax_status check_types(const struct ir_kernel *kernel, int i)
{
    const struct ir_node *node = &kernel->node[i];
    const struct ir_op_row *row = &ir_op_table[node->op];
    enum dtype first = kernel->node[node->arg[row->result == IR_RESULT_ARG1 ? 1 : 0]].dtype;
    for (int k = row->result == IR_RESULT_ARG1 ? 1 : 0; k < row->arity; k++) {
        if (dtype_compute(kernel->node[node->arg[k]].dtype) != dtype_compute(first)) {
            return broken(kernel, i, "arguments differ in dtype");
        }
    }
    if (row->result == IR_RESULT_BOOL ? node->dtype != DTYPE_BOOL
                                      : node->dtype != dtype_compute(first)) {
        return broken(kernel, i, "dtype does not follow from its arguments");
    }
    return STAX_OK;
}

static enum stax_status check_node(const struct ir_program *program, const struct ir_kernel *kernel,
                                   int i, const int64_t *size)
{
    const struct ir_node *node = &kernel->node[i];
    int arity = node->op < IR_PURE_COUNT ? ir_op_table[node->op].arity : 0;
    if (node->op == IR_CAST || node->op == IR_REDUCE || node->op == IR_STORE) {
        arity = 1;
    }
    if (node->op < 0 || node->op >= IR_OP_COUNT) {
        return broken(kernel, i, "unknown op");
    }
    for (int k = 0; k < 3; k++) {
        int arg = node->arg[k];
        bool optional = node->op == IR_LOAD && k == 0;
        if (arg >= i || arg < -1 || (arg < 0 && k < arity) ||
            (arg >= 0 && k >= arity && !optional)) {
            return broken(kernel, i, "arguments are not earlier nodes, as many as the op takes");
        }
        if (arg >= 0 && kernel->node[arg].op == IR_STORE) {
            return broken(kernel, i, "reads a store");
        }
    }
    switch (node->op) {
    case IR_CONST:
    case IR_CAST: return STAX_OK;
    case IR_INDEX: return check_address(program, kernel, i, size);
    case IR_LOAD:
        STAX_TRY(check_address(program, kernel, i, size));
        if (node->dtype != dtype_compute(program->buffer[node->buffer].dtype)) {
            return broken(kernel, i, "load is not in the compute dtype of its buffer");
        }
        return STAX_OK;
    case IR_REDUCE:
        if (!ir_axis_present(kernel, IR_AXIS_R)) {
            return broken(kernel, i, "reduces in a kernel without reduction dims");
        }
        return STAX_OK;
    case IR_STORE:
        STAX_TRY(check_address(program, kernel, i, size));
        if (node->dtype != program->buffer[node->buffer].dtype) {
            return broken(kernel, i, "store is not in the dtype of its buffer");
        }
        if (program->buffer[node->buffer].role == IR_BUFFER_INPUT) {
            return broken(kernel, i, "stores into an input");
        }
        return STAX_OK;
    default: return check_types(kernel, i);
    }
}

/* A store must not write one address from several points: every dim of its domain moves the
 * address. */
static enum stax_status check_store(const struct ir_kernel *kernel, int i)
{
    const struct ir_node *node = &kernel->node[i];
    for (int d = 0; d < kernel->dims; d++) {
        bool in_domain = kernel->dim[d].axis != IR_AXIS_R || node->in_r;
        if (in_domain && kernel->dim[d].size > 1 && !index_uses(node->index, d, d + 1)) {
            return broken(kernel, i, "several points store to one address");
        }
    }
    return STAX_OK;
}

enum stax_status ir_check(const struct ir_program *program)
{
    for (int k = 0; k < program->kernels; k++) {
        const struct ir_kernel *kernel = &program->kernel[k];
        int64_t size[64];
        if (kernel->dims > 64) {
            STAX_RETURN(STAX_INTERNAL, "kernel %s has %d dims", kernel->name, kernel->dims);
        }
        STAX_TRY(check_dims(kernel));
        ir_sizes(kernel, size);
        for (int i = 0; i < kernel->nodes; i++) {
            STAX_TRY(check_node(program, kernel, i, size));
            if (kernel->node[i].op == IR_STORE) {
                STAX_TRY(check_store(kernel, i));
            }
        }
    }
    return STAX_OK;
}

void ir_debug_check(const struct ir_program *program)
{
#ifdef STAX_DEBUG
    if (ir_check(program) != STAX_OK) {
        status_abort(__FILE__, __LINE__, status_message());
    }
#else
    (void)program;
#endif
}
