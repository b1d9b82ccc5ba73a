/* Text of a program in loop IR: for `show --emit ir`, goldens and messages. */
#include "codegen/ir.h"

static void print_dims(struct text *text, const struct ir_kernel *kernel, const char *const *names)
{
    for (int i = 0; i < kernel->dims; i++) {
        text_printf(text, "%s%s < %lld", i ? ", " : "", names[i], (long long)kernel->dim[i].size);
    }
}

static void print_node(struct text *text, const struct ir_program *program,
                       const struct ir_kernel *kernel, int i, const char *const *names)
{
    const struct ir_node *node = &kernel->node[i];
    const char *dtype = dtype_table[node->dtype].name;
    if (node->op != IR_STORE) {
        text_printf(text, "    %%%d: %s = ", i, dtype);
    }
    switch (node->op) {
    case IR_CONST: text_printf(text, "const %.17g", node->constant); break;
    case IR_INDEX:
        text_add(text, "index ");
        index_print(text, node->index, names);
        break;
    case IR_LOAD:
        text_printf(text, "load %s[", program->buffer[node->buffer].name);
        index_print(text, node->index, names);
        text_add(text, "]");
        if (node->arg[0] >= 0) {
            text_printf(text, " if %%%d", node->arg[0]);
        }
        break;
    case IR_CAST: text_printf(text, "cast %%%d", node->arg[0]); break;
    case IR_REDUCE:
        text_printf(text, "reduce %s %%%d", ir_reduction_table[node->reduction].name, node->arg[0]);
        break;
    case IR_STORE:
        text_printf(text, "    store %s %s[", dtype, program->buffer[node->buffer].name);
        index_print(text, node->index, names);
        text_printf(text, "] = %%%d", node->arg[0]);
        break;
    default:
        text_add(text, ir_op_table[node->op].name);
        for (int k = 0; k < ir_op_table[node->op].arity; k++) {
            text_printf(text, " %%%d", node->arg[k]);
        }
        break;
    }
    text_add(text, "\n");
}

void ir_print(struct text *text, const struct ir_program *program)
{
    static const char *const roles[] = {"input", "output", "scratch"};
    static const char *const hints[] = {"INNER", "OUTER", "DEFAULT"};
    text_printf(text, "program %s\n", program->name);
    for (int i = 0; i < program->buffers; i++) {
        const struct ir_buffer *buffer = &program->buffer[i];
        text_printf(text, "  %s %s: %s[", roles[buffer->role], buffer->name,
                    dtype_table[buffer->dtype].name);
        for (int k = 0; k < buffer->rank; k++) {
            text_printf(text, "%s%lld", k ? ", " : "", (long long)buffer->shape[k]);
        }
        text_add(text, "] strides (");
        for (int k = 0; k < buffer->rank; k++) {
            text_printf(text, "%s%lld", k ? ", " : "", (long long)buffer->stride[k]);
        }
        text_printf(text, ") %lld bytes\n",
                    (long long)(buffer->elements * dtype_table[buffer->dtype].bytes));
    }
    for (int k = 0; k < program->kernels; k++) {
        const struct ir_kernel *kernel = &program->kernel[k];
        const char *const *names = ir_dim_names(kernel, text->arena);
        text_printf(text, "  kernel %s (", kernel->name);
        print_dims(text, kernel, names);
        text_add(text, ")");
        if (ir_axis_present(kernel, IR_AXIS_R)) {
            text_printf(text, " %s levels %d", hints[kernel->hint], kernel->levels);
        }
        text_add(text, "\n");
        for (int i = 0; i < kernel->nodes; i++) {
            print_node(text, program, kernel, i, names);
        }
    }
}
