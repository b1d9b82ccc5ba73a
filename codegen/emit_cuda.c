/* Prints a plan as CUDA C for NVRTC, without a single include: the prelude, then one kernel a
 * launch in the structure of book 9.2: constants, positions and masks, computation, reduction and
 * store.
 *
 * A thread walks its slots in unrolled loops; loads of a pass come first, all of them, into
 * registers, so that the bytes in flight are the tile's (facts: Little's law, book 9.1). */
#include "codegen/emit_cuda.h"

#include <string.h>

/* The book's prefix of names of the second axis: r0_numel, ynumel. */
static const char *b_letter(const struct plan_kernel *k)
{
    return k->b_axis == IR_AXIS_R ? "r0_" : "y";
}

bool cuda_masked_x(const struct plan_kernel *k)
{
    return k->xnumel % k->xblock != 0;
}

bool cuda_masked_b(const struct plan_kernel *k)
{
    return k->b_axis != IR_AXES && k->bnumel % k->bblock != 0;
}

const char *cuda_subscript(struct emit *e, bool x, bool b, bool elements)
{
    const struct plan_kernel *k = e->k;
    return arena_printf(e->arena, "%s%s%s", x && k->sx > 1 ? "[i]" : "",
                        b && k->sb > 1 ? "[j]" : "", elements && k->ve > 1 ? "[e]" : "");
}

const char *cuda_extent(struct emit *e, bool x, bool b, bool elements)
{
    const struct plan_kernel *k = e->k;
    struct text text = text_make(e->arena);
    if (x && k->sx > 1) text_printf(&text, "[%lld]", (long long)k->sx);
    if (b && k->sb > 1) text_printf(&text, "[%lld]", (long long)k->sb);
    if (elements && k->ve > 1) text_printf(&text, "[%d]", k->ve);
    return text_string(&text);
}

static void open_loop(struct emit *e, struct scope *scope, const char *name, int64_t count)
{
    if (count == 1) return;
    emit_line(e, "#pragma unroll");
    emit_open(e, "for (int %s = 0; %s < %lld; %s++) {", name, name, (long long)count, name);
    scope->braces++;
}

/* Position of slot `slot` (of `slots`) of a lane among `lanes`, in vectors of `ve`. */
static const char *position(struct emit *e, const char *offset, const char *lane, const char *slot,
                            int64_t lanes, int64_t slots, int ve, bool element)
{
    struct text text = text_make(e->arena);
    bool step = slots > 1, wide_vector = ve > 1;
    text_add(&text, offset);
    text_printf(&text, " + %s%s%s", wide_vector ? (step ? "(" : "") : "", lane, "");
    if (step) text_printf(&text, " + %lld * %s", (long long)lanes, slot);
    if (wide_vector) text_printf(&text, "%s * %d", step ? ")" : "", ve);
    if (element && wide_vector) text_add(&text, " + e");
    return text_string(&text);
}

static unsigned dims_of_axis(const struct ir_kernel *ir, enum ir_axis axis)
{
    unsigned dims = 0;
    for (int d = 0; d < ir->dims; d++)
        if (ir->dim[d].axis == axis) dims |= 1u << d;
    return dims;
}

static void declare_position(struct emit *e, bool along_x, unsigned dims, bool element)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e), *letter = along_x ? "x" : b_letter(k);
    int ve = k->vec_x == along_x ? k->ve : 1;
    const char *offset = arena_printf(e->arena, "%soffset", letter);
    const char *flat = arena_printf(e->arena, "%sindex", letter);
    emit_line(e, "const %s %s = %s;", type, flat,
              along_x ? position(e, offset, "lane_x", "i", k->lx, k->sx, ve, element)
                      : position(e, offset, "lane_b", "j", k->lb, k->sb, ve, element));
    enum ir_axis axis = along_x ? IR_AXIS_X : k->b_axis;
    emit_dims(e, axis, dims & dims_of_axis(k->ir, axis), flat);
}

struct scope emit_cuda_open(struct emit *e, bool x, bool b, unsigned slot_dims,
                            unsigned element_dims)
{
    const struct plan_kernel *k = e->k;
    struct scope scope = {.x = x, .b = b && k->b_axis != IR_AXES, .braces = 1};
    emit_open(e, "{");
    if (x) open_loop(e, &scope, "i", k->sx);
    if (scope.b) open_loop(e, &scope, "j", k->sb);
    /* A mask never cuts a vector (plan_vector_useful), so masks belong to the slot, before the loop
     * over elements. */
    for (int along_x = 1; along_x >= 0; along_x--) {
        if (along_x ? !x : !scope.b) continue;
        unsigned mine = dims_of_axis(k->ir, along_x ? IR_AXIS_X : k->b_axis);
        unsigned dims = slot_dims & mine & ~(CUDA_MASK_X | CUDA_MASK_B);
        if (k->ve == 1 || k->vec_x != (bool)along_x) dims |= element_dims & mine;
        bool masked = along_x ? (slot_dims & CUDA_MASK_X) && cuda_masked_x(k)
                              : (slot_dims & CUDA_MASK_B) && cuda_masked_b(k);
        if (dims || masked) declare_position(e, along_x, dims, false);
        const char *letter = along_x ? "x" : b_letter(k);
        if (masked) emit_line(e, "const bool %smask = %sindex < %snumel;", letter, letter, letter);
    }
    return scope;
}

void cuda_elements(struct emit *e, struct scope *scope, unsigned element_dims)
{
    const struct plan_kernel *k = e->k;
    int before = scope->braces;
    open_loop(e, scope, "e", k->ve);
    scope->inner = scope->braces - before;
    unsigned mine = dims_of_axis(k->ir, k->vec_x ? IR_AXIS_X : k->b_axis) & element_dims;
    if (k->ve > 1 && mine && (k->vec_x ? scope->x : scope->b))
        declare_position(e, k->vec_x, mine, true);
}

void cuda_elements_close(struct emit *e, struct scope *scope)
{
    for (; scope->inner > 0; scope->inner--, scope->braces--) emit_close(e, "}");
}

void cuda_close(struct emit *e, struct scope *scope)
{
    for (; scope->braces > 0; scope->braces--) emit_close(e, "}");
}

const char *cuda_name(struct emit *e, int n)
{
    const struct ir_node *node = &e->k->ir->node[n];
    if (node->op == IR_CONST) return emit_literal(e, node->dtype, node->constant);
    if (!plan_full(e->k->ir, node))
        return arena_printf(e->arena, "tmp%d%s", n, cuda_subscript(e, true, false, e->k->vec_x));
    if (e->k->keep[n] && node->op != IR_LOAD)
        return arena_printf(e->arena, "tmp%d%s", n, cuda_subscript(e, true, true, true));
    return arena_printf(e->arena, "tmp%d", n);
}

static int argument_dtype(const struct ir_kernel *ir, const struct ir_node *node)
{
    bool second = node->op < IR_PURE_COUNT && ir_op_table[node->op].result == IR_RESULT_ARG1;
    int argument = node->arg[second ? 1 : 0];
    return argument < 0 ? (int)node->dtype : (int)ir->node[argument].dtype;
}

static const char *value_of(struct emit *e, int n)
{
    const struct ir_node *node = &e->k->ir->node[n];
    if (node->op == IR_LOAD) return cuda_load_value(e, n);
    const char *argument[3] = {"", "", ""};
    for (int a = 0; a < 3; a++)
        if (node->arg[a] >= 0) argument[a] = cuda_name(e, node->arg[a]);
    return emit_value(e, node, argument, argument_dtype(e->k->ir, node));
}

/* ---- the x domain ---- */

static bool is_x_value(const struct emit *e, int n, int level)
{
    const struct ir_node *node = &e->k->ir->node[n];
    return !plan_full(e->k->ir, node) && node->level == level && e->k->live[n] &&
           node->op != IR_STORE && node->op != IR_REDUCE && node->op != IR_CONST;
}

static void x_nodes(struct emit *e, int level)
{
    const struct ir_kernel *ir = e->k->ir;
    unsigned dims = 0;
    bool any = false;
    for (int n = 0; n < ir->nodes; n++) {
        if (!is_x_value(e, n, level)) continue;
        emit_line(e, "%s tmp%d%s;", emit_type(e, ir->node[n].dtype), n,
                  cuda_extent(e, true, false, e->k->vec_x));
        any = true;
        if (ir->node[n].op == IR_INDEX) dims |= emit_node_dims(&ir->node[n]);
        if (ir->node[n].op == IR_LOAD) {
            cuda_load_declare(e, n);
            emit_cuda_load(e, n);
        }
    }
    if (!any) return;
    struct scope scope = emit_cuda_open(e, true, false, 0, dims);
    if (e->k->vec_x) cuda_elements(e, &scope, dims);
    for (int n = 0; n < ir->nodes; n++)
        if (is_x_value(e, n, level)) emit_line(e, "%s = %s;", cuda_name(e, n), value_of(e, n));
    cuda_close(e, &scope);
}

/* ---- passes ---- */

static void declare_accumulators(struct emit *e, int level)
{
    const struct ir_kernel *ir = e->k->ir;
    for (int n = 0; n < ir->nodes; n++) {
        const struct ir_node *node = &ir->node[n];
        if (node->op != IR_REDUCE || node->level != level) continue;
        emit_line(e, "%s _tmp%d%s;", emit_type(e, node->dtype), n,
                  cuda_extent(e, true, false, true));
        struct scope scope = emit_cuda_open(e, true, false, 0, 0);
        cuda_elements(e, &scope, 0);
        emit_line(e, "_tmp%d%s = %s;", n, cuda_subscript(e, true, false, true),
                  emit_identity(e, node));
        cuda_close(e, &scope);
    }
}

static void accumulate(struct emit *e, int level)
{
    const struct ir_kernel *ir = e->k->ir;
    for (int n = 0; n < ir->nodes; n++) {
        const struct ir_node *node = &ir->node[n];
        if (node->op != IR_REDUCE || node->level != level) continue;
        const char *acc = arena_printf(e->arena, "_tmp%d%s", n,
                                       cuda_subscript(e, true, false, true));
        const char *sum = emit_combine(e, node, acc, cuda_name(e, node->arg[0]));
        if (cuda_masked_b(
                e->k)) /* masked lanes keep the identity, after the prologue (pytorch#195845) */
            emit_line(e, "%s = r0_mask ? %s : %s;", acc, sum, acc);
        else
            emit_line(e, "%s = %s;", acc, sum);
    }
}

/* Does pass p use the value of node n itself? */
static bool pass_uses(const struct plan_kernel *k, int p, int n)
{
    for (int m = n + 1; m < k->ir->nodes; m++) {
        const struct ir_node *node = &k->ir->node[m];
        bool evaluated = node->op == IR_REDUCE ? node->level == p + 1
                                               : k->pass[p].need[m] && node->op != IR_LOAD;
        for (int a = 0; a < 3; a++)
            if (evaluated && node->arg[a] == n) return true;
    }
    return false;
}

static void values(struct emit *e, int p, const bool *made)
{
    const struct ir_kernel *ir = e->k->ir;
    for (int n = 0; n < ir->nodes; n++) {
        const struct ir_node *node = &ir->node[n];
        if (node->op == IR_CONST || node->op == IR_STORE || node->op == IR_REDUCE) continue;
        bool again = made[n] && node->op == IR_LOAD &&
                     pass_uses(e->k, p, n); /* kept in words, taken apart anew */
        if (!e->k->pass[p].need[n] && !again) continue;
        if (node->op == IR_LOAD && !pass_uses(e->k, p, n)) continue;
        if (cuda_turned(e->k, n)) cuda_tile_get(e, n);
        if (e->k->keep[n] && node->op != IR_LOAD)
            emit_line(e, "%s = %s;", cuda_name(e, n), value_of(e, n));
        else
            emit_line(e, "const %s tmp%d = %s;", emit_type(e, node->dtype), n, value_of(e, n));
    }
}

/* One walk over the tile, or one iteration of it: all loads, then the work. `made`: what earlier
 * passes kept. */
static void pass_body(struct emit *e, int p, const bool *made)
{
    const struct ir_kernel *ir = e->k->ir;
    const bool *need = e->k->pass[p].need;
    unsigned dims = 0, store_dims = 0;
    bool turned = false, stores = false;
    for (int n = 0; n < ir->nodes; n++) {
        if (!need[n]) continue;
        if (ir->node[n].op == IR_INDEX) dims |= emit_node_dims(&ir->node[n]);
        if (ir->node[n].op == IR_STORE) {
            stores = true; /* also one to a constant address is masked */
            store_dims |= emit_node_dims(&ir->node[n]);
            if (!cuda_store_wide(e, n)) dims |= emit_node_dims(&ir->node[n]);
        }
        if (ir->node[n].op != IR_LOAD) continue;
        if (cuda_turned(e->k, n)) {
            cuda_tile_load(e, n);
            turned = true;
            continue;
        }
        if (!e->k->keep[n]) cuda_load_declare(e, n);
        emit_cuda_load(e, n);
    }
    for (int n = 0; n < ir->nodes; n++)
        if (need[n] && cuda_turned(e->k, n)) cuda_tile_put(e, n);
    if (turned) emit_line(e, "__syncthreads();");
    unsigned masks = (stores ? CUDA_MASK_X | CUDA_MASK_B : 0) | (p < ir->levels ? CUDA_MASK_B : 0);
    struct scope scope = emit_cuda_open(e, true, true, store_dims | masks, dims);
    for (int n = 0; n < ir->nodes; n++)
        if (need[n] && ir->node[n].op == IR_STORE) cuda_store_open(e, n);
    cuda_elements(e, &scope, dims);
    values(e, p, made);
    accumulate(e, p + 1);
    for (int n = 0; n < ir->nodes; n++)
        if (need[n] && ir->node[n].op == IR_STORE) cuda_store_element(e, n);
    cuda_elements_close(e, &scope);
    for (int n = 0; n < ir->nodes; n++)
        if (need[n] && ir->node[n].op == IR_STORE) cuda_store_flush(e, n);
    cuda_close(e, &scope);
}

static void pass(struct emit *e, int p, bool *made)
{
    const struct plan_kernel *k = e->k;
    for (int n = 0; n < k->ir->nodes; n++) { /* what this pass keeps outlives its loop */
        if (!k->keep[n] || !k->pass[p].need[n]) continue;
        if (k->ir->node[n].op == IR_LOAD)
            cuda_load_declare(e, n);
        else
            emit_line(e, "%s tmp%d%s;", emit_type(e, k->ir->node[n].dtype), n,
                      cuda_extent(e, true, true, true));
    }
    if (p < k->ir->levels) declare_accumulators(e, p + 1);
    const char *type = emit_size_type(e);
    if (k->form == PLAN_RED)
        emit_open(e, "for (%s r0_offset = 0; r0_offset < r0_numel; r0_offset += %lld) {", type,
                  (long long)k->bblock);
    else
        emit_open(e, "{");
    pass_body(e, p, made);
    emit_close(e, "}");
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->keep[n] && k->pass[p].need[n]) made[n] = true;
    if (p < k->ir->levels) cuda_fold_level(e, p + 1);
}

/* Everything between the block's position and its end: the x values and passes, level by level,
 * then stores of the x domain. */
void cuda_body(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    bool *made = ARENA_ARRAY(e->arena, bool, k->ir->nodes);
    if (k->b_axis == IR_AXIS_R && k->form == PLAN_PER)
        emit_line(e, "constexpr %s r0_offset = 0;", emit_size_type(e));
    x_nodes(e, 0);
    for (int p = 0; p < k->passes; p++) {
        pass(e, p, made);
        if (p < k->ir->levels) x_nodes(e, p + 1);
    }
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->ir->node[n].op == IR_STORE && !plan_full(k->ir, &k->ir->node[n])) cuda_store_x(e, n);
}

/* ---- kernels ---- */

void cuda_lanes(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    bool repeat = k->lx * k->lb < k->threads; /* surplus threads do the work of others again */
    int64_t fast = k->vec_x ? k->lx : k->lb, slow = k->vec_x ? k->lb : k->lx;
    const char *fast_name = k->vec_x ? "lane_x" : "lane_b",
               *slow_name = k->vec_x ? "lane_b" : "lane_x";
    const char *thread = "(int)threadIdx.x";
    if (fast == 1)
        emit_line(e, "const int %s = 0;", fast_name);
    else if (fast == k->threads)
        emit_line(e, "const int %s = %s;", fast_name, thread);
    else
        emit_line(e, "const int %s = %s %% %lld;", fast_name, thread, (long long)fast);
    if (slow_name[5] == 'b' && k->b_axis == IR_AXES) return;
    if (slow == 1)
        emit_line(e, "const int %s = 0;", slow_name);
    else if (repeat)
        emit_line(e, "const int %s = %s / %lld %% %lld;", slow_name, thread, (long long)fast,
                  (long long)slow);
    else
        emit_line(e, "const int %s = %s / %lld;", slow_name, thread, (long long)fast);
}

void cuda_constants(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e);
    emit_line(e, "constexpr %s xnumel = %lld; // XBLOCK %lld", type, (long long)k->xnumel,
              (long long)k->xblock);
    if (k->b_axis == IR_AXIS_R)
        emit_line(e, "constexpr %s r0_numel = %lld; // R0_BLOCK %lld", type, (long long)k->bnumel,
                  (long long)k->bblock);
    if (k->b_axis == IR_AXIS_Y)
        emit_line(e, "constexpr %s ynumel = %lld; // YBLOCK %lld", type, (long long)k->bnumel,
                  (long long)k->bblock);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

void cuda_grid(const struct plan_kernel *k, int64_t grid[3])
{
    int64_t x = ceil_div(k->xnumel, k->xblock),
            y = k->b_axis == IR_AXIS_Y ? ceil_div(k->bnumel, k->bblock) : 1;
    bool two = y > 1 && y <= 65535 &&
               k->outer == 1; /* CUDA guide: grid y ends at 65535; beyond it all folds into x */
    grid[0] = two ? x : x * y * k->outer;
    grid[1] = two ? y : 1;
    grid[2] = 1;
}

static void offsets(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    const char *type = emit_size_type(e);
    int64_t grid[3], x = ceil_div(k->xnumel, k->xblock);
    int64_t y = k->b_axis == IR_AXIS_Y ? ceil_div(k->bnumel, k->bblock) : 1;
    cuda_grid(k, grid);
    bool folded = grid[1] == 1 && (y > 1 || k->outer > 1);
    emit_line(e, "const %s xoffset = (%s)blockIdx.x%s * %lld;", type, type,
              folded ? arena_printf(e->arena, " %% %lld", (long long)x) : "", (long long)k->xblock);
    if (k->b_axis == IR_AXIS_Y) {
        const char *tile = grid[1] > 1 ? "blockIdx.y" : "";
        if (grid[1] == 1)
            tile = arena_printf(e->arena, "(blockIdx.x / %lld %% %lld)", (long long)x,
                                (long long)y);
        emit_line(e, "const %s yoffset = (%s)%s * %lld;", type, type, tile, (long long)k->bblock);
    }
    if (k->outer == 1) return;
    emit_line(e, "const %s outer = (%s)blockIdx.x / %lld;", type, type, (long long)(x * y));
    emit_outer_dims(e);
}

static void signature(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    e->argument = ARENA_ARRAY(e->arena, const char *, k->program->buffers);
    struct text text = text_make(e->arena);
    int in = 0, out = 0;
    for (int a = 0; a < k->args; a++) {
        int b = k->arg[a];
        const char *name = arena_printf(e->arena, k->arg_written[a] ? "out_ptr%d" : "in_ptr%d",
                                        k->arg_written[a] ? out++ : in++);
        e->argument[b] = name;
        text_printf(&text, "%s%s%s *__restrict__ %s", a > 0 ? ", " : "",
                    k->arg_written[a] ? "" : "const ",
                    dtype_table[k->program->buffer[b].dtype].cuda_type, name);
    }
    if (k->fold != NULL)
        text_printf(&text, "%sunsigned *__restrict__ counter", k->args > 0 ? ", " : "");
    emit_line(e, "extern \"C\" __global__ void __launch_bounds__(%d)", k->threads);
    emit_line(e, "%s(%s)", k->entry, text_string(&text));
}

static void kernel(struct emit *e)
{
    emit_line(e, "%s", "");
    signature(e);
    emit_open(e, "{");
    if (cuda_shared_bytes(e->k) > 0)
        emit_line(e, "extern __shared__ __align__(16) unsigned char st_shared[];");
    cuda_constants(e);
    offsets(e);
    cuda_lanes(e);
    cuda_body(e);
    if (e->k->fold != NULL) cuda_last_block(e);
    emit_close(e, "}");
}

enum stax_status emit_cuda(const struct plan *plan, struct arena *arena, const char **source)
{
    struct emit e = {.text = text_make(arena), .arena = arena, .cuda = true};
    text_add(&e.text, emit_embedded("templates/prelude.cuh"));
    for (int i = 0; i < plan->kernels; i++) {
        e.k = &plan->kernel[i];
        kernel(&e);
    }
    *source = text_string(&e.text);
    return STAX_OK;
}
