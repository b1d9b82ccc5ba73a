/* Prints a plan as C11 for the host compiler: one function a launch, parallel over tiles, each a
 * walk over rows (vectors along the reduction) or over columns (vectors along x).
 *
 * Loops over a vector's lanes have a constant length and no branch, and every vector of a strip has
 * its own accumulators, so that the compiler keeps them in registers and the adds overlap.
 * Remainders repeat the body with fewer lanes. */
#include "codegen/emit.h"

static const char *b_letter(const struct plan_kernel *k)
{
    return k->b_axis == IR_AXIS_R ? "r0_" : "y";
}

static unsigned axis_dims(const struct plan_kernel *k, enum ir_axis axis)
{
    unsigned dims = 0;
    for (int d = 0; d < k->ir->dims; d++)
        if (k->ir->dim[d].axis == axis) dims |= 1u << d;
    return dims;
}

static const char *name(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    if (node->op == IR_CONST) return emit_literal(e, node->dtype, node->constant);
    if (!plan_full(k->ir, node))
        return arena_printf(e->arena, k->vec_x ? "tmp%d[column]" : "tmp%d", n);
    return arena_printf(e->arena, k->keep[n] ? "tmp%d[r0_index]" : "tmp%d", n);
}

static const char *value_of(struct emit *e, int n);

/* A guard stands in the load's condition as one expression: it is arithmetic on positions. */
static const char *guard_text(struct emit *e, int n)
{
    const struct ir_node *node = &e->k->ir->node[n];
    const char *argument[3] = {"", "", ""};
    for (int a = 0; a < 3; a++)
        if (node->arg[a] >= 0) argument[a] = guard_text(e, node->arg[a]);
    int from = node->arg[0] >= 0 ? (int)e->k->ir->node[node->arg[0]].dtype : (int)node->dtype;
    return emit_value(e, node, argument, from);
}

static const char *value_of(struct emit *e, int n)
{
    const struct ir_kernel *ir = e->k->ir;
    const struct ir_node *node = &ir->node[n];
    if (node->op == IR_LOAD) {
        const char *dtype = dtype_table[e->k->program->buffer[node->buffer].dtype].name;
        const char *load = arena_printf(e->arena, "st_get_%s(%s[%s])", dtype,
                                        e->argument[node->buffer], emit_index(e, node->index));
        if (node->arg[0] < 0) return load;
        return arena_printf(e->arena, "%s ? %s : 0", guard_text(e, node->arg[0]), load);
    }
    const char *argument[3] = {"", "", ""};
    for (int a = 0; a < 3; a++)
        if (node->arg[a] >= 0) argument[a] = name(e, node->arg[a]);
    bool second = node->op < IR_PURE_COUNT && ir_op_table[node->op].result == IR_RESULT_ARG1;
    int from = node->arg[second ? 1 : 0];
    return emit_value(e, node, argument, from < 0 ? (int)node->dtype : (int)ir->node[from].dtype);
}

static unsigned guard_dims(const struct ir_kernel *ir, int n)
{
    if (n < 0) return 0;
    unsigned dims = emit_node_dims(&ir->node[n]);
    for (int a = 0; a < 3; a++) dims |= guard_dims(ir, ir->node[n].arg[a]);
    return dims;
}

/* Dims that a node's own text names. */
static unsigned text_dims(const struct ir_kernel *ir, int n)
{
    unsigned dims = emit_node_dims(&ir->node[n]);
    return ir->node[n].op == IR_LOAD ? dims | guard_dims(ir, ir->node[n].arg[0]) : dims;
}

static void store(struct emit *e, int n)
{
    const struct ir_node *node = &e->k->ir->node[n];
    emit_line(e, "%s[%s] = st_put_%s(%s);", e->argument[node->buffer], emit_index(e, node->index),
              dtype_table[e->k->program->buffer[node->buffer].dtype].name, name(e, node->arg[0]));
}

static bool is_x_value(const struct plan_kernel *k, int n, int level)
{
    const struct ir_node *node = &k->ir->node[n];
    return !plan_full(k->ir, node) && node->level == level && k->live[n] && node->op != IR_STORE &&
           node->op != IR_REDUCE && node->op != IR_CONST;
}

static bool reduces_at(const struct plan_kernel *k, int n, int level)
{
    return k->ir->node[n].op == IR_REDUCE && k->ir->node[n].level == level;
}

/* The work of pass p at one point: values, accumulators named by `slot`, stores. */
static void point(struct emit *e, int p, const char *slot)
{
    const struct plan_kernel *k = e->k;
    const struct ir_kernel *ir = k->ir;
    for (int n = 0; n < ir->nodes; n++) {
        const struct ir_node *node = &ir->node[n];
        if (!k->pass[p].need[n] || node->op == IR_CONST) continue;
        if (node->op == IR_STORE)
            store(e, n);
        else if (k->keep[n])
            emit_line(e, "%s = %s;", name(e, n), value_of(e, n));
        else
            emit_line(e, "const %s tmp%d = %s;", emit_type(e, node->dtype), n, value_of(e, n));
    }
    for (int n = 0; n < ir->nodes; n++) {
        if (!reduces_at(k, n, p + 1)) continue;
        const char *acc = arena_printf(e->arena, "_tmp%d%s", n, slot);
        emit_line(e, "%s = %s;", acc,
                  emit_combine(e, &ir->node[n], acc, name(e, ir->node[n].arg[0])));
    }
}

static unsigned pass_dims(const struct plan_kernel *k, int p)
{
    unsigned dims = 0;
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->pass[p].need[n]) dims |= text_dims(k->ir, n);
    return dims;
}

static bool pass_keeps(const struct plan_kernel *k, int p)
{
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->keep[n]) return (void)p, true;
    return false;
}

/* ---- rows: vectors along the reduction ---- */

static void row_point(struct emit *e, int p, const char *position, const char *slot)
{
    unsigned dims = pass_dims(e->k, p) & axis_dims(e->k, IR_AXIS_R);
    if (dims || pass_keeps(e->k, p))
        emit_line(e, "const %s r0_index = %s;", emit_size_type(e), position);
    emit_dims(e, IR_AXIS_R, dims, "r0_index");
    point(e, p, slot);
}

/* v of reduction n from its strip of accumulators, halving: neighbours meet first. */
static void row_fold(struct emit *e, int n, int64_t lanes)
{
    const struct ir_node *node = &e->k->ir->node[n];
    emit_line(e, "for (int half = %lld; half > 0; half /= 2)", (long long)(lanes / 2));
    emit_line(e, "    for (int e = 0; e < half; e++) _tmp%d[e] = %s;", n,
              emit_combine(e, node, arena_printf(e->arena, "_tmp%d[e]", n),
                           arena_printf(e->arena, "_tmp%d[e + half]", n)));
    emit_line(e, "const %s tmp%d = _tmp%d[0];", emit_type(e, node->dtype), n, n);
}

static void row_pass(struct emit *e, int p)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e);
    int64_t strip = k->bblock < k->ve ? k->ve : k->bblock, vectors = strip / k->ve;
    bool folds = p < k->ir->levels;
    for (int n = 0; n < k->ir->nodes; n++) {
        if (folds && reduces_at(k, n, p + 1)) {
            emit_line(e, "%s _tmp%d[%lld] __attribute__((aligned(64)));",
                      emit_type(e, k->ir->node[n].dtype), n, (long long)strip);
            emit_line(e, "for (int e = 0; e < %lld; e++) _tmp%d[e] = %s;", (long long)strip, n,
                      emit_identity(e, &k->ir->node[n]));
        }
        if (k->keep[n] && k->pass[p].need[n])
            emit_line(e, "%s tmp%d[%lld] __attribute__((aligned(64)));",
                      emit_type(e, k->ir->node[n].dtype), n, (long long)k->bnumel);
    }
    int64_t whole = k->bnumel / strip * strip, rest = k->bnumel - whole,
            rest_vectors = rest / k->ve;
    if (whole > 0) {
        emit_open(e, "for (%s r0_offset = 0; r0_offset < %lld; r0_offset += %lld) {", type,
                  (long long)whole, (long long)strip);
        if (vectors > 1) {
            emit_line(e, "#pragma GCC unroll %lld", (long long)(vectors < 16 ? vectors : 16));
            emit_open(e, "for (int j = 0; j < %lld; j++) {", (long long)vectors);
        }
        emit_line(e, "#pragma omp simd");
        emit_open(e, "for (int e = 0; e < %d; e++) {", k->ve);
        const char *at = vectors > 1 ? arena_printf(e->arena, "j * %d + e", k->ve) : "e";
        row_point(e, p, arena_printf(e->arena, "r0_offset + %s", at),
                  arena_printf(e->arena, "[%s]", at));
        emit_close(e, "}");
        if (vectors > 1) emit_close(e, "}");
        emit_close(e, "}");
    }
    if (rest_vectors > 0) {
        emit_open(e, "for (int j = 0; j < %lld; j++) {", (long long)rest_vectors);
        emit_line(e, "#pragma omp simd");
        emit_open(e, "for (int e = 0; e < %d; e++) {", k->ve);
        row_point(e, p, arena_printf(e->arena, "%lld + j * %d + e", (long long)whole, k->ve),
                  "[e]");
        emit_close(e, "}");
        emit_close(e, "}");
    }
    if (rest % k->ve > 0) {
        emit_open(e, "for (int e = 0; e < %lld; e++) {", (long long)(rest % k->ve));
        row_point(e, p, arena_printf(e->arena, "%lld + e", (long long)(k->bnumel - rest % k->ve)),
                  "[e]");
        emit_close(e, "}");
    }
    for (int n = 0; n < k->ir->nodes; n++)
        if (folds && reduces_at(k, n, p + 1)) row_fold(e, n, strip);
}

static void row_values(struct emit *e, int level)
{
    for (int n = 0; n < e->k->ir->nodes; n++)
        if (is_x_value(e->k, n, level))
            emit_line(e, "const %s tmp%d = %s;", emit_type(e, e->k->ir->node[n].dtype), n,
                      value_of(e, n));
}

static void rows(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    emit_open(e, "for (%s xindex = xoffset; xindex < xend; xindex++) {", emit_size_type(e));
    unsigned dims = 0;
    for (int n = 0; n < k->ir->nodes; n++) dims |= text_dims(k->ir, n);
    emit_dims(e, IR_AXIS_X, dims & axis_dims(k, IR_AXIS_X), "xindex");
    row_values(e, 0);
    for (int p = 0; p < k->passes; p++) {
        row_pass(e, p);
        if (p < k->ir->levels) row_values(e, p + 1);
    }
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->ir->node[n].op == IR_STORE && !plan_full(k->ir, &k->ir->node[n])) store(e, n);
    emit_close(e, "}");
}

/* ---- columns: vectors along x ---- */

/* Opens the walk over the tile's vectors, or over the columns left (`lanes` of them). */
static void open_lanes(struct emit *e, const char *lanes, unsigned dims)
{
    emit_line(e, "#pragma omp simd");
    emit_open(e, "for (int e = 0; e < %s; e++) {", lanes);
    emit_line(e, "const int column = first + e;");
    if (dims & axis_dims(e->k, IR_AXIS_X)) {
        emit_line(e, "const %s xindex = xoffset + column;", emit_size_type(e));
        emit_dims(e, IR_AXIS_X, dims & axis_dims(e->k, IR_AXIS_X), "xindex");
    }
}

/* Prints `body` for whole vectors and, where the tile may end inside one, for the lanes left. */
static void over_columns(struct emit *e,
                         void (*body)(struct emit *e, const char *lanes, int p, const char *row),
                         int p, const char *row)
{
    const struct plan_kernel *k = e->k;
    bool ragged = k->xblock % k->ve != 0 || k->xnumel % k->xblock % k->ve != 0;
    emit_line(e, "int first = 0;");
    emit_open(e, "for (; first + %d <= xend - xoffset; first += %d) {", k->ve, k->ve);
    body(e, arena_printf(e->arena, "%d", k->ve), p, row);
    emit_close(e, "}");
    if (!ragged) return;
    emit_open(e, "if (first < xend - xoffset) {");
    emit_line(e, "const int lanes = (int)(xend - xoffset - first);");
    body(e, "lanes", p, row);
    emit_close(e, "}");
}

static void column_values_body(struct emit *e, const char *lanes, int level, const char *row)
{
    (void)row;
    unsigned dims = 0;
    for (int n = 0; n < e->k->ir->nodes; n++)
        if (is_x_value(e->k, n, level)) dims |= text_dims(e->k->ir, n);
    open_lanes(e, lanes, dims);
    for (int n = 0; n < e->k->ir->nodes; n++)
        if (is_x_value(e->k, n, level)) emit_line(e, "%s = %s;", name(e, n), value_of(e, n));
    emit_close(e, "}");
}

static void column_values(struct emit *e, int level)
{
    bool any = false;
    for (int n = 0; n < e->k->ir->nodes; n++) {
        if (!is_x_value(e->k, n, level)) continue;
        any = true;
        emit_line(e, "%s tmp%d[%lld] __attribute__((aligned(64)));",
                  emit_type(e, e->k->ir->node[n].dtype), n, (long long)e->k->xblock);
    }
    if (!any) return;
    emit_open(e, "{");
    over_columns(e, column_values_body, level, "");
    emit_close(e, "}");
}

static void column_body(struct emit *e, const char *lanes, int p, const char *row)
{
    const struct plan_kernel *k = e->k;
    bool reduction = k->b_axis == IR_AXIS_R, folds = p < k->ir->levels;
    /* `row` is "1" for single rows, else the rows of a strip, unrolled so that accumulators stay in
     * registers. */
    int64_t strip = row[0] == 's' ? k->bblock : 1;
    for (int n = 0; n < k->ir->nodes; n++)
        if (folds && reduces_at(k, n, p + 1)) {
            emit_line(e, "%s _tmp%d[%d];", emit_type(e, k->ir->node[n].dtype), n, k->ve);
            emit_line(e, "for (int e = 0; e < %s; e++) _tmp%d[e] = tmp%d[first + e];", lanes, n, n);
        }
    if (strip > 1) {
        emit_line(e, "#pragma GCC unroll %lld", (long long)strip);
        emit_open(e, "for (int j = 0; j < %lld; j++) {", (long long)strip);
    }
    unsigned dims = pass_dims(k, p);
    if (k->b_axis != IR_AXES) {
        const char *letter = b_letter(k), *flat = arena_printf(e->arena, "%sindex", letter);
        unsigned mine = dims & axis_dims(k, k->b_axis);
        if (reduction && mine)
            emit_line(e, "const %s r0_index = r0_offset%s;", emit_size_type(e),
                      strip > 1 ? " + j" : "");
        if (mine) emit_dims(e, k->b_axis, mine, flat);
    }
    open_lanes(e, lanes, dims);
    point(e, p, "[e]");
    emit_close(e, "}");
    if (strip > 1) emit_close(e, "}");
    for (int n = 0; n < k->ir->nodes; n++)
        if (folds && reduces_at(k, n, p + 1))
            emit_line(e, "for (int e = 0; e < %s; e++) tmp%d[first + e] = _tmp%d[e];", lanes, n, n);
}

static void column_pass(struct emit *e, int p)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e);
    for (int n = 0; n < k->ir->nodes; n++)
        if (p < k->ir->levels && reduces_at(k, n, p + 1)) {
            emit_line(e, "%s tmp%d[%lld] __attribute__((aligned(64)));",
                      emit_type(e, k->ir->node[n].dtype), n, (long long)k->xblock);
            emit_line(e, "for (int e = 0; e < %lld; e++) tmp%d[e] = %s;", (long long)k->xblock, n,
                      emit_identity(e, &k->ir->node[n]));
        }
    if (k->b_axis == IR_AXIS_R) {
        int64_t whole = k->bnumel / k->bblock * k->bblock;
        emit_open(e, "for (%s r0_offset = 0; r0_offset < %lld; r0_offset += %lld) {", type,
                  (long long)whole, (long long)k->bblock);
        over_columns(e, column_body, p, "strip");
        emit_close(e, "}");
        if (whole == k->bnumel) return;
        emit_open(e, "for (%s r0_offset = %lld; r0_offset < %lld; r0_offset++) {", type,
                  (long long)whole, (long long)k->bnumel);
        over_columns(e, column_body, p, "1");
        emit_close(e, "}");
    } else if (k->b_axis == IR_AXIS_Y) {
        emit_open(e, "for (%s yindex = yoffset; yindex < yend; yindex++) {", type);
        over_columns(e, column_body, p, "1");
        emit_close(e, "}");
    } else {
        emit_open(e, "{");
        over_columns(e, column_body, p, "1");
        emit_close(e, "}");
    }
}

static void column_stores_body(struct emit *e, const char *lanes, int p, const char *row)
{
    (void)p, (void)row;
    unsigned dims = 0;
    const struct ir_kernel *ir = e->k->ir;
    for (int n = 0; n < ir->nodes; n++)
        if (ir->node[n].op == IR_STORE && !plan_full(ir, &ir->node[n])) dims |= text_dims(ir, n);
    open_lanes(e, lanes, dims);
    for (int n = 0; n < ir->nodes; n++)
        if (ir->node[n].op == IR_STORE && !plan_full(ir, &ir->node[n])) store(e, n);
    emit_close(e, "}");
}

static void columns(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    bool stores = false;
    column_values(e, 0);
    for (int p = 0; p < k->passes; p++) {
        column_pass(e, p);
        if (p < k->ir->levels) column_values(e, p + 1);
    }
    for (int n = 0; n < k->ir->nodes; n++)
        stores |= k->ir->node[n].op == IR_STORE && !plan_full(k->ir, &k->ir->node[n]);
    if (!stores) return;
    emit_open(e, "{");
    over_columns(e, column_stores_body, 0, "");
    emit_close(e, "}");
}

/* ---- functions ---- */

static void arguments(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    int in = 0, out = 0;
    e->argument = ARENA_ARRAY(e->arena, const char *, k->program->buffers);
    for (int a = 0; a < k->args; a++) {
        int b = k->arg[a];
        bool written = k->arg_written[a];
        const char *type = dtype_table[k->program->buffer[b].dtype].c_type,
                   *qualifier = written ? "" : "const ";
        e->argument[b] = arena_printf(e->arena, written ? "out_ptr%d" : "in_ptr%d",
                                      written ? out++ : in++);
        emit_line(e, "%s%s *const restrict %s = *(%s%s *const *)args[%d];", qualifier, type,
                  e->argument[b], qualifier, type, a);
    }
}

static void ends(struct emit *e, const char *letter, int64_t numel, int64_t block)
{
    const char *type = emit_size_type(e);
    if (numel % block == 0)
        emit_line(e, "const %s %send = %soffset + %lld;", type, letter, letter, (long long)block);
    else
        emit_line(e, "const %s %send = %soffset + %lld < %snumel ? %soffset + %lld : %snumel;",
                  type, letter, letter, (long long)block, letter, letter, (long long)block, letter);
}

static void function(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e);
    int64_t x = (k->xnumel + k->xblock - 1) / k->xblock;
    int64_t y = k->b_axis == IR_AXIS_Y ? (k->bnumel + k->bblock - 1) / k->bblock : 1;
    emit_line(e, "%s", "");
    emit_line(e, "void %s(void *const *args)", k->entry);
    emit_open(e, "{");
    emit_line(e, "const %s xnumel = %lld; (void)xnumel;", type, (long long)k->xnumel);
    if (k->b_axis != IR_AXES)
        emit_line(e, "const %s %snumel = %lld; (void)%snumel;", type, b_letter(k),
                  (long long)k->bnumel, b_letter(k));
    arguments(e);
    if (k->threads > 1)
        emit_line(e, "#pragma omp parallel for schedule(static) num_threads(%d)", k->threads);
    emit_open(e, "for (int64_t tile = 0; tile < %lld; tile++) {", (long long)(x * y * k->outer));
    emit_line(e, "const %s xoffset = (%s)(tile %% %lld) * %lld;", type, type, (long long)x,
              (long long)k->xblock);
    ends(e, "x", k->xnumel, k->xblock);
    if (k->b_axis == IR_AXIS_Y) {
        emit_line(e, "const %s yoffset = (%s)(tile / %lld %% %lld) * %lld;", type, type,
                  (long long)x, (long long)y, (long long)k->bblock);
        ends(e, "y", k->bnumel, k->bblock);
    }
    if (k->outer > 1) {
        emit_line(e, "const %s outer = (%s)(tile / %lld);", type, type, (long long)(x * y));
        emit_outer_dims(e);
    }
    if (k->vec_x)
        columns(e);
    else
        rows(e);
    emit_close(e, "}");
    emit_close(e, "}");
}

enum stax_status emit_c(const struct plan *plan, struct arena *arena, const char **source)
{
    struct emit e = {.text = text_make(arena), .arena = arena};
    text_add(&e.text, emit_embedded("templates/prelude_c.h"));
    for (int i = 0; i < plan->kernels; i++) {
        e.k = &plan->kernel[i];
        function(&e);
    }
    *source = text_string(&e.text);
    return STAX_OK;
}
