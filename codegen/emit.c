/* Lines, literals and ops as text for every printer. What an op prints as is its row in ops.def. */
#include "codegen/emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/embed.h"

static void put_indent(struct emit *e)
{
    for (int i = 0; i < e->indent; i++) text_add(&e->text, "    ");
}

static void put_line(struct emit *e, const char *format, va_list args)
{
    put_indent(e);
    text_add(&e->text, arena_vprintf(e->arena, format, args));
    text_add(&e->text, "\n");
}

void emit_line(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(e, format, args);
    va_end(args);
}

void emit_open(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(e, format, args);
    va_end(args);
    e->indent++;
}

void emit_close(struct emit *e, const char *line)
{
    e->indent--;
    emit_line(e, "%s", line);
}

const char *emit_type(const struct emit *e, enum dtype dtype)
{
    enum dtype compute = dtype_compute(dtype);
    if (compute == DTYPE_BOOL) return "int";
    return e->cuda ? dtype_table[compute].cuda_type : dtype_table[compute].c_type;
}

const char *emit_size_type(const struct emit *e)
{
    if (!e->cuda) return e->k->wide ? "int64_t" : "int32_t";
    return e->k->wide ? "long long" : "int";
}

const char *emit_literal(struct emit *e, enum dtype dtype, double value)
{
    enum dtype compute = dtype_compute(dtype);
    if (dtype_table[compute].kind != 'F') {
        if (compute == DTYPE_I64) {
            if (value <= -0x1p63) return "(-9223372036854775807LL - 1)";
            return arena_printf(e->arena, "%lldLL", (long long)value);
        }
        if (value <= -0x1p31) return "(-2147483647 - 1)";
        return arena_printf(e->arena, "%lld", (long long)value);
    }
    bool single = compute == DTYPE_F32;
    if (single) value = (double)(float)value; /* beyond f32 it is an infinity */
    if (isnan(value)) return single ? "st_nan()" : "((double)st_nan())";
    if (isinf(value)) {
        const char *sign = value < 0 ? "(-" : "(";
        return arena_printf(e->arena, single ? "%sst_inf())" : "%s(double)st_inf())", sign);
    }
    /* 9 and 17 digits read back exactly (IEEE 754-2019, 5.12.2). */
    char *digits = arena_printf(e->arena, single ? "%.9g" : "%.17g", value);
    bool plain = strpbrk(digits, ".e") == NULL;
    const char *body = arena_printf(e->arena, "%s%s%s", digits, plain ? ".0" : "",
                                    single ? "f" : "");
    return value < 0 || (value == 0 && signbit(value)) ? arena_printf(e->arena, "(%s)", body)
                                                       : body;
}

const char *emit_fill(struct arena *arena, const char *template_text, const char *const *argument)
{
    struct text text = text_make(arena);
    for (const char *c = template_text; *c != '\0'; c++) {
        if (*c == '$' && c[1] >= '0' && c[1] <= '2')
            text_add(&text, argument[*++c - '0']);
        else
            text_add_n(&text, c, 1);
    }
    return text_string(&text);
}

/* A double's op is its definition: the text over a, b, c with the arguments in place of the
 * letters. */
static const char *fill_letters(struct arena *arena, const char *definition,
                                const char *const *argument)
{
    struct text text = text_make(arena);
    bool in_name = false;
    for (const char *c = definition; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                      (*c >= '0' && *c <= '9');
        bool alone = !in_name && *c >= 'a' && *c <= 'c' &&
                     !((c[1] >= 'a' && c[1] <= 'z') || c[1] == '_' || (c[1] >= '0' && c[1] <= '9'));
        if (alone)
            text_printf(&text, "(%s)", argument[*c - 'a']);
        else
            text_add_n(&text, c, 1);
        in_name = letter;
    }
    return arena_printf(arena, "(%s)", text_string(&text));
}

static const char *cast(struct emit *e, const struct ir_node *node, const char *value,
                        enum dtype from)
{
    char from_kind = dtype_table[from].kind;
    if (node->dtype == DTYPE_BF16) return arena_printf(e->arena, "st_round_bf16((float)%s)", value);
    if (node->dtype == DTYPE_F16) return arena_printf(e->arena, "st_round_f16((float)%s)", value);
    if (node->dtype == DTYPE_BOOL) return arena_printf(e->arena, "(%s != 0)", value);
    if (from_kind == 'F' &&
        !dtype_is_float(
            node->dtype)) /* through i64, so that narrow types wrap the same everywhere */
        return arena_printf(e->arena, "(%s)st_to_i64(%s)", emit_type(e, node->dtype), value);
    return arena_printf(e->arena, "(%s)%s", emit_type(e, node->dtype), value);
}

const char *emit_value(struct emit *e, const struct ir_node *node, const char *const *argument,
                       int argument_dtype)
{
    if (node->op == IR_CONST) return emit_literal(e, node->dtype, node->constant);
    if (node->op == IR_INDEX)
        return arena_printf(e->arena, "(%s)(%s)", emit_type(e, node->dtype),
                            emit_index(e, node->index));
    if (node->op == IR_CAST) return cast(e, node, argument[0], (enum dtype)argument_dtype);
    STAX_CHECK(node->op < IR_PURE_COUNT);
    const struct ir_op_row *row = &ir_op_table[node->op];
    enum dtype compute = dtype_compute((enum dtype)argument_dtype);
    if (compute == DTYPE_F64) return fill_letters(e->arena, row->value_text, argument);
    const char *text = dtype_table[compute].kind == 'F' ? row->f32 : row->i;
    STAX_CHECK(text[0] != '\0'); /* the checker refuses float functions of integers */
    return emit_fill(e->arena, text, argument);
}

const char *emit_identity(struct emit *e, const struct ir_node *reduce)
{
    enum dtype compute = dtype_compute(reduce->dtype);
    if (compute == DTYPE_F64) { /* the texts of reductions.def are f32's */
        double infinity = reduce->reduction == IR_RED_MAX ? -INFINITY : INFINITY;
        bool sums = reduce->reduction == IR_RED_SUM;
        return emit_literal(e, compute,
                            sums                               ? 0.0
                            : reduce->reduction == IR_RED_PROD ? 1.0
                                                               : infinity);
    }
    if (dtype_is_float(compute)) return ir_reduction_table[reduce->reduction].identity;
    switch (reduce->reduction) {
    case IR_RED_SUM: return "0";
    case IR_RED_PROD: return "1";
    default: break;
    }
    bool lowest = reduce->reduction == IR_RED_MAX;
    if (compute == DTYPE_BOOL) return lowest ? "0" : "1";
    int bits = 8 * dtype_table[compute].bytes;
    if (dtype_table[compute].kind == 'U')
        return lowest ? "0" : emit_literal(e, DTYPE_I64, ldexp(1, bits) - 1);
    if (bits == 64) return lowest ? "(-9223372036854775807LL - 1)" : "9223372036854775807LL";
    return emit_literal(e, compute, lowest ? -ldexp(1, bits - 1) : ldexp(1, bits - 1) - 1);
}

const char *emit_combine(struct emit *e, const struct ir_node *reduce, const char *a, const char *b)
{
    const char *text = ir_reduction_table[reduce->reduction].combine;
    if (!dtype_is_float(dtype_compute(reduce->dtype))) {
        if (reduce->reduction == IR_RED_MAX) text = "st_imax($0, $1)";
        if (reduce->reduction == IR_RED_MIN) text = "st_imin($0, $1)";
    }
    const char *argument[3] = {a, b, ""};
    if (dtype_compute(reduce->dtype) == DTYPE_F64)
        return fill_letters(e->arena, ir_reduction_table[reduce->reduction].combine_double,
                            argument);
    return emit_fill(e->arena, text, argument);
}

const char *const *emit_dim_names(struct emit *e)
{
    static const char letter[] = {[IR_AXIS_X] = 'x', [IR_AXIS_Y] = 'y', [IR_AXIS_Z] = 'z'};
    const struct ir_kernel *ir = e->k->ir;
    const char **names = ARENA_ARRAY(e->arena, const char *, ir->dims + 1);
    for (int d = 0; d < ir->dims; d++)
        names[d] = ir->dim[d].axis == IR_AXIS_R
                       ? arena_printf(e->arena, "r0_%d", d)
                       : arena_printf(e->arena, "%c%d", letter[ir->dim[d].axis], d);
    return names;
}

const char *emit_index(struct emit *e, const struct index *index)
{
    struct text text = text_make(e->arena);
    index_print(&text, index, emit_dim_names(e));
    return text_string(&text);
}

void emit_dims(struct emit *e, enum ir_axis axis, unsigned dims, const char *flat)
{
    const struct ir_kernel *ir = e->k->ir;
    const char *const *names = emit_dim_names(e);
    int64_t below = 1;
    int first = 0;
    while (first < ir->dims && ir->dim[first].axis != axis) first++;
    for (int d = ir->dims - 1; d >= 0; d--) {
        if (ir->dim[d].axis != axis) continue;
        if (dims >> d & 1) {
            const char *value = flat;
            if (below > 1) value = arena_printf(e->arena, "%s / %lld", value, (long long)below);
            if (d != first)
                value = arena_printf(e->arena, below > 1 ? "(%s) %% %lld" : "%s %% %lld", value,
                                     (long long)ir->dim[d].size);
            emit_line(e, "const %s %s = %s;", emit_size_type(e), names[d], value);
        }
        below *= ir->dim[d].size;
    }
}

/* Declares the dims of the axes that only count blocks, from `outer`. */
void emit_outer_dims(struct emit *e)
{
    const struct plan_kernel *k = e->k;
    unsigned all = ~0u;
    int64_t y = k->b_axis == IR_AXIS_Y ? 1 : ir_axis_size(k->ir, IR_AXIS_Y);
    if (k->b_axis != IR_AXIS_Y && ir_axis_present(k->ir, IR_AXIS_Y)) {
        emit_line(e, "const %s yindex = outer %% %lld;", emit_size_type(e), (long long)y);
        emit_dims(e, IR_AXIS_Y, all, "yindex");
    }
    if (ir_axis_present(k->ir, IR_AXIS_Z)) {
        emit_line(e, "const %s zindex = outer / %lld;", emit_size_type(e), (long long)y);
        emit_dims(e, IR_AXIS_Z, all, "zindex");
    }
}

unsigned emit_node_dims(const struct ir_node *node)
{
    return node->index == NULL ? 0 : plan_index_dims(node->index);
}

const char *emit_embedded(const char *name)
{
    for (size_t i = 0; i < codegen_texts_count; i++)
        if (strcmp(codegen_texts[i].name, name) == 0) return (const char *)codegen_texts[i].text;
    STAX_CHECK(!"an embedded text of codegen is missing");
    return NULL;
}
