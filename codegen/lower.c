/* Tensor graph to loop IR: each planned group becomes one kernel (book 9.2: one inner_fn, printed
 * for its iteration space).
 *
 * A node is built at coordinates, index expressions over the kernel's variables: views substitute,
 * pointwise ops pass the coordinates on, a reduction of the same group is built in place over r,
 * any other is read from its buffer. A memo keeps shared expressions shared. */
#include <string.h>

#include "codegen/lower.h"
#include "codegen/passes.h"

struct build {
    const struct lower *lower;
    const struct group *group;
    int number;         /* of the group */
    const int *scratch; /* graph node (REDUCE) to buffer */
    struct ir_builder builder;
    struct made {
        const struct made *next;
        const struct index *at[IR_MAX_RANK];
        int guard, result;
    } * *made; /* per graph node */
};

static int build_node(struct build *build, int number, const struct index *const *at, int guard);

/* Row-major position, or the one that strides give. */
static const struct index *address(struct arena *arena, struct graph_shape shape,
                                   const int64_t *stride, const struct index *const *at)
{
    const struct index *sum = index_const(arena, 0);
    int64_t step = 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        sum = index_add(arena, sum, index_mul(arena, at[i], stride ? stride[i] : step));
        step *= shape.size[i];
    }
    return sum;
}

/* low <= at, at < size for the dims whose coordinate may leave the source; -1 when none may. */
static int inside(struct build *build, struct graph_shape shape, const struct index *const *at)
{
    struct ir_builder *builder = &build->builder;
    int all = -1;
    for (int i = 0; i < shape.rank; i++) {
        int64_t low, high;
        index_range(at[i], build->group->size, &low, &high);
        enum dtype type = index_fits_i32(at[i], build->group->size) && shape.size[i] <= INT32_MAX
                              ? DTYPE_I32
                              : DTYPE_I64;
        int each[2] = {-1, -1};
        if (low < 0) {
            each[0] = ir_build_pure(builder, IR_LE, ir_build_const(builder, type, 0.0),
                                    ir_build_index(builder, type, at[i]), -1);
        }
        if (high >= shape.size[i]) {
            each[1] = ir_build_pure(builder, IR_LT, ir_build_index(builder, type, at[i]),
                                    ir_build_const(builder, type, (double)shape.size[i]), -1);
        }
        for (int k = 0; k < 2; k++) {
            all = each[k] < 0 ? all
                  : all < 0   ? each[k]
                              : ir_build_pure(builder, IR_AND, all, each[k], -1);
        }
    }
    return all;
}

static int build_view(struct build *build, const struct graph_node *node,
                      const struct index *const *at, int guard)
{
    struct ir_builder *builder = &build->builder;
    const struct index *source[IR_MAX_RANK];
    lower_source(build->lower, node, at, build->group->size, source);
    struct graph_shape shape = build->lower->graph->node[node->arg[0]].shape;
    int within = node->padded ? inside(build, shape, source) : -1;
    if (within < 0) {
        return build_node(build, node->arg[0], source, guard);
    }
    int both = guard < 0 ? within : ir_build_pure(builder, IR_AND, guard, within, -1);
    int value = build_node(build, node->arg[0], source, both);
    int zero = ir_build_const(builder, dtype_compute(builder->node[value].dtype), 0.0);
    return ir_build_pure(builder, IR_WHERE, within, value, zero);
}

static int build_reduce(struct build *build, int number, const struct index *const *at, int guard)
{
    const struct lower *lower = build->lower;
    const struct graph_node *node = &lower->graph->node[number];
    if (lower->group_of[number] == build->number && lower_in_place(lower, number, at)) {
        const struct index *argument[IR_MAX_RANK];
        lower_argument(lower, number, argument);
        /* Its rows are all inside, whatever guards the place where the result is used. */
        int value = build_node(build, node->arg[0], argument, -1);
        return ir_build_reduce(&build->builder, node->reduction, value);
    }
    STAX_CHECK(build->scratch[number] >= 0);
    return ir_build_load(&build->builder, build->scratch[number], dtype_compute(node->dtype),
                         address(lower->arena, node->shape, NULL, at), guard);
}

static int build_kind(struct build *build, int number, const struct index *const *at, int guard)
{
    const struct graph *graph = build->lower->graph;
    const struct graph_node *node = &graph->node[number];
    struct ir_builder *builder = &build->builder;
    switch (node->kind) {
    case GRAPH_INPUT: {
        const struct graph_input *input = &graph->input[node->input];
        return ir_build_load(builder, node->input, input->dtype,
                             address(builder->arena, input->shape, input->stride, at), guard);
    }
    case GRAPH_CONST: return ir_build_const(builder, dtype_compute(node->dtype), node->constant);
    case GRAPH_IOTA: return ir_build_index(builder, DTYPE_I64, at[0]);
    case GRAPH_CAST:
        return ir_build_cast(builder, node->dtype, build_node(build, node->arg[0], at, guard));
    case GRAPH_VIEW: return build_view(build, node, at, guard);
    case GRAPH_REDUCE: return build_reduce(build, number, at, guard);
    case GRAPH_PURE: break;
    }
    int arg[3] = {-1, -1, -1};
    for (int k = 0; k < ir_op_table[node->op].arity; k++) {
        arg[k] = build_node(build, node->arg[k], at, guard);
    }
    return ir_build_pure(builder, node->op, arg[0], arg[1], arg[2]);
}

static int build_node(struct build *build, int number, const struct index *const *at, int guard)
{
    int rank = build->lower->graph->node[number].shape.rank;
    for (const struct made *made = build->made[number]; made; made = made->next) {
        bool same = made->guard == guard;
        for (int i = 0; same && i < rank; i++) {
            same = index_equal(made->at[i], at[i]);
        }
        if (same) {
            return made->result;
        }
    }
    int result = build_kind(build, number, at, guard);
    struct made *made = ARENA_NEW(build->lower->arena, struct made);
    *made = (struct made){.next = build->made[number], .guard = guard, .result = result};
    memcpy(made->at, at, (size_t)rank * sizeof *at);
    build->made[number] = made;
    return result;
}

static void build_group(const struct lower *lower, int number, const int *scratch,
                        const struct ir_program *program, struct ir_kernel *kernel)
{
    const struct group *group = &lower->group[number];
    const struct graph *graph = lower->graph;
    struct build build = {.lower = lower, .group = group, .number = number, .scratch = scratch};
    build.builder = ir_build(lower->arena, group->size);
    build.made = (struct made **)arena_array(lower->arena, (size_t)graph->nodes,
                                             sizeof(struct made *));
    for (int i = 0; i < group->outputs; i++) {
        const struct placed *placed = &group->output[i];
        const struct graph_output *output = &graph->output[placed->output];
        int value = build_node(&build, output->node, placed->at, -1);
        int buffer = graph->inputs + placed->output;
        value = ir_build_cast(&build.builder, dtype_compute(program->buffer[buffer].dtype), value);
        ir_build_store(&build.builder, buffer, program->buffer[buffer].dtype,
                       address(lower->arena, graph->node[output->node].shape, NULL, placed->at),
                       value);
    }
    for (int i = 0; i < group->reductions; i++) {
        int node = group->reduction[i], var = 0;
        const struct index *at[IR_MAX_RANK];
        struct graph_shape shape = graph->node[node].shape;
        if (!lower->stored[node]) {
            continue;
        }
        for (int k = 0; k < shape.rank; k++) {
            at[k] = shape.size[k] > 1 ? index_var(lower->arena, var++)
                                      : index_const(lower->arena, 0);
        }
        int value = build_node(&build, node, at, -1);
        ir_build_store(&build.builder, scratch[node], program->buffer[scratch[node]].dtype,
                       address(lower->arena, shape, NULL, at), value);
    }
    kernel->dims = group->dims;
    kernel->dim = ARENA_ARRAY(lower->arena, struct ir_dim, group->dims + 1);
    for (int d = 0; d < group->dims; d++) {
        kernel->dim[d] = (struct ir_dim){d < group->xdims ? IR_AXIS_X : IR_AXIS_R, group->size[d]};
    }
    ir_build_into(&build.builder, kernel);
}

static void fill_buffer(struct ir_buffer *buffer, struct graph_shape shape, const int64_t *stride)
{
    int64_t step = 1;
    buffer->rank = shape.rank;
    for (int i = shape.rank - 1; i >= 0; i--) {
        buffer->shape[i] = shape.size[i];
        buffer->stride[i] = stride ? stride[i] : step;
        step *= shape.size[i] > 0 ? shape.size[i] : 1;
    }
    if (!stride) {
        buffer->elements = graph_elements(shape);
    }
}

/* Inputs, outputs, then one scratch buffer a reduction that another kernel reads. Scratch keeps the
 * compute dtype: only stores that the text asks for round to 16 bits. */
static void make_buffers(const struct lower *lower, struct ir_program *program, int *scratch)
{
    const struct graph *graph = lower->graph;
    int stored = 0;
    for (int i = 0; i < graph->nodes; i++) {
        stored += lower->stored[i];
    }
    program->buffer = ARENA_ARRAY(lower->arena, struct ir_buffer,
                                  graph->inputs + graph->outputs + stored + 1);
    for (int i = 0; i < graph->inputs; i++) {
        const struct graph_input *input = &graph->input[i];
        struct ir_buffer *buffer = &program->buffer[program->buffers++];
        *buffer = (struct ir_buffer){
            .name = input->name, .role = IR_BUFFER_INPUT, .dtype = input->dtype};
        buffer->elements = input->elements;
        fill_buffer(buffer, input->shape, input->stride);
    }
    for (int i = 0; i < graph->outputs; i++) {
        struct ir_buffer *buffer = &program->buffer[program->buffers++];
        *buffer = (struct ir_buffer){.role = IR_BUFFER_OUTPUT, .dtype = graph->output[i].dtype};
        buffer->name = arena_printf(lower->arena, "out%d", i);
        fill_buffer(buffer, graph->node[graph->output[i].node].shape, NULL);
    }
    for (int i = 0, k = 0; i < graph->nodes; i++) {
        scratch[i] = -1;
        if (lower->stored[i]) {
            struct ir_buffer *buffer = &program->buffer[program->buffers];
            *buffer = (struct ir_buffer){.role = IR_BUFFER_SCRATCH,
                                         .dtype = dtype_compute(graph->node[i].dtype)};
            buffer->name = arena_printf(lower->arena, "buf%d", k++);
            fill_buffer(buffer, graph->node[i].shape, NULL);
            scratch[i] = program->buffers++;
        }
    }
}

enum stax_status lower_graph(const struct graph *graph, struct arena *arena,
                             struct ir_program *program)
{
    struct lower lower = {.graph = graph, .arena = arena};
    fuse_plan(&lower);
    *program = (struct ir_program){.name = graph->name};
    int *scratch = ARENA_ARRAY(arena, int, graph->nodes + 1);
    make_buffers(&lower, program, scratch);
    program->kernel = ARENA_ARRAY(arena, struct ir_kernel, lower.groups + 1);
    program->kernels = lower.groups;
    for (int g = 0; g < lower.groups; g++) {
        program->kernel[g].name = arena_printf(arena, "%s_%d", graph->name, g);
        build_group(&lower, g, scratch, program, &program->kernel[g]);
    }
    ir_debug_check(program);
    for (int g = 0; g < lower.groups; g++) {
        pass_order(program, &program->kernel[g], arena);
        ir_debug_check(program);
        pass_merge(&program->kernel[g], arena);
        ir_debug_check(program);
        pass_tile(program, &program->kernel[g], arena);
        ir_debug_check(program);
    }
    return STAX_OK;
}
