/* The definition: runs a program in double, with a running error bound beside every value (rules:
 * ops.def, reference_math.h).
 *
 * For each x point it walks r once a level, recomputing what the level needs, so memory stays a few
 * numbers a node however long the rows are. Sums and products run in order; a bound says how far a
 * right result in the program's own types may lie. */
#include <math.h>
#include <string.h>

#include "codegen/ir.h"
#include "codegen/reference_math.h"

static const int64_t POINTS_MOST = (int64_t)1 << 26; /* chosen: seconds, not minutes */

struct type_limits {
    double u, tiny,
        max; /* unit roundoff, smallest subnormal, greatest finite value; 0 for exact types */
    double low, range; /* of whole numbers: [low, low + range) */
};

/* IEEE 754 binary16, 32, 64 and bfloat16. f64: u doubled, since the definition itself rounds there.
 */
static const struct type_limits limits[DTYPE_COUNT] = {
    [DTYPE_F32] = {.u = 0x1p-24, .tiny = 0x1p-149, .max = 0x1.fffffep127},
    [DTYPE_BF16] = {.u = 0x1p-8, .tiny = 0x1p-133, .max = 0x1.fep127},
    [DTYPE_F16] = {.u = 0x1p-11, .tiny = 0x1p-24, .max = 65504.0},
    [DTYPE_F64] = {.u = 0x1p-52, .tiny = 0x1p-1074, .max = 0x1.fffffffffffffp1023},
    [DTYPE_I32] = {.low = -0x1p31, .range = 0x1p32},
    [DTYPE_I64] = {.low = -0x1p63, .range = 0x1p64},
    [DTYPE_I8] = {.low = -128.0, .range = 256.0},
    [DTYPE_U8] = {.low = 0.0, .range = 256.0},
};

struct point {
    double v, e;
};

struct run {
    const struct ir_program *program;
    const struct ir_kernel *kernel;
    double *const *data;
    double *const *bound;
    struct point *at; /* per node: value and bound at the present point */
    struct fold {
        double value, error, scale;
    } * fold; /* per REDUCE node */
    int64_t vars[64];
};

static struct point settled(double v, double e, enum dtype dtype)
{
    sd_settle(&v, &e, limits[dtype].tiny, limits[dtype].max);
    sd_wrap(&v, &e, limits[dtype].low, limits[dtype].range);
    return (struct point){v, e};
}

static struct point pure(const struct run *run, const struct ir_node *node)
{
    struct point arg[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 0; k < ir_op_table[node->op].arity; k++) {
        arg[k] = run->at[node->arg[k]];
    }
    double a = arg[0].v, b = arg[1].v, c = arg[2].v, ea = arg[0].e, eb = arg[1].e, ec = arg[2].e;
    double u = limits[node->dtype].u, v = 0.0, e = 0.0;
    (void)a, (void)b, (void)c, (void)ea, (void)eb, (void)ec, (void)u;
    switch (node->op) {
#define OP(id, name, arity, result, flop, f32, i, value, error) \
    case IR_##id:                                               \
        v = value;                                              \
        e = error;                                              \
        break;
#include "codegen/ops.def"
#undef OP
    default: break;
    }
    return settled(v, e, node->dtype);
}

/* Conversion of a value known to `from.e`; integers truncate and wrap, truth is "not zero". */
static struct point converted(struct point from, enum dtype to)
{
    if (to == DTYPE_BOOL) {
        return (struct point){from.v != 0.0, sd_compare_error(from.v, 0.0, from.e, 0.0)};
    }
    if (!dtype_is_float(to)) {
        sd_to_whole(&from.v, &from.e);
        return settled(from.v, from.e, to);
    }
    double exact = to == DTYPE_F64 ? 0.0 : limits[to].u * fabs(from.v);
    return settled(from.v, from.e + exact, to);
}

static struct point load(const struct run *run, const struct ir_node *node)
{
    if (node->arg[0] >= 0 && run->at[node->arg[0]].v == 0.0) {
        return (struct point){0, 0};
    }
    int64_t at = index_eval(node->index, run->vars);
    double *bound = run->bound ? run->bound[node->buffer] : NULL;
    bool input = run->program->buffer[node->buffer].role == IR_BUFFER_INPUT;
    return (struct point){run->data[node->buffer][at], bound && !input ? bound[at] : 0.0};
}

static void store(const struct run *run, const struct ir_node *node)
{
    struct point value = run->at[node->arg[0]];
    const struct ir_node *from = &run->kernel->node[node->arg[0]];
    int64_t at = index_eval(node->index, run->vars);
    if (from->dtype != node->dtype) {
        value = converted(value, node->dtype);
    }
    run->data[node->buffer][at] = value.v;
    if (run->bound && run->bound[node->buffer]) {
        run->bound[node->buffer][at] = value.e;
    }
}

static void evaluate(const struct run *run, int i)
{
    const struct ir_node *node = &run->kernel->node[i];
    struct point *out = &run->at[i];
    switch (node->op) {
    case IR_CONST:
        *out = settled(node->constant, sd_constant_error(node->constant, limits[node->dtype].u),
                       node->dtype);
        break;
    case IR_INDEX:
        out->v = (double)index_eval(node->index, run->vars);
        out->e = sd_constant_error(out->v, limits[node->dtype].u);
        break;
    case IR_LOAD: *out = load(run, node); break;
    case IR_CAST: *out = converted(run->at[node->arg[0]], node->dtype); break;
    case IR_STORE: store(run, node); break;
    case IR_REDUCE: break;
    default: *out = pure(run, node); break;
    }
}

static void fold_start(const struct run *run, int i)
{
    double value = 0.0;
    switch (run->kernel->node[i].reduction) {
#define RED(id, name, identity, combine, identity_double, combine_double) \
    case IR_RED_##id:                                                     \
        value = identity_double;                                          \
        break;
#include "codegen/reductions.def"
#undef RED
    default: break;
    }
    run->fold[i] = (struct fold){.value = value};
}

static void fold_add(const struct run *run, int i)
{
    const struct ir_node *node = &run->kernel->node[i];
    struct fold *fold = &run->fold[i];
    struct point next = run->at[node->arg[0]];
    double a = fold->value, b = next.v, v = 0.0;
    switch (node->reduction) {
#define RED(id, name, identity, combine, identity_double, combine_double) \
    case IR_RED_##id:                                                     \
        v = combine_double;                                               \
        break;
#include "codegen/reductions.def"
#undef RED
    default: break;
    }
    switch (node->reduction) {
    case IR_RED_SUM: fold->error += next.e; break;
    case IR_RED_PROD:
        fold->error = sd_product_error(a, b, fold->error, next.e, v, limits[node->dtype].u);
        break;
    default: fold->error = fmax(fold->error, next.e); break;
    }
    fold->scale += node->reduction == IR_RED_PROD ? sd_product_scale(b) : fabs(b);
    fold->value = v;
}

static void fold_end(const struct run *run, int i, int64_t count)
{
    const struct ir_node *node = &run->kernel->node[i];
    struct fold *fold = &run->fold[i];
    double error = fold->error;
    if (node->reduction == IR_RED_SUM) {
        error = sd_sum_error((double)count, error, fold->scale, limits[node->dtype].u);
    }
    if (node->reduction == IR_RED_PROD) {
        sd_product_end(&fold->value, &error, (double)count, fold->scale, limits[node->dtype].u);
    }
    run->at[i] = settled(fold->value, error, node->dtype);
}

/* Moves to the next point of dims [first, past), innermost fastest; false after the last. */
static bool advance(struct run *run, int first, int past)
{
    for (int d = past - 1; d >= first; d--) {
        if (++run->vars[d] < run->kernel->dim[d].size) {
            return true;
        }
        run->vars[d] = 0;
    }
    return false;
}

/* One walk over r: evaluates the (x, r) nodes of levels <= `level`, feeds the reductions of level +
 * 1, and stores on the last walk. */
static void walk(struct run *run, int level, int first_r, int64_t count)
{
    const struct ir_kernel *kernel = run->kernel;
    for (int i = 0; i < kernel->nodes; i++) {
        if (kernel->node[i].op == IR_REDUCE && kernel->node[i].level == level + 1) {
            fold_start(run, i);
        }
    }
    do {
        for (int i = 0; i < kernel->nodes; i++) {
            const struct ir_node *node = &kernel->node[i];
            if (node->in_r && node->level <= level &&
                (node->op != IR_STORE || level == kernel->levels)) {
                evaluate(run, i);
            } else if (node->op == IR_REDUCE && node->level == level + 1) {
                fold_add(run, i);
            }
        }
    } while (advance(run, first_r, kernel->dims));
    /* The reductions of this level, and then what hangs on them alone. */
    for (int i = 0; i < kernel->nodes; i++) {
        const struct ir_node *node = &kernel->node[i];
        if (node->op == IR_REDUCE && node->level == level + 1) {
            fold_end(run, i, count);
        } else if (!node->in_r && node->op != IR_REDUCE && node->level == level + 1) {
            evaluate(run, i);
        }
    }
}

static void run_kernel(struct run *run)
{
    const struct ir_kernel *kernel = run->kernel;
    int first_r = kernel->dims;
    while (first_r > 0 && kernel->dim[first_r - 1].axis == IR_AXIS_R) {
        first_r--;
    }
    int64_t count = ir_axis_size(kernel, IR_AXIS_R);
    int last = kernel->stores_in_r ? kernel->levels : kernel->levels - 1;
    memset(run->vars, 0, sizeof run->vars);
    do {
        for (int i = 0; i < kernel->nodes; i++) {
            if (!kernel->node[i].in_r && kernel->node[i].level == 0 &&
                kernel->node[i].op != IR_REDUCE) {
                evaluate(run, i);
            }
        }
        for (int level = 0; level <= last; level++) {
            walk(run, level, first_r, count);
        }
    } while (advance(run, 0, first_r));
}

enum stax_status ir_eval(const struct ir_program *program, double *const *data,
                         double *const *bound)
{
    double points = 0.0;
    for (int k = 0; k < program->kernels; k++) {
        double each = 1.0;
        for (int d = 0; d < program->kernel[k].dims; d++) {
            each *= (double)program->kernel[k].dim[d].size;
        }
        points += each;
        STAX_CHECK(program->kernel[k].dims <= 64);
    }
    if (points > (double)POINTS_MOST) {
        STAX_RETURN(STAX_LIMIT, "the interpreter runs at most 2^26 points, this program has %.0f",
                    points);
    }
    for (int b = 0; bound && b < program->buffers; b++) {
        for (int64_t i = 0; bound[b] && i < program->buffer[b].elements; i++) {
            bound[b][i] = 0.0;
        }
    }
    struct arena *arena = arena_create();
    for (int k = 0; k < program->kernels; k++) {
        struct run run = {
            .program = program, .kernel = &program->kernel[k], .data = data, .bound = bound};
        run.at = ARENA_ARRAY(arena, struct point, run.kernel->nodes);
        run.fold = ARENA_ARRAY(arena, struct fold, run.kernel->nodes);
        run_kernel(&run);
    }
    arena_destroy(arena);
    return STAX_OK;
}
