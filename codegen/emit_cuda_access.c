/* Loads and stores of the CUDA printer. A load goes wide where its address is provably contiguous
 * and aligned along the vector axis, else it takes the same elements one by one, so sizes that
 * divide nothing stay right (pytorch#141608).
 *
 * rawN holds the words of LOAD N for each slot its address depends on; outN the words of a STORE of
 * the full domain. */
#include "codegen/emit_cuda.h"

struct access {
    int bytes;            /* of an element */
    bool x, b;            /* the address moves along these slots */
    bool vector, element; /* wide; or element by element; neither: one element a slot */
    int words;
    unsigned dims;
};

static struct access access_of(const struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    enum ir_axis axis = k->vec_x ? IR_AXIS_X : IR_AXIS_R;
    struct access access = {.bytes = dtype_table[k->program->buffer[node->buffer].dtype].bytes};
    bool guarded = node->op == IR_LOAD && node->arg[0] >= 0, full = plan_full(k->ir, node);
    access.dims = plan_index_dims(node->index);
    access.x = guarded || node->op == IR_STORE ||
               plan_index_uses_axis(k->ir, node->index, IR_AXIS_X);
    access.b = full && k->b_axis != IR_AXES &&
               (guarded || node->op == IR_STORE ||
                plan_index_uses_axis(k->ir, node->index, k->b_axis));
    bool moves = k->vec_x ? access.x : access.b;
    access.vector = moves && plan_vector_ok(k->program, k->ir, n, axis, k->ve) &&
                    access.bytes * k->ve >= 4;
    access.element = moves && !access.vector;
    int elements = moves ? k->ve : 1;
    access.words = (access.bytes * elements + 3) / 4;
    return access;
}

/* "ptr + (index)" with the buffer's name in this kernel. */
static const char *address(struct emit *e, const struct ir_node *node)
{
    return arena_printf(e->arena, "%s + (%s)", e->argument[node->buffer],
                        emit_index(e, node->index));
}

/* A guard as one expression: guards are arithmetic on positions. */
static const char *guard_text(struct emit *e, int n, unsigned *dims)
{
    const struct ir_kernel *ir = e->k->ir;
    const struct ir_node *node = &ir->node[n];
    STAX_CHECK(node->op < IR_PURE_COUNT || node->op == IR_CONST || node->op == IR_INDEX ||
               node->op == IR_CAST);
    *dims |= emit_node_dims(node);
    const char *argument[3] = {"", "", ""};
    for (int a = 0; a < 3; a++)
        if (node->arg[a] >= 0) argument[a] = guard_text(e, node->arg[a], dims);
    int from = node->arg[0] >= 0 ? (int)ir->node[node->arg[0]].dtype : (int)node->dtype;
    return emit_value(e, node, argument, from);
}

/* The masks that apply to an access, joined by &&; "" for none. */
static const char *condition(struct emit *e, bool x, bool b, const char *guard)
{
    const char *mask[3];
    int count = 0;
    if (x && cuda_masked_x(e->k)) mask[count++] = "xmask";
    if (b && cuda_masked_b(e->k)) mask[count++] = e->k->b_axis == IR_AXIS_R ? "r0_mask" : "ymask";
    if (guard[0] != '\0') mask[count++] = guard;
    struct text text = text_make(e->arena);
    for (int i = 0; i < count; i++) text_printf(&text, "%s%s", i > 0 ? " && " : "", mask[i]);
    return text_string(&text);
}

static const char *slot(struct emit *e, const struct access *access)
{
    return cuda_subscript(e, access->x, access->b, false);
}

void cuda_load_declare(struct emit *e, int n)
{
    struct access access = access_of(e, n);
    emit_line(e, "unsigned raw%d%s[%d];", n, cuda_extent(e, access.x, access.b, false),
              access.words);
}

/* Read once along the whole kernel: the address moves along every axis, so that no other block or
 * slot reads it again. */
static bool read_once(const struct emit *e, const struct access *access)
{
    const struct plan_kernel *k = e->k;
    if (k->b_axis != IR_AXES && k->bnumel > 1 && !access->b) return false;
    if (k->form == PLAN_RED && k->passes > 1)
        return false; /* the next pass reads it again, from a cache */
    return k->xnumel == 1 || access->x;
}

void emit_cuda_load(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    struct access access = access_of(e, n);
    unsigned dims = access.dims;
    const char *guard = node->arg[0] >= 0 ? guard_text(e, node->arg[0], &dims) : "";
    bool scratch = e->in_fold && k->program->buffer[node->buffer].role == IR_BUFFER_SCRATCH;
    struct scope scope = emit_cuda_open(e, access.x, access.b,
                                        (access.element ? 0 : dims) | CUDA_MASK_X | CUDA_MASK_B,
                                        access.element ? dims : 0);
    const char *words = arena_printf(e->arena, "raw%d%s", n, slot(e, &access));
    const char *when = condition(e, access.x, access.b, guard);
    const char *test = when[0] != '\0' ? arena_printf(e->arena, "if (%s) ", when) : "";
    bool partial = access.bytes < 4 && !access.vector; /* put in bit by bit */
    if (when[0] != '\0' || partial) emit_line(e, "st_clear(%s);", words);
    if (access.vector) {
        const char *how = scratch ? "_l2" : k->evict && read_once(e, &access) ? "_first" : "";
        emit_line(e, "%sst_load%s(%s, %s);", test, how, words, address(e, node));
    } else {
        if (access.element) cuda_elements(e, &scope, dims);
        const char *element = access.element && k->ve > 1 ? "e" : "0";
        const char *how = scratch ? "_l2" : "";
        emit_line(e, "%sst_pick%s<%d>(%s, %s, %s);", test, how, access.bytes, words, element,
                  address(e, node));
    }
    cuda_close(e, &scope);
}

const char *cuda_load_value(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    if (cuda_turned(k, n))
        return arena_printf(e->arena, "st_get_%s(raw%d, 0)",
                            dtype_table[k->program->buffer[k->ir->node[n].buffer].dtype].name, n);
    struct access access = access_of(e, n);
    bool moves = access.vector || access.element;
    return arena_printf(e->arena, "st_get_%s(raw%d%s, %s)",
                        dtype_table[k->program->buffer[k->ir->node[n].buffer].dtype].name, n,
                        slot(e, &access), moves && k->ve > 1 ? "e" : "0");
}

/* ---- stores ---- */

static const char *put(struct emit *e, int n, const char *element)
{
    const struct ir_node *node = &e->k->ir->node[n];
    return arena_printf(e->arena, "st_put_%s(out%d, %s, %s);",
                        dtype_table[e->k->program->buffer[node->buffer].dtype].name, n, element,
                        cuda_name(e, node->arg[0]));
}

bool cuda_store_wide(const struct emit *e, int n)
{
    return access_of(e, n).vector;
}

void cuda_store_open(struct emit *e, int n)
{
    struct access access = access_of(e, n);
    emit_line(e, "unsigned out%d[%d];", n, access.words);
    if (access.bytes < 4) emit_line(e, "st_clear(out%d);", n);
}

void cuda_store_element(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    struct access access = access_of(e, n);
    const char *element = access.vector || access.element ? (k->ve > 1 ? "e" : "0") : "0";
    emit_line(e, "%s", put(e, n, element));
    if (access.vector) return;
    const char *when = condition(e, access.x, access.b, "");
    emit_line(e, "%sst_drop<%d>(%s, out%d, %s);",
              when[0] != '\0' ? arena_printf(e->arena, "if (%s) ", when) : "", access.bytes,
              address(e, &k->ir->node[n]), n, element);
}

void cuda_store_flush(struct emit *e, int n)
{
    struct access access = access_of(e, n);
    if (!access.vector) return;
    const char *when = condition(e, access.x, access.b, "");
    emit_line(e, "%sst_store%s(%s, out%d);",
              when[0] != '\0' ? arena_printf(e->arena, "if (%s) ", when) : "",
              e->k->evict ? "_first" : "", address(e, &e->k->ir->node[n]), n);
}

void cuda_store_x(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    struct access access = access_of(e, n);
    struct text when = text_make(e->arena);
    if (k->lb > 1) text_add(&when, "lane_b == 0");
    if (k->lx * k->lb < k->threads)
        text_printf(&when, "%s(int)threadIdx.x < %lld", k->lb > 1 ? " && " : "",
                    (long long)(k->lx * k->lb));
    if (when.length > 0) emit_open(e, "if (%s) {", text_string(&when));
    struct scope scope = emit_cuda_open(e, true, false, access.dims | CUDA_MASK_X, access.dims);
    cuda_store_open(e, n);
    if (k->vec_x) cuda_elements(e, &scope, access.dims);
    cuda_store_element(e, n);
    if (k->vec_x) cuda_elements_close(e, &scope);
    cuda_store_flush(e, n);
    cuda_close(e, &scope);
    if (when.length > 0) emit_close(e, "}");
}
