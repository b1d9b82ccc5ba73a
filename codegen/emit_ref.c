/* Prints the reference of a kernel: untuned, in double, from the IR before any form or split, for
 * CUDA C and C alike.
 *
 * Every reduction is materialised: partial folds by a fixed tree (one block an output, many for few
 * outputs), then their fold, as value and running error bound; later levels and the stores read
 * them. What is computed and how far a right result may lie are the texts of ops.def and
 * reductions.def, as in ir_eval.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/emit.h"

/* Bounds are first order in places and take the best order of adding for granted in others: a
 * factor of 4 over them passes every right kernel and still fails one that drops a single term of
 * random data (chosen). */
#define REFERENCE_SAFETY "4.0"

enum { REF_THREADS = 256 };

struct ref {
    struct text text;
    int indent;
    struct arena *arena;
    bool cuda;
    const struct cg_kernel *cg;
    const struct ir_kernel *ir;
    int number; /* of the kernel in the program */
    struct job *job;
    int *capacity;
    int *value, *bound; /* job buffer of each program buffer; bound -1 for inputs */
    int *reduce[5];     /* per node: job buffers of value, bound, partial value, error and scale */
    int64_t x, r, parts;
    struct job_launch *launch;
    int launches;
};

static void line(struct ref *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct ref *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (int i = 0; i < f->indent; i++) text_add(&f->text, "    ");
    text_add(&f->text, arena_vprintf(f->arena, format, args));
    text_add(&f->text, "\n");
    va_end(args);
    size_t length = strlen(format);
    if (length > 0 && format[length - 1] == '{') f->indent++;
}

static void end(struct ref *f)
{
    f->indent--;
    line(f, "}");
}

/* ---- arguments: the same list for every function of one kernel ---- */

struct ref_args {
    int count;
    int *buffer;
    const char **name;
    const char **type;
};

static void argument(struct ref *f, struct ref_args *args, int buffer, const char *type,
                     const char *name)
{
    (void)f;
    args->buffer[args->count] = buffer;
    args->type[args->count] = type;
    args->name[args->count++] = name;
}

static struct ref_args arguments(struct ref *f)
{
    static const char *const reduce_name[] = {"rv", "re", "pv", "pe", "ps"};
    const struct ir_program *program = &f->cg->program;
    int most = 2 * program->buffers + 5 * f->ir->nodes + 1;
    struct ref_args args = {.buffer = ARENA_ARRAY(f->arena, int, most),
                            .name = ARENA_ARRAY(f->arena, const char *, most),
                            .type = ARENA_ARRAY(f->arena, const char *, most)};
    for (int b = 0; b < program->buffers; b++) {
        bool used = false;
        for (int n = 0; n < f->ir->nodes; n++)
            used |= (f->ir->node[n].op == IR_LOAD || f->ir->node[n].op == IR_STORE) &&
                    f->ir->node[n].buffer == b;
        if (!used) continue;
        const struct dtype_row *row = &dtype_table[program->buffer[b].dtype];
        if (program->buffer[b].role == IR_BUFFER_INPUT) {
            argument(f, &args, f->value[b], f->cuda ? row->cuda_type : row->c_type,
                     arena_printf(f->arena, "in%d", b));
        } else {
            argument(f, &args, f->value[b], "double", arena_printf(f->arena, "bv%d", b));
            argument(f, &args, f->bound[b], "double", arena_printf(f->arena, "be%d", b));
        }
    }
    for (int n = 0; n < f->ir->nodes; n++)
        for (int i = 0; f->ir->node[n].op == IR_REDUCE && i < 5; i++)
            argument(f, &args, f->reduce[i][n], "double",
                     arena_printf(f->arena, "%s%d", reduce_name[i], n));
    return args;
}

static void open_function(struct ref *f, const char *name, int64_t blocks)
{
    struct ref_args args = arguments(f);
    struct job_launch *launch = &f->launch[f->launches++];
    *launch = (struct job_launch){
        .entry = name, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args.count};
    launch->arg = ARENA_ARRAY(f->arena, struct job_arg, args.count + 1);
    for (int i = 0; i < args.count; i++)
        launch->arg[i] = (struct job_arg){.kind = JOB_ARG_BUFFER, .buffer = args.buffer[i]};
    if (f->cuda) {
        launch->grid[0] = blocks < 65536 ? blocks : 65536; /* chosen: beyond it the blocks loop */
        launch->block[0] = REF_THREADS;
        struct text list = text_make(f->arena);
        for (int i = 0; i < args.count; i++)
            text_printf(&list, "%s%s *%s", i > 0 ? ", " : "", args.type[i], args.name[i]);
        line(f, "extern \"C\" __global__ void __launch_bounds__(%d) %s(%s)", REF_THREADS, name,
             text_string(&list));
        line(f, "{");
    } else {
        line(f, "void %s(void *const *args)", name);
        line(f, "{");
        for (int i = 0; i < args.count; i++)
            line(f, "%s *const %s = *(%s *const *)args[%d];", args.type[i], args.name[i],
                 args.type[i], i);
    }
}

/* ---- nodes at a point ---- */

struct ref_limits {
    const char *u, *tiny, *max;
    const char *low, *range;
};

/* As ir_eval.c: unit roundoff, smallest subnormal, greatest finite (IEEE 754 binary16, 32, 64;
 * bfloat16); of whole numbers the range. */
static struct ref_limits limits_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return (struct ref_limits){"0x1p-24", "0x1p-149", "0x1.fffffep127", "", ""};
    case DTYPE_BF16: return (struct ref_limits){"0x1p-8", "0x1p-133", "0x1.fep127", "", ""};
    case DTYPE_F16: return (struct ref_limits){"0x1p-11", "0x1p-24", "65504.0", "", ""};
    case DTYPE_F64:
        return (struct ref_limits){"0x1p-52", "0x1p-1074", "0x1.fffffffffffffp1023", "", ""};
    case DTYPE_I32: return (struct ref_limits){"0.0", "", "", "-0x1p31", "0x1p32"};
    case DTYPE_I64: return (struct ref_limits){"0.0", "", "", "-0x1p63", "0x1p64"};
    case DTYPE_I8: return (struct ref_limits){"0.0", "", "", "-128.0", "256.0"};
    case DTYPE_U8: return (struct ref_limits){"0.0", "", "", "0.0", "256.0"};
    default: return (struct ref_limits){"0.0", "", "", "0.0", "0.0"};
    }
}

static const char *const *dim_names(struct ref *f)
{
    const char **names = ARENA_ARRAY(f->arena, const char *, f->ir->dims + 1);
    for (int d = 0; d < f->ir->dims; d++) names[d] = arena_printf(f->arena, "d%d", d);
    return names;
}

static const char *index_text(struct ref *f, const struct index *index)
{
    struct text text = text_make(f->arena);
    index_print(&text, index, dim_names(f));
    return text_string(&text);
}

/* Declares the dims of [first, past) from a flat position. */
static void declare_dims(struct ref *f, int first, int past, const char *flat)
{
    int64_t below = 1;
    for (int d = past - 1; d >= first; d--) {
        line(f, "const long long d%d = %s / %lldLL %% %lldLL;", d, flat, (long long)below,
             (long long)f->ir->dim[d].size);
        below *= f->ir->dim[d].size;
    }
}

static void settle(struct ref *f, enum dtype dtype)
{
    struct ref_limits limits = limits_of(dtype);
    if (dtype_is_float(dtype))
        line(f, "sd_settle(&v, &e, %s, %s);", limits.tiny, limits.max);
    else
        line(f, "sd_wrap(&v, &e, %s, %s);", limits.low, limits.range);
}

/* v and e of the value converted to `to`; v and e are set already. */
static void convert(struct ref *f, enum dtype to)
{
    if (to == DTYPE_BOOL) {
        line(f, "e = sd_compare_error(v, 0.0, e, 0.0); v = v != 0.0;");
    } else if (!dtype_is_float(to)) {
        line(f, "sd_to_whole(&v, &e);");
        settle(f, to);
    } else {
        if (to != DTYPE_F64) line(f, "e = e + %s * fabs(v);", limits_of(to).u);
        settle(f, to);
    }
}

static void print_load(struct ref *f, const struct ir_node *node)
{
    const struct ir_buffer *buffer = &f->cg->program.buffer[node->buffer];
    const char *at = index_text(f, node->index);
    if (node->arg[0] >= 0) line(f, "if (v%d != 0.0) {", node->arg[0]);
    if (buffer->role == IR_BUFFER_INPUT)
        line(f, "v = st_ref_%s(in%d[%s]);", dtype_table[buffer->dtype].name, node->buffer, at);
    else
        line(f, "v = bv%d[%s]; e = be%d[%s];", node->buffer, at, node->buffer, at);
    if (node->arg[0] >= 0) end(f);
}

static const char *double_text(struct ref *f, double value)
{
    if (value != value) return "(HUGE_VAL - HUGE_VAL)";
    if (value - value != 0) return value > 0 ? "HUGE_VAL" : "(-HUGE_VAL)";
    return arena_printf(f->arena, "(double)%.17g", value); /* reads back exactly */
}

static void print_node(struct ref *f, int n)
{
    static const char letter[] = "abc";
    const struct ir_node *node = &f->ir->node[n];
    const char *u = limits_of(node->dtype).u;
    line(f, "double v%d, e%d;", n, n);
    line(f, "{");
    line(f, "double v = 0.0, e = 0.0;");
    switch (node->op) {
    case IR_CONST:
        line(f, "v = %s; e = sd_constant_error(v, %s);", double_text(f, node->constant), u);
        settle(f, node->dtype);
        break;
    case IR_INDEX:
        line(f, "v = (double)(%s); e = sd_constant_error(v, %s);", index_text(f, node->index), u);
        break;
    case IR_LOAD: print_load(f, node); break;
    case IR_CAST:
        line(f, "v = v%d; e = e%d;", node->arg[0], node->arg[0]);
        convert(f, node->dtype);
        break;
    case IR_REDUCE: line(f, "v = rv%d[x]; e = re%d[x];", n, n); break;
    default:
        for (int a = 0; a < ir_op_table[node->op].arity; a++)
            line(f, "const double %c = v%d, e%c = e%d; (void)e%c;", letter[a], node->arg[a],
                 letter[a], node->arg[a], letter[a]);
        line(f, "const double u = %s; (void)u;", u);
        line(f, "v = %s;", ir_op_table[node->op].value_text);
        line(f, "e = %s;", ir_op_table[node->op].error_text);
        settle(f, node->dtype);
    }
    line(f, "v%d = v; e%d = e;", n, n);
    end(f);
}

/* Marks what node n needs; a REDUCE is read from its buffer. */
static void need(const struct ir_kernel *ir, int n, bool *mark)
{
    if (n < 0 || mark[n]) return;
    mark[n] = true;
    if (ir->node[n].op == IR_REDUCE) return;
    for (int a = 0; a < 3; a++) need(ir, ir->node[n].arg[a], mark);
}

static void print_needed(struct ref *f, const bool *mark, bool in_r)
{
    for (int n = 0; n < f->ir->nodes; n++)
        if (mark[n] && f->ir->node[n].op != IR_STORE && f->ir->node[n].in_r == in_r)
            print_node(f, n);
}

/* ---- reductions ---- */

static bool at_level(const struct ref *f, int n, int level)
{
    return f->ir->node[n].op == IR_REDUCE && f->ir->node[n].level == level;
}

/* (fv, fe, fs) of reduction n takes in (b, eb, scale). */
static void take(struct ref *f, int n, const char *b, const char *eb, const char *scale)
{
    const struct ir_node *node = &f->ir->node[n];
    line(f, "{");
    line(f, "const double a = fv%d, b = %s, eb = %s; (void)eb;", n, b, eb);
    line(f, "const double v = %s;", ir_reduction_table[node->reduction].combine_double);
    if (node->reduction == IR_RED_SUM)
        line(f, "fe%d += eb;", n);
    else if (node->reduction == IR_RED_PROD)
        line(f, "fe%d = sd_product_error(a, b, fe%d, eb, v, %s);", n, n, limits_of(node->dtype).u);
    else
        line(f, "fe%d = fmax(fe%d, eb);", n, n);
    line(f, "fs%d += %s; fv%d = v;", n, scale, n);
    end(f);
}

static int first_r(const struct ir_kernel *ir)
{
    int d = ir->dims;
    while (d > 0 && ir->dim[d - 1].axis == IR_AXIS_R) d--;
    return d;
}

static void print_tree(struct ref *f, int level)
{
    for (int n = 0; n < f->ir->nodes; n++) {
        if (!at_level(f, n, level)) continue;
        line(f, "__syncthreads();");
        line(f, "sh[0][threadIdx.x] = fv%d; sh[1][threadIdx.x] = fe%d; sh[2][threadIdx.x] = fs%d;",
             n, n, n);
        line(f, "for (int s = %d; s > 0; s /= 2) {", REF_THREADS / 2);
        line(f, "__syncthreads();");
        line(f, "if (threadIdx.x < s) {");
        take(f, n, "sh[0][threadIdx.x + s]", "sh[1][threadIdx.x + s]", "sh[2][threadIdx.x + s]");
        line(f, "sh[0][threadIdx.x] = fv%d; sh[1][threadIdx.x] = fe%d; sh[2][threadIdx.x] = fs%d;",
             n, n, n);
        end(f);
        end(f);
        line(
            f,
            "if (threadIdx.x == 0) { pv%d[block] = fv%d; pe%d[block] = fe%d; ps%d[block] = fs%d; }",
            n, n, n, n, n, n);
    }
}

static void print_parts(struct ref *f, int level)
{
    int64_t chunk = (f->r + f->parts - 1) / f->parts;
    bool *mark = ARENA_ARRAY(f->arena, bool, f->ir->nodes);
    for (int n = 0; n < f->ir->nodes; n++)
        if (at_level(f, n, level)) need(f->ir, f->ir->node[n].arg[0], mark);
    open_function(f, arena_printf(f->arena, "ref_k%d_parts%d", f->number, level), f->x * f->parts);
    if (f->cuda) {
        line(f, "__shared__ double sh[3][%d];", REF_THREADS);
        line(f, "for (long long block = blockIdx.x; block < %lldLL; block += gridDim.x) {",
             (long long)(f->x * f->parts));
    } else {
        line(f, "#pragma omp parallel for schedule(static)");
        line(f, "for (long long block = 0; block < %lldLL; block++) {",
             (long long)(f->x * f->parts));
    }
    line(f, "const long long x = block / %lldLL, part = block %% %lldLL;", (long long)f->parts,
         (long long)f->parts);
    declare_dims(f, 0, first_r(f->ir), "x");
    print_needed(f, mark, false);
    for (int n = 0; n < f->ir->nodes; n++)
        if (at_level(f, n, level))
            line(f, "double fv%d = %s, fe%d = 0.0, fs%d = 0.0;", n,
                 ir_reduction_table[f->ir->node[n].reduction].identity_double, n, n);
    line(
        f,
        "const long long stop = part * %lldLL + %lldLL < %lldLL ? part * %lldLL + %lldLL : %lldLL;",
        (long long)chunk, (long long)chunk, (long long)f->r, (long long)chunk, (long long)chunk,
        (long long)f->r);
    line(f, "for (long long r = part * %lldLL%s; r < stop; r += %d) {", (long long)chunk,
         f->cuda ? " + threadIdx.x" : "", f->cuda ? REF_THREADS : 1);
    declare_dims(f, first_r(f->ir), f->ir->dims, "r");
    print_needed(f, mark, true);
    for (int n = 0; n < f->ir->nodes; n++) {
        if (!at_level(f, n, level)) continue;
        int arg = f->ir->node[n].arg[0];
        take(f, n, arena_printf(f->arena, "v%d", arg), arena_printf(f->arena, "e%d", arg),
             arena_printf(f->arena,
                          f->ir->node[n].reduction == IR_RED_PROD ? "sd_product_scale(v%d)"
                                                                  : "fabs(v%d)",
                          arg));
    }
    end(f);
    if (f->cuda) {
        print_tree(f, level);
    } else {
        for (int n = 0; n < f->ir->nodes; n++)
            if (at_level(f, n, level))
                line(f, "pv%d[block] = fv%d; pe%d[block] = fe%d; ps%d[block] = fs%d;", n, n, n, n,
                     n, n);
    }
    end(f);
    end(f);
}

static void open_points(struct ref *f, int64_t points, const char *name)
{
    if (f->cuda) {
        line(f, "const long long step = (long long)gridDim.x * %d;", REF_THREADS);
        line(f,
             "for (long long %s = (long long)blockIdx.x * %d + threadIdx.x; %s < %lldLL; %s += "
             "step) {",
             name, REF_THREADS, name, (long long)points, name);
    } else {
        line(f, "#pragma omp parallel for schedule(static)");
        line(f, "for (long long %s = 0; %s < %lldLL; %s++) {", name, name, (long long)points, name);
    }
}

/* Folds the parts of every output in order and completes the bound (fold_end of ir_eval.c). */
static void print_ends(struct ref *f, int level)
{
    open_function(f, arena_printf(f->arena, "ref_k%d_ends%d", f->number, level),
                  (f->x + REF_THREADS - 1) / REF_THREADS);
    open_points(f, f->x, "x");
    for (int n = 0; n < f->ir->nodes; n++) {
        if (!at_level(f, n, level)) continue;
        const struct ir_node *node = &f->ir->node[n];
        struct ref_limits limits = limits_of(node->dtype);
        line(f, "{");
        line(f, "double fv%d = %s, fe%d = 0.0, fs%d = 0.0;", n,
             ir_reduction_table[node->reduction].identity_double, n, n);
        line(f, "for (long long i = x * %lldLL; i < (x + 1) * %lldLL; i++) {", (long long)f->parts,
             (long long)f->parts);
        take(f, n, arena_printf(f->arena, "pv%d[i]", n), arena_printf(f->arena, "pe%d[i]", n),
             arena_printf(f->arena, "ps%d[i]", n));
        end(f);
        line(f, "double v = fv%d, e = fe%d; (void)fs%d;", n, n, n);
        if (node->reduction == IR_RED_SUM) {
            line(f, "e = sd_sum_error(%lld.0, e, fs%d, %s);", (long long)f->r, n, limits.u);
            if (dtype_is_float(node->dtype)) line(f, "if (fs%d > %s) e = HUGE_VAL;", n, limits.max);
        }
        if (node->reduction == IR_RED_PROD)
            line(f, "sd_product_end(&v, &e, %lld.0, fs%d, %s);", (long long)f->r, n, limits.u);
        settle(f, node->dtype);
        line(f, "rv%d[x] = v; re%d[x] = e;", n, n);
        end(f);
    }
    end(f);
    end(f);
}

/* ---- stores ---- */

static void print_stores(struct ref *f, bool in_r)
{
    bool *mark = ARENA_ARRAY(f->arena, bool, f->ir->nodes), any = false;
    for (int n = 0; n < f->ir->nodes; n++)
        if (f->ir->node[n].op == IR_STORE && f->ir->node[n].in_r == in_r)
            any = true, need(f->ir, n, mark);
    if (!any) return;
    int64_t points = in_r ? f->x * f->r : f->x;
    open_function(f, arena_printf(f->arena, "ref_k%d_stores%d", f->number, in_r),
                  (points + REF_THREADS - 1) / REF_THREADS);
    open_points(f, points, "point");
    line(f, "const long long x = point / %lldLL, r = point %% %lldLL;",
         (long long)(in_r ? f->r : 1), (long long)(in_r ? f->r : 1));
    line(f, "(void)x, (void)r;");
    declare_dims(f, 0, first_r(f->ir), "x");
    if (in_r) declare_dims(f, first_r(f->ir), f->ir->dims, "r");
    for (int n = 0; n < f->ir->nodes; n++) {
        const struct ir_node *node = &f->ir->node[n];
        if (!mark[n]) continue;
        if (node->op != IR_STORE) {
            print_node(f, n);
            continue;
        }
        bool output = f->cg->program.buffer[node->buffer].role == IR_BUFFER_OUTPUT;
        line(f, "{");
        line(f, "double v = v%d, e = e%d;", node->arg[0], node->arg[0]);
        if (f->ir->node[node->arg[0]].dtype != node->dtype) convert(f, node->dtype);
        const char *at = index_text(f, node->index);
        line(f, "bv%d[%s] = v; be%d[%s] = %se;", node->buffer, at, node->buffer, at,
             output ? REFERENCE_SAFETY " * " : "");
        end(f);
    }
    end(f);
    end(f);
}

/* ---- the whole ---- */

static int add_f64(struct ref *f, const char *name, enum job_role role, int64_t elements, int pair)
{
    struct job_buffer buffer = {
        .name = name, .role = role, .dtype = DTYPE_F64, .elements = elements, .pair = pair};
    return job_add_buffer(f->job, f->capacity, buffer, f->arena);
}

static void add_buffers(struct ref *f, const int *of_buffer)
{
    const struct ir_program *program = &f->cg->program;
    f->value = ARENA_ARRAY(f->arena, int, program->buffers);
    f->bound = ARENA_ARRAY(f->arena, int, program->buffers);
    for (int b = 0; b < program->buffers; b++) {
        const struct ir_buffer *buffer = &program->buffer[b];
        f->value[b] = of_buffer[b];
        f->bound[b] = -1;
        if (buffer->role == IR_BUFFER_INPUT) continue;
        bool output = buffer->role == IR_BUFFER_OUTPUT;
        f->value[b] = add_f64(f, arena_printf(f->arena, "ref_%s", buffer->name),
                              output ? JOB_REF_OUT : JOB_REF_SCRATCH, buffer->elements,
                              output ? of_buffer[b] : -1);
        f->bound[b] = add_f64(f, arena_printf(f->arena, "bound_%s", buffer->name),
                              output ? JOB_REF_BOUND : JOB_REF_SCRATCH, buffer->elements,
                              output ? of_buffer[b] : -1);
    }
}

static void print_kernel(struct ref *f)
{
    const struct ir_kernel *ir = f->ir;
    f->r = ir_axis_size(ir, IR_AXIS_R);
    f->x = 1;
    for (int d = 0; d < first_r(ir); d++) f->x *= ir->dim[d].size;
    /* Few outputs: parts until some 2048 blocks run, none shorter than 1024 (chosen). */
    f->parts = 1;
    while (f->x * f->parts < 2048 && f->r / f->parts > 1024) f->parts *= 2;
    for (int i = 0; i < 5; i++) f->reduce[i] = ARENA_ARRAY(f->arena, int, ir->nodes);
    for (int n = 0; n < ir->nodes; n++)
        for (int i = 0; ir->node[n].op == IR_REDUCE && i < 5; i++)
            f->reduce[i][n] = add_f64(f, arena_printf(f->arena, "ref_k%d_n%d_%d", f->number, n, i),
                                      JOB_REF_SCRATCH, i < 2 ? f->x : f->x * f->parts, -1);
    for (int level = 1; level <= ir->levels; level++) {
        print_parts(f, level);
        print_ends(f, level);
    }
    print_stores(f, false);
    print_stores(f, true);
}

enum stax_status emit_reference(const struct cg_kernel *cg, const struct device_info *device,
                                struct arena *arena, struct job *job, int *capacity,
                                const int *of_buffer)
{
    struct ref f = {.text = text_make(arena),
                    .arena = arena,
                    .cuda = device->kind == DEVICE_CUDA,
                    .cg = cg,
                    .job = job,
                    .capacity = capacity};
    text_add(&f.text,
             emit_embedded(f.cuda ? "templates/reference.cuh" : "templates/reference_c.h"));
    text_add(&f.text, emit_embedded("reference_math.h"));
    int launches = 0;
    for (int k = 0; k < cg->program.kernels; k++) launches += 2 * cg->program.kernel[k].levels + 2;
    f.launch = ARENA_ARRAY(arena, struct job_launch, launches + 1);
    add_buffers(&f, of_buffer);
    for (int k = 0; k < cg->program.kernels; k++) {
        f.ir = &cg->program.kernel[k];
        f.number = k;
        print_kernel(&f);
    }
    job->reference.source = text_string(&f.text);
    job->reference.options = f.cuda
                                 ? "-std=c++17"
                                 : "-std=gnu11\n-O2\n-march=native\n-fopenmp\n-fno-math-errno\n-w";
    job->reference.launches = f.launches;
    job->reference.launch = f.launch;
    return STAX_OK;
}
