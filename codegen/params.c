/* The parameters of one kernel on one device: which values each may take and the constraints
 * between them.
 *
 * A value is offered where it changes the emitted code; a parameter with one value is no parameter
 * but a fixed name in the constraints. Constraints are provable: a thread needs a vector of its
 * own, a tile must fit registers and shared memory. XBLOCK, R0_BLOCK and so on are the names of
 * book 9.3-9.6; `$` in the texts below is the kernel's suffix. */
#include "codegen/plan.h"

#include <stdio.h>
#include <string.h>

struct maker {
    struct knobs *knobs;
    const struct ir_program *program;
    const struct ir_kernel *ir;
    const struct device_info *device;
    const char *suffix;
    struct arena *arena;
    bool reduction, vec_x, split_legal;
    int element;      /* bytes */
    int64_t x, b, rn; /* sizes, and r rounded up */
    double kept;      /* words an element, persistent */
};

static void fixed(struct maker *m, int which, const char *name, int64_t value)
{
    struct knob *knob = &m->knobs->knob[which];
    knob->name = name;
    knob->count = 1;
    knob->value[0] = value;
}

static void add(struct maker *m, int which, int64_t value)
{
    struct knob *knob = &m->knobs->knob[which];
    STAX_CHECK(knob->count < (int)STAX_COUNT(knob->value));
    for (int i = 0; i < knob->count; i++)
        if (knob->value[i] == value) return;
    int at = knob->count++;
    for (; at > 0 && knob->text[0] == NULL && knob->value[at - 1] > value; at--)
        knob->value[at] = knob->value[at - 1]; /* numbers ascend */
    knob->value[at] = value;
}

static void add_text(struct maker *m, int which, int64_t value, const char *text)
{
    struct knob *knob = &m->knobs->knob[which];
    knob->text[knob->count] = text;
    add(m, which, value);
}

/* Powers of two from low to high, at least `low`. */
static void powers(struct maker *m, int which, int64_t low, int64_t high)
{
    add(m, which, low);
    for (int64_t v = 2 * low; v <= high; v *= 2) add(m, which, v);
}

/* Adds a constraint; `$` becomes the suffix, `@` the vector's length. */
static void constrain(struct maker *m, const char *format)
{
    struct text text = text_make(m->arena);
    for (const char *c = format; *c != '\0'; c++) {
        if (*c == '$')
            text_add(&text, m->suffix);
        else if (*c == '@')
            text_printf(&text, "(VEC%s // %d)", m->suffix, m->element);
        else
            text_add_n(&text, c, 1);
    }
    STAX_CHECK(m->knobs->constraints < (int)STAX_COUNT(m->knobs->constraint));
    m->knobs->constraint[m->knobs->constraints++] = text_string(&text);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static bool expressible_split(const struct maker *m, int64_t parts)
{
    return m->split_legal && parts >= 2 &&
           m->b / parts >= 128; /* chosen: four values a lane of one warp */
}

/* FORM, RSPLIT, FINISH of a reduction. */
static void add_forms(struct maker *m, bool persistent, bool looped)
{
    int64_t processors = m->device->processors > 0 ? m->device->processors : 1;
    bool cuda = m->device->kind == DEVICE_CUDA;
    /* Enough parts that every processor has four blocks of one row, or of 64 columns, at most 1024
     * (one fold of a block; chosen). Where r is even, only parts that divide it: others need a
     * guard in the inner loop. */
    int64_t blocks = m->vec_x ? (m->x + 63) / 64 : m->x;
    int64_t most = clamp(plan_pow2(4 * processors / blocks), 8, cuda ? 1024 : 256);
    add(m, KNOB_RSPLIT, 1);
    int64_t rule = m->split_legal ? ir_split_parts(m->ir, (int)processors) : 1;
    for (int64_t parts = 2; parts <= most; parts *= 2) {
        bool divides = m->b % parts == 0 || m->b % 2 != 0;
        if (expressible_split(m, parts) && divides) add(m, KNOB_RSPLIT, parts);
    }
    if (rule > 1 && expressible_split(m, rule)) add(m, KNOB_RSPLIT, rule);
    bool split = m->knobs->knob[KNOB_RSPLIT].count > 1;
    if (persistent) add_text(m, KNOB_FORM, CHOICE_PER, "per");
    if (looped) add_text(m, KNOB_FORM, CHOICE_RED, "red");
    if (split) add_text(m, KNOB_FORM, CHOICE_SPLIT, "split");
    add_text(m, KNOB_FINISH, PLAN_TWO_KERNEL, "two_kernel");
    /* The last block's group is counted along x alone. */
    bool plain = !ir_axis_present(m->ir, IR_AXIS_Y) && !ir_axis_present(m->ir, IR_AXIS_Z);
    if (split && cuda && plain) add_text(m, KNOB_FINISH, PLAN_LAST_BLOCK, "last_block");
    if (!split) return;
    constrain(m, "(FORM$ == 'split') == (RSPLIT$ > 1)");
    if (cuda) {
        constrain(m, "FORM$ == 'split' or FINISH$ == 'two_kernel'");
        /* A block that holds all parts of its rows needs no other block to finish them. */
        if (!m->vec_x)
            constrain(m,
                      "FINISH$ == 'two_kernel' or (RSPLIT$ > XBLOCK$ and RSPLIT$ % XBLOCK$ == 0)");
        char *text = arena_printf(m->arena, "FORM$ != 'split' or R0_BLOCK$ <= %lld // RSPLIT$",
                                  (long long)m->rn);
        constrain(m, text);
        if (!m->vec_x) {
            text = arena_printf(m->arena, "-(-%lld // RSPLIT$) %% @ == 0", (long long)m->b);
            constrain(m, text); /* a vector may not cross the end of a part */
        }
    }
}

/* Shared memory of a reduction along columns: a partial a warp and column, for each reduction of a
 * level, twice where levels take turns (emit_cuda_fold.c); 16 bytes for a ticket. Said only where
 * it can bind. */
static void shared_limit(struct maker *m)
{
    int64_t most = 1, each = 4;
    for (int level = 1; level <= m->ir->levels; level++) {
        int64_t count = 0;
        for (int n = 0; n < m->ir->nodes; n++) {
            const struct ir_node *node = &m->ir->node[n];
            if (node->op != IR_REDUCE || node->level != level) continue;
            count++;
            if (dtype_table[dtype_compute(node->dtype)].bytes > each) each = 8;
        }
        if (count > most) most = count;
    }
    int64_t column_bytes = most * each * (m->ir->levels > 1 ? 2 : 1);
    int64_t limit = m->device->shared_block_bytes - 32;
    if (32 * 256 * column_bytes > limit) /* 32 warps, the widest XBLOCK */
        constrain(m, arena_printf(m->arena, "num_warps$ * min(XBLOCK$, 32 * @) * %lld <= %lld",
                                  (long long)column_bytes, (long long)limit));
}

static void cuda_reduction(struct maker *m)
{
    int64_t most_elements = 64; /* chosen: elements a lane holds at once, of 255 registers */
    bool persistent = m->rn <= most_elements * 1024;
    bool looped = m->b > 32;
    int64_t low, high;
    if (m->vec_x) {
        powers(m, KNOB_XBLOCK, clamp(plan_pow2(m->x), 1, 16), clamp(plan_pow2(m->x), 1, 256));
        low = clamp(m->rn / 64, 8, 16), high = clamp(m->rn / 2, low, 128);
    } else {
        /* Rows a block (chosen): the longer they are, the fewer fill it; several passes over long
         * rows share what belongs to columns. */
        int64_t rows = m->rn < 1024 ? 64 : m->rn < 4096 ? 8 : m->split_legal ? 2 : 4;
        powers(m, KNOB_XBLOCK, 1, clamp(plan_pow2(m->x), 1, rows));
        low = clamp(m->rn / 32, 32, 1024), high = clamp(m->rn / 2, low, 8192);
    }
    if (looped) powers(m, KNOB_RBLOCK, low, high);
    if (persistent || !looped) add(m, KNOB_RBLOCK, m->rn);
    persistent = persistent || !looped;
    powers(m, KNOB_WARPS, 1, m->rn >= 4096 || m->vec_x ? 32 : 16);
    add_forms(m, persistent, looped);
    constrain(m, "XBLOCK$ * R0_BLOCK$ >= 32 * num_warps$ * @");
    constrain(m, arena_printf(m->arena, "XBLOCK$ * R0_BLOCK$ <= 32 * num_warps$ * %lld",
                              (long long)most_elements));
    constrain(m, m->vec_x ? "XBLOCK$ >= @" : "R0_BLOCK$ >= @");
    if (persistent && looped) {
        constrain(m,
                  arena_printf(m->arena, "FORM$ != 'per' or R0_BLOCK$ == %lld", (long long)m->rn));
        constrain(m, arena_printf(m->arena, "FORM$ != 'red' or R0_BLOCK$ < %lld", (long long)m->b));
    }
    if (m->kept > 0 &&
        persistent) /* what lives between passes lies in registers: 255 a thread, 64 Ki a block */
        constrain(m, arena_printf(
                         m->arena,
                         "FORM$ != 'per' or XBLOCK$ * R0_BLOCK$ * %g <= 32 * num_warps$ * min(255, "
                         "65536 // (32 * num_warps$))",
                         m->kept));
    if (m->vec_x) shared_limit(m);
}

static void cuda_pointwise(struct maker *m, bool two)
{
    fixed(m, KNOB_RBLOCK, "R0_BLOCK", 1);
    if (two) {
        powers(m, KNOB_YBLOCK, clamp(plan_pow2(m->b), 1, 8), clamp(plan_pow2(m->b), 1, 128));
        powers(m, KNOB_XBLOCK, clamp(plan_pow2(m->x), 1, 8), clamp(plan_pow2(m->x), 1, 128));
    } else {
        int64_t high = clamp(plan_pow2(m->x), 32, 4096); /* facts: cap of XBLOCK */
        powers(m, KNOB_XBLOCK, clamp(high / 64, 32, 4096), high);
    }
    powers(m, KNOB_WARPS, 1, 16);
    /* A tile smaller than a warp has idle lanes in every configuration; otherwise each lane has a
     * vector of its own. */
    int64_t most = clamp(plan_pow2(m->x), 1, 128) * (two ? clamp(plan_pow2(m->b), 1, 128) : 1);
    if (most >= 32)
        constrain(m, "XBLOCK$ * YBLOCK$ >= 32 * num_warps$ * @");
    else
        constrain(m, "num_warps$ == 1");
    constrain(m, "XBLOCK$ >= @");
    constrain(m, "XBLOCK$ * YBLOCK$ <= 32 * num_warps$ * 32"); /* chosen: 32 elements a lane */
    int turned = 0; /* bytes an element of the tiles in shared memory (emit_cuda_tile.c) */
    for (int n = 0; n < m->ir->nodes && two; n++)
        if (plan_turned(m->ir, n))
            turned += dtype_table[m->program->buffer[m->ir->node[n].buffer].dtype].bytes;
    if (turned > 0 && 128 * 129 * turned > m->device->shared_block_bytes)
        constrain(m, arena_printf(m->arena, "XBLOCK$ * (YBLOCK$ + 1) * %d <= %lld", turned,
                                  (long long)m->device->shared_block_bytes - 16 * m->ir->nodes));
}

static void cpu_values(struct maker *m, bool two)
{
    int64_t x = plan_pow2(m->x);
    if (!m->reduction && !two)
        powers(m, KNOB_XBLOCK, clamp(x, 1, 256), clamp(x, 1, 65536));
    else if (two) {
        powers(m, KNOB_YBLOCK, clamp(plan_pow2(m->b), 1, 8), clamp(plan_pow2(m->b), 1, 64));
        powers(m, KNOB_XBLOCK, clamp(x, 1, 16), clamp(x, 1, 256));
    } else if (m->vec_x)
        powers(m, KNOB_XBLOCK, clamp(x, 1, 64), clamp(x, 1, 2048));
    else
        powers(m, KNOB_XBLOCK, 1, clamp(x, 1, 64));
    if (m->reduction && m->vec_x)
        powers(m, KNOB_RBLOCK, 1, 8); /* rows added in one walk over the columns */
    else if (m->reduction)
        powers(m, KNOB_RBLOCK, 16,
               256); /* elements a strip, each vector of it with its own accumulator */
    else
        fixed(m, KNOB_RBLOCK, "R0_BLOCK", 1);
    int64_t threads = m->device->processors > 0 ? m->device->processors : 1;
    add(m, KNOB_THREADS, 1);
    if (threads > 2) add(m, KNOB_THREADS, threads / 2);
    add(m, KNOB_THREADS, threads);
    if (m->reduction) {
        /* The row in a local array pays only when a later pass reads it; 256 KiB at most, of a
         * thread's stack (chosen). */
        bool keeps = m->kept > 0 && (double)m->b * m->kept * 4 <= 262144 && !m->vec_x;
        add_forms(m, keeps, true);
        if (!m->vec_x) {
            constrain(m, "R0_BLOCK$ >= @");
            constrain(m, "R0_BLOCK$ <= 16 * @"); /* accumulators: half of 32 vector registers */
        }
    }
}

/* Streaming is a choice where nothing is read twice; it marks whole words stored along x. A
 * reduction always streams what it reads once (book 9.2 (2)). */
static void add_evict(struct maker *m)
{
    bool stored = false;
    for (int n = 0; n < m->ir->nodes; n++)
        stored |= m->ir->node[n].op == IR_STORE &&
                  plan_vector_ok(m->program, m->ir, n, IR_AXIS_X, 1);
    if (!m->reduction && stored) add(m, KNOB_EVICT, 0);
    add(m, KNOB_EVICT, 1);
    if (m->knobs->knob[KNOB_EVICT].count == 2 && m->element < 4)
        constrain(m, "EVICT$ == 0 or VEC$ >= 4");
}

const char *knob_suffix(const struct cg_kernel *cg, int kernel, struct arena *arena)
{
    return cg->program.kernels <= 1 ? "" : arena_printf(arena, "_%d", kernel);
}

enum stax_status knobs_make(const struct cg_kernel *cg, int kernel,
                            const struct device_info *device, struct arena *arena,
                            struct knobs *knobs)
{
    static const char *const names[KNOB_COUNT] = {
        [KNOB_FORM] = "FORM",       [KNOB_RSPLIT] = "RSPLIT",       [KNOB_FINISH] = "FINISH",
        [KNOB_YBLOCK] = "YBLOCK",   [KNOB_XBLOCK] = "XBLOCK",       [KNOB_RBLOCK] = "R0_BLOCK",
        [KNOB_WARPS] = "num_warps", [KNOB_THREADS] = "num_threads", [KNOB_VEC] = "VEC",
        [KNOB_EVICT] = "EVICT",
    };
    const struct ir_kernel *ir = &cg->program.kernel[kernel];
    memset(knobs, 0, sizeof *knobs);
    struct maker m = {
        .knobs = knobs, .program = &cg->program, .ir = ir, .device = device, .arena = arena};
    m.suffix = knob_suffix(cg, kernel, arena);
    m.reduction = plan_is_reduction(ir);
    m.vec_x = plan_vec_x(m.program, ir);
    m.element = plan_element_bytes(m.program, ir, m.vec_x);
    m.x = ir_axis_size(ir, IR_AXIS_X);
    bool two = plan_b_axis(ir) == IR_AXIS_Y;
    m.b = plan_b_axis(ir) == IR_AXES ? 1 : ir_axis_size(ir, plan_b_axis(ir));
    m.rn = plan_pow2(m.b);
    m.kept = plan_kept_words(m.program, ir, device->kind == DEVICE_CUDA, arena);
    m.split_legal = m.reduction && ir->levels == 1 && !ir->stores_in_r;
    bool cuda = device->kind == DEVICE_CUDA;
    if (cuda) {
        for (int ve = 1; ve * m.element <= 16; ve *= 2)
            if (plan_vector_useful(m.program, ir, m.vec_x, ve))
                add(&m, KNOB_VEC, (int64_t)ve * m.element);
        if (m.reduction)
            cuda_reduction(&m);
        else
            cuda_pointwise(&m, two);
        add_evict(&m);
        fixed(&m, KNOB_THREADS, "num_threads", 1);
    } else {
        int64_t widest = device->vector_bytes >= 16 ? device->vector_bytes : 16;
        powers(&m, KNOB_VEC, 16, widest < 64 ? widest : 64);
        cpu_values(&m, two);
        fixed(&m, KNOB_WARPS, "num_warps", 1);
        fixed(&m, KNOB_EVICT, "EVICT", 0);
    }
    for (int i = 0; i < KNOB_COUNT; i++) {
        struct knob *knob = &knobs->knob[i];
        knob->name = names[i];
        if (knob->count == 0) add(&m, i, i == KNOB_FORM ? CHOICE_RED : i == KNOB_FINISH ? 0 : 1);
        if (i == KNOB_FORM && knob->text[0] == NULL) knob->text[0] = "red";
        if (i == KNOB_FINISH && knob->text[0] == NULL) knob->text[0] = "two_kernel";
    }
    return STAX_OK;
}
