/* Splitting a reduction over blocks that are too few (book 9.4, form 3), and the rules for when and
 * how far.
 *
 * Part p of output x folds elements [p chunk, (p + 1) chunk) of its row into partial[x, p]; a
 * second kernel folds the parts and runs all that followed. The partials' kernel is merged
 * afterwards, which makes [64, 2] one x0 of 128 (listing 9.4). */
#include <math.h>
#include <stdlib.h>

#include "codegen/passes.h"

bool ir_persistent(const struct ir_kernel *kernel)
{
    /* book 9.4 (1); sizes are static here, so both bounds of the length are one. */
    return ir_axis_size(kernel, IR_AXIS_R) <= (kernel->hint == IR_HINT_INNER ? 1024 : 64);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t nearest_divisor(int64_t of, int64_t to)
{
    for (int64_t away = 0;; away++) {
        if (to - away >= 1 && of % (to - away) == 0) {
            return to - away;
        }
        if (of % (to + away) == 0) {
            return to + away;
        }
    }
}

/* facts/compilers 1.2: elements a thread handles at least and at most, threads an SM, threads a
 * block. */
enum { LEAST_A_THREAD = 32, MOST_A_THREAD = 512, THREADS_A_SM = 2048, THREADS_A_BLOCK = 256 };

/* Elements a thread takes of a row of `length`, when rows hold `width` threads' columns and
 * `blocks` blocks are wanted in all. */
static int64_t elements_a_thread(double total, int64_t length, int64_t columns, int64_t lanes,
                                 int processors, int64_t snap)
{
    double threads = (double)processors * THREADS_A_SM;
    if (total <= LEAST_A_THREAD * threads) {
        return LEAST_A_THREAD;
    }
    if (total >= MOST_A_THREAD * threads) {
        int64_t near = nearest_divisor(length, MOST_A_THREAD);
        return llabs(near - MOST_A_THREAD) < 50 ? near : MOST_A_THREAD;
    }
    int64_t wanted = ceil_div((int64_t)processors * THREADS_A_SM / (2 * THREADS_A_BLOCK), columns);
    int64_t each = ceil_div(length, lanes * wanted);
    int64_t near = nearest_divisor(length, each);
    if (llabs(near - each) < snap) {
        each = near > LEAST_A_THREAD ? near : LEAST_A_THREAD;
    }
    return each;
}

int64_t ir_split_parts(const struct ir_kernel *kernel, int processors)
{
    if (kernel->levels != 1 || kernel->stores_in_r) {
        return 1;
    }
    int64_t length = ir_axis_size(kernel, IR_AXIS_R);
    int64_t outputs = ir_axis_size(kernel, IR_AXIS_X) * ir_axis_size(kernel, IR_AXIS_Y) *
                      ir_axis_size(kernel, IR_AXIS_Z);
    double total = (double)length * (double)outputs;
    if (length <= LEAST_A_THREAD || outputs >= 2 * 32 * (int64_t)processors) {
        return 1;
    }
    int64_t parts;
    if (kernel->hint != IR_HINT_OUTER || outputs == 1) {
        if (outputs >= 2 * (int64_t)processors || length <= 8192) {
            return 1;
        }
        int64_t each = elements_a_thread(total, length, outputs, THREADS_A_BLOCK, processors, 30);
        parts = ceil_div(length, each * THREADS_A_BLOCK);
    } else {
        /* 4 values of r a thread, 128 columns a block; snap 20 (same source). */
        int64_t each = elements_a_thread(total, length, ceil_div(outputs, 128), 4, processors, 20);
        parts = ceil_div(length, each * 4);
    }
    return parts < 1 ? 1 : parts;
}

struct cut {
    const struct ir_kernel *from;
    struct arena *arena;
    int first_r;          /* first R dim of `from` */
    int64_t parts, chunk; /* of the outermost R dim, or of all of them flattened */
    bool flat;
    int64_t length;     /* what parts * chunk covers */
    struct ir_dim *dim; /* of the partials' kernel */
    int dims;
    const struct index **with;
    const struct index *place; /* position in the cut range, over the new dims */
};

/* Dims of the partials' kernel: x.., the part, r... Only the outermost R dim is cut when it is long
 * enough, so that the inner ones keep their affine addresses; otherwise all are flattened into one.
 */
static void cut_dims(struct cut *cut)
{
    const struct ir_kernel *from = cut->from;
    int first = cut->first_r;
    cut->flat = from->dims - first > 1 && from->dim[first].size < cut->parts;
    cut->length = cut->flat ? ir_axis_size(from, IR_AXIS_R) : from->dim[first].size;
    cut->chunk = ceil_div(cut->length, cut->parts);
    cut->dim = ARENA_ARRAY(cut->arena, struct ir_dim, from->dims + 1);
    cut->with = ARENA_ARRAY(cut->arena, const struct index *, from->dims);
    for (int i = 0; i < first; i++) {
        cut->dim[i] = from->dim[i];
        cut->with[i] = index_var(cut->arena, i);
    }
    cut->dim[first] = (struct ir_dim){IR_AXIS_X, cut->parts};
    cut->dim[first + 1] = (struct ir_dim){IR_AXIS_R, cut->chunk};
    cut->dims = first + 2;
    for (int i = first + 1; !cut->flat && i < from->dims; i++) {
        cut->with[i] = index_var(cut->arena, cut->dims);
        cut->dim[cut->dims++] = from->dim[i];
    }
    cut->place = index_add(cut->arena,
                           index_mul(cut->arena, index_var(cut->arena, first), cut->chunk),
                           index_var(cut->arena, first + 1));
    int64_t *size = ARENA_ARRAY(cut->arena, int64_t, cut->dims);
    for (int i = 0; i < cut->dims; i++) {
        size[i] = cut->dim[i].size;
    }
    if (!cut->flat) {
        cut->with[first] = cut->place;
        return;
    }
    int64_t below = 1;
    for (int i = from->dims - 1; i >= first; i--) {
        const struct index *above = index_div(cut->arena, cut->place, below, size);
        /* The outermost takes no remainder: where the parts overhang, the guard holds. */
        cut->with[i] = i > first ? index_mod(cut->arena, above, from->dim[i].size, size) : above;
        below *= from->dim[i].size;
    }
}

static double identity(enum ir_reduction reduction)
{
    switch (reduction) {
#define RED(id, name, text, combine, identity_double, combine_double) \
    case IR_RED_##id:                                                 \
        return identity_double;
#include "codegen/reductions.def"
#undef RED
    default: return NAN;
    }
}

/* Row-major position of the x point over dims [0, count), times `scale`. */
static const struct index *flat_x(const struct ir_dim *dim, int count, int64_t scale,
                                  struct arena *arena)
{
    const struct index *flat = index_const(arena, 0);
    for (int i = count - 1; i >= 0; i--) {
        flat = index_add(arena, flat, index_mul(arena, index_var(arena, i), scale));
        scale *= dim[i].size;
    }
    return flat;
}

static int add_scratch(struct ir_program *program, enum dtype dtype, int64_t outputs, int64_t parts,
                       struct arena *arena)
{
    int scratch = 0;
    for (int i = 0; i < program->buffers; i++) {
        scratch += program->buffer[i].role == IR_BUFFER_SCRATCH;
    }
    struct ir_buffer *buffer = arena_grow(arena, program->buffer, (size_t)program->buffers,
                                          (size_t)program->buffers + 1, sizeof *buffer);
    buffer[program->buffers] = (struct ir_buffer){
        .name = arena_printf(arena, "buf%d", scratch),
        .role = IR_BUFFER_SCRATCH,
        .dtype = dtype,
        .elements = outputs * parts,
        .rank = 2,
        .shape = {outputs, parts},
        .stride = {parts, 1},
    };
    program->buffer = buffer;
    return program->buffers++;
}

/* The partials' kernel. scratch[i] is the buffer of REDUCE node i. */
static void build_parts(const struct cut *cut, const int *scratch, struct ir_kernel *out)
{
    const struct ir_kernel *from = cut->from;
    struct arena *arena = cut->arena;
    int64_t *size = ARENA_ARRAY(arena, int64_t, cut->dims);
    int *number = ARENA_ARRAY(arena, int, from->nodes);
    for (int i = 0; i < cut->dims; i++) {
        size[i] = cut->dim[i].size;
    }
    struct ir_builder builder = ir_build(arena, size);
    int guard = -1;
    if (cut->chunk * cut->parts > cut->length) {
        enum dtype type = cut->chunk * cut->parts <= INT32_MAX ? DTYPE_I32 : DTYPE_I64;
        int place = ir_build_index(&builder, type, cut->place);
        guard = ir_build_pure(&builder, IR_LT, place,
                              ir_build_const(&builder, type, (double)cut->length), -1);
    }
    for (int i = 0; i < from->nodes; i++) {
        struct ir_node node = from->node[i];
        if (node.op == IR_STORE || (node.op != IR_REDUCE && node.level > 0)) {
            continue; /* what follows the reductions is the second kernel's */
        }
        for (int k = 0; k < 3; k++) {
            node.arg[k] = node.arg[k] >= 0 ? number[node.arg[k]] : -1;
        }
        node.index = node.index ? index_replace(arena, node.index, cut->with, size) : NULL;
        if (node.op == IR_LOAD && guard >= 0 && from->node[i].in_r) {
            node.arg[0] = node.arg[0] < 0 ? guard
                                          : ir_build_pure(&builder, IR_AND, node.arg[0], guard, -1);
        }
        if (node.op == IR_REDUCE) {
            if (guard >= 0) {
                int neutral = ir_build_const(&builder, node.dtype, identity(node.reduction));
                node.arg[0] = ir_build_pure(&builder, IR_WHERE, guard, node.arg[0], neutral);
            }
            const struct index *at = index_add(arena,
                                               flat_x(cut->dim, cut->first_r, cut->parts, arena),
                                               index_var(arena, cut->first_r));
            number[i] = ir_build_reduce(&builder, node.reduction, node.arg[0]);
            ir_build_store(&builder, scratch[i], node.dtype, at, number[i]);
        } else {
            number[i] = ir_build_node(&builder, &node);
        }
    }
    out->dims = cut->dims;
    out->dim = cut->dim;
    ir_build_into(&builder, out);
}

/* The kernel that folds the parts and runs what follows. */
static void build_finish(const struct cut *cut, const int *scratch, struct ir_kernel *out)
{
    const struct ir_kernel *from = cut->from;
    struct arena *arena = cut->arena;
    int first = cut->first_r;
    int *number = ARENA_ARRAY(arena, int, from->nodes);
    int64_t *size = ARENA_ARRAY(arena, int64_t, first + 1);
    struct ir_dim *dim = ARENA_ARRAY(arena, struct ir_dim, first + 1);
    for (int i = 0; i < first; i++) {
        dim[i] = from->dim[i];
        size[i] = dim[i].size;
    }
    dim[first] = (struct ir_dim){IR_AXIS_R, cut->parts};
    size[first] = cut->parts;
    struct ir_builder builder = ir_build(arena, size);
    const struct index *at = index_add(arena, flat_x(dim, first, cut->parts, arena),
                                       index_var(arena, first));
    for (int i = 0; i < from->nodes; i++) {
        struct ir_node node = from->node[i];
        if (node.in_r) {
            continue;
        }
        if (node.op == IR_REDUCE) {
            int part = ir_build_load(&builder, scratch[i], node.dtype, at, -1);
            number[i] = ir_build_reduce(&builder, node.reduction, part);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            node.arg[k] = node.arg[k] >= 0 ? number[node.arg[k]] : -1;
        }
        number[i] = ir_build_node(&builder, &node);
    }
    out->dims = first + 1;
    out->dim = dim;
    ir_build_into(&builder, out);
}

static void put_kernels(struct ir_program *program, int at, const struct ir_kernel *two,
                        struct arena *arena)
{
    struct ir_kernel *kernel = ARENA_ARRAY(arena, struct ir_kernel, program->kernels + 1);
    for (int i = 0, k = 0; i < program->kernels; i++) {
        if (i == at) {
            kernel[k++] = two[0];
            kernel[k++] = two[1];
        } else {
            kernel[k++] = program->kernel[i];
        }
    }
    program->kernel = kernel;
    program->kernels++;
    for (int i = 0; i < program->kernels; i++) {
        kernel[i].name = arena_printf(arena, "%s_%d", program->name, i);
    }
}

enum stax_status ir_split(struct ir_program *program, int kernel, int64_t parts,
                          struct arena *arena)
{
    const struct ir_kernel *from = &program->kernel[kernel];
    int64_t length = ir_axis_size(from, IR_AXIS_R);
    if (from->levels != 1 || from->stores_in_r) {
        STAX_RETURN(
            STAX_UNSUPPORTED,
            "kernel %s cannot be split: only one level of reductions, stored once a row, can",
            from->name);
    }
    if (parts < 2 || parts > length) {
        STAX_RETURN(STAX_UNSUPPORTED,
                    "kernel %s cannot be split into %lld parts: its rows have %lld elements",
                    from->name, (long long)parts, (long long)length);
    }
    struct cut cut = {.from = from, .arena = arena, .parts = parts};
    while (from->dim[cut.first_r].axis != IR_AXIS_R) {
        cut.first_r++;
    }
    cut_dims(&cut);
    int64_t outputs = 1;
    for (int i = 0; i < cut.first_r; i++) {
        outputs *= from->dim[i].size;
    }
    int *scratch = ARENA_ARRAY(arena, int, from->nodes);
    for (int i = 0; i < from->nodes; i++) {
        if (from->node[i].op == IR_REDUCE) {
            scratch[i] = add_scratch(program, from->node[i].dtype, outputs, parts, arena);
        }
    }
    struct ir_kernel two[2] = {*from, *from};
    build_parts(&cut, scratch, &two[0]);
    build_finish(&cut, scratch, &two[1]);
    pass_merge(&two[0], arena);
    pass_merge(&two[1], arena);
    put_kernels(program, kernel, two, arena);
    ir_debug_check(program);
    return STAX_OK;
}
