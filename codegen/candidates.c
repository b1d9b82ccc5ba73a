/* The heuristic candidates of a kernel (book 9.6, step one): by form, size hints rounded up to
 * powers of two, and direction.
 *
 * A rule names the values it wants; the nearest valid configuration of the kernel's own space is
 * the candidate, where form counts most, then the split, the tile, the warps, the vector. Rules and
 * numbers: facts of compilers 1.1, given beside each. */
#include "codegen/plan.h"

#include <math.h>
#include <string.h>

struct wish {
    enum plan_choice form;
    int64_t rsplit, xblock, yblock, rblock, warps, threads, vec;
    enum plan_finish finish;
};

struct wishes {
    int count;
    struct wish wish[8];
};

struct rule {
    const struct ir_kernel *ir;
    const struct device_info *device;
    bool cuda;
    int64_t x, y, r; /* hints, rounded up */
    int loads, reductions;
    double bytes;
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void want(struct wishes *list, struct wish wish)
{
    if (list->count == 6) return; /* book 9.6: 1 to 6 */
    if (wish.rsplit == 0) wish.rsplit = 1;
    if (wish.yblock == 0) wish.yblock = 1;
    if (wish.rblock == 0) wish.rblock = 1;
    if (wish.vec == 0) wish.vec = 16;
    if (wish.threads == 0) wish.threads = 1;
    list->wish[list->count++] = wish;
}

/* Warps of a pointwise tile: one for `each` elements, 1 to 8, and 4 at least from 128 elements on.
 */
static int64_t pointwise_warps(int64_t total, int64_t each)
{
    int64_t warps = plan_pow2(clamp(total / each, 1, 8));
    return total >= 128 && warps < 4 ? 4 : warps;
}

static void pointwise_one(const struct rule *rule, struct wishes *list)
{
    int64_t block = clamp(rule->x / 128, 256, 1024);
    int64_t first = clamp(block, 1, rule->x), second = clamp(block / 2, 1, rule->x);
    want(list,
         (struct wish){.form = CHOICE_RED, .xblock = first, .warps = pointwise_warps(first, 256)});
    want(list,
         (struct wish){.form = CHOICE_RED, .xblock = second, .warps = pointwise_warps(second, 64)});
}

static void pointwise_two(const struct rule *rule, struct wishes *list)
{
    int64_t block = clamp(rule->x * rule->y / 128, 256, 1024);
    const int64_t tiles[6][2] = {{32, 32}, {64, 64}, {256, 16}, {16, 256}, {block, 1}, {1, block}};
    for (int i = 0; i < 6; i++) {
        int64_t x = clamp(tiles[i][0], 1, rule->x), y = clamp(tiles[i][1], 1, rule->y);
        want(list, (struct wish){.form = CHOICE_RED,
                                 .xblock = x,
                                 .yblock = y,
                                 .warps = pointwise_warps(x * y, 256)});
    }
}

/* Warps of a reduction: r / 128 along rows, the tile / 128 otherwise; 2 to 16, to 32 beyond 8192.
 */
static int64_t reduction_warps(const struct rule *rule, int64_t x, int64_t r, bool inner)
{
    (void)rule;
    return plan_pow2(clamp((inner ? r : x * r) / 128, 2, r <= 8192 ? 16 : 32));
}

static void tile(const struct rule *rule, struct wishes *list, enum plan_choice form, int64_t parts,
                 int64_t x, int64_t r, int64_t warps)
{
    bool inner = rule->ir->hint == IR_HINT_INNER;
    x = clamp(x, 1, rule->x), r = clamp(r, 1, rule->r);
    want(list, (struct wish){.form = form,
                             .rsplit = parts,
                             .xblock = x,
                             .rblock = r,
                             .warps = warps > 0 ? warps : reduction_warps(rule, x, r, inner)});
}

static void outer_tile(const struct rule *rule, int64_t *x, int64_t *r)
{
    if (rule->x <= 1024) {
        *x = clamp(rule->x / 128, 2, 8), *r = clamp(rule->r, 1, 64);
    } else if (rule->x / 4096 <= 8) {
        *x = 16, *r = 32;
    } else {
        *x = clamp(plan_pow2(rule->x / 4096), 64, 256);
        *r = rule->loads < 4 || rule->r <= 128 ? 512 / *x : rule->r >= 2048 ? 64 : 32;
    }
}

/* What long rows like on recent GPUs, beside the book's choice: a whole row in registers at 16
 * elements a lane and at the threads a row of published norm kernels (facts of Hopper 1.2 (4)); for
 * a split, many short parts that the last block folds. */
static void along_rows(const struct rule *rule, struct wishes *list, enum plan_choice form,
                       int64_t parts)
{
    int64_t lanes = rule->r <= 3072 ? 32 : rule->r <= 6144 ? 64 : rule->r <= 16384 ? 128 : 256;
    struct wish whole = {
        .form = CHOICE_PER, .xblock = 1, .rblock = rule->r, .warps = clamp(rule->r / 512, 1, 32)};
    struct wish ladder = {.form = CHOICE_PER,
                          .xblock = clamp(128 / lanes, 1, 4),
                          .rblock = rule->r,
                          .warps = lanes <= 128 ? 4 : 8};
    if (form != CHOICE_SPLIT) {
        want(list, whole);
        want(list, ladder);
        return;
    }
    for (int64_t more = 4 * parts; more >= 2 * parts; more /= 2) {
        int64_t row = rule->r * parts / more;
        want(list, (struct wish){.form = form,
                                 .rsplit = more,
                                 .xblock = 1,
                                 .rblock = clamp(row, 1, 8192),
                                 .warps = clamp(row / 256, 1, 16),
                                 .finish = PLAN_LAST_BLOCK});
    }
}

static void looped(const struct rule *rule, struct wishes *list, enum plan_choice form,
                   int64_t parts)
{
    int64_t most = rule->x >= 1024 && rule->loads + rule->reductions >= 10 ? 1024 : 2048;
    int64_t outer_x, outer_r, row = clamp(rule->r, 1, most);
    outer_tile(rule, &outer_x, &outer_r);
    if (rule->ir->hint == IR_HINT_OUTER) tile(rule, list, form, parts, outer_x, outer_r, 0);
    tile(rule, list, form, parts, rule->r <= 2048 ? 2 : 1, row, 0);
    if (rule->ir->hint == IR_HINT_INNER) along_rows(rule, list, form, parts);
    if (rule->ir->hint != IR_HINT_OUTER) tile(rule, list, form, parts, outer_x, outer_r, 0);
    tile(rule, list, form, parts, rule->r <= 256 ? 2 * (256 / rule->r) : 1, row, 0);
    tile(rule, list, form, parts, 64, 64, 0);
    tile(rule, list, form, parts, 8, 512, 0);
    tile(rule, list, form, parts, 64, 4, 8);
}

static void persistent(const struct rule *rule, struct wishes *list)
{
    const int64_t rows[4] = {1, 8, 32, 128};
    bool inner = rule->ir->hint == IR_HINT_INNER;
    int first = 0, step = 1, count = 1;
    if (inner && rule->r >= 256 && rule->r <= 1024 &&
        rule->x / 8 >= 128) /* one warp: no shared memory */
        tile(rule, list, CHOICE_PER, 1, clamp(1024 / rule->r, 1, 8), rule->r, 1);
    while (count < 4 && rule->r * rows[count] <= 4096 && rows[count] <= rule->x) count++;
    if (rule->ir->hint == IR_HINT_OUTER) first = count - 1, step = -1; /* the widest first */
    for (int i = first; i >= 0 && i < count; i += step)
        tile(rule, list, CHOICE_PER, 1, rows[i], rule->r, 0);
}

static void reduction_wishes(struct rule *rule, struct wishes *list)
{
    int64_t parts = ir_split_parts(rule->ir, rule->device->processors);
    if (parts > 1) {
        struct rule first =
            *rule; /* the partials' kernel: more rows, shorter (listing 9.4: 128 x 8192) */
        first.r = plan_pow2((ir_axis_size(rule->ir, IR_AXIS_R) + parts - 1) / parts);
        if (rule->ir->hint != IR_HINT_OUTER) first.x = plan_pow2(rule->x * parts);
        looped(&first, list, CHOICE_SPLIT, parts);
    } else if (ir_persistent(rule->ir)) {
        persistent(rule, list);
    } else {
        looped(rule, list, CHOICE_RED, 1);
    }
}

/* On a cpu: a task of some 64 KiB (half an L2; chosen), the widest vectors, four accumulators, all
 * threads unless the data fits one core's cache, where starting a team costs more than it saves
 * (chosen). */
static void cpu_wishes(const struct rule *rule, const struct knobs *knobs, struct wishes *list)
{
    int64_t threads = rule->bytes > 262144 ? rule->device->processors : 1;
    const struct knob *vec = &knobs->knob[KNOB_VEC];
    int64_t widest = vec->value[vec->count - 1], lanes = widest / 4;
    bool reduction = plan_is_reduction(rule->ir),
         rows = reduction && rule->ir->hint != IR_HINT_OUTER;
    int64_t parts = reduction && rule->x < threads ? ir_split_parts(rule->ir, (int)threads) : 1;
    int64_t x = rows ? clamp(16384 / rule->r, 1, 64) : reduction ? 512 : rule->y > 1 ? 64 : 16384;
    struct wish wish = {.form = parts > 1 ? CHOICE_SPLIT : CHOICE_PER,
                        .rsplit = parts,
                        .xblock = x,
                        .yblock = 64,
                        .rblock = rows ? 4 * lanes : 4,
                        .warps = 1,
                        .threads = threads,
                        .vec = widest};
    want(list, wish);
    struct wish other = wish;
    other.xblock = x >= 4 ? x / 4 : 1;
    want(list, other);
    other.xblock = 4 * x;
    want(list, other);
    other = wish;
    other.vec = widest / 2;
    want(list, other);
    other = wish;
    other.rblock *= 2;
    want(list, other);
    other = wish;
    other.threads = threads > 1 ? 1 : rule->device->processors;
    want(list, other);
}

/* ---- the nearest configuration ---- */

static double distance(double a, double b)
{
    return fabs(log2(a > 0 ? a : 0.5) - log2(b > 0 ? b : 0.5));
}

static double cost(const struct space *space, uint64_t config, const struct wish *wish)
{
    static const char *const form[] = {
        [CHOICE_PER] = "per", [CHOICE_RED] = "red", [CHOICE_SPLIT] = "split"};
    const struct {
        const char *name;
        int64_t want;
        double weight; /* chosen: lexicographic in effect, the tile before what moves it */
    } number[] = {
        {"RSPLIT", wish->rsplit, 1e3},      {"XBLOCK", wish->xblock, 10},
        {"YBLOCK", wish->yblock, 10},       {"R0_BLOCK", wish->rblock, 10},
        {"num_warps", wish->warps, 3},      {"VEC", wish->vec, 1},
        {"num_threads", wish->threads, 50}, {"EVICT", 0, 0.1},
    };
    double sum = strcmp(space_text(space, config, "FORM", form[wish->form]), form[wish->form]) == 0
                     ? 0
                     : 1e5;
    const char *finish = wish->finish == PLAN_LAST_BLOCK ? "last_block" : "two_kernel";
    if (strcmp(space_text(space, config, "FINISH", finish), finish) != 0) sum += 1e4;
    for (size_t i = 0; i < STAX_COUNT(number); i++)
        sum += number[i].weight *
               distance((double)space_int(space, config, number[i].name, number[i].want),
                        (double)number[i].want);
    return sum;
}

static uint64_t nearest(const struct space *space, const struct wish *wish)
{
    uint64_t best = 0;
    double least = INFINITY;
    for (uint64_t config = 0; config < space_count(space); config++) {
        double each = cost(space, config, wish);
        if (each < least) least = each, best = config;
    }
    return best;
}

/* "XBLOCK_1=8,VEC_1=16" of a kernel's own configuration. */
static void add_config(struct text *text, const struct space *space, uint64_t config,
                       const char *suffix, struct arena *arena)
{
    for (int p = 0; p < space_params(space); p++)
        text_printf(text, "%s%s%s=%s", text->length > 0 ? "," : "", space_param(space, p)->name,
                    suffix, value_text(space_value(space, config, p), arena));
}

static void kernel_wishes(const struct cg_kernel *cg, const struct device_info *device,
                          const struct knobs *knobs, struct wishes *list)
{
    const struct ir_kernel *ir = &cg->program.kernel[0];
    struct rule rule = {
        .ir = ir, .device = device, .cuda = device->kind == DEVICE_CUDA, .bytes = cg->bytes};
    rule.x = plan_pow2(ir_axis_size(ir, IR_AXIS_X));
    rule.y = plan_pow2(ir_axis_size(ir, IR_AXIS_Y));
    rule.r = plan_pow2(ir_axis_size(ir, IR_AXIS_R));
    for (int n = 0; n < ir->nodes; n++) {
        rule.loads += ir->node[n].op == IR_LOAD;
        rule.reductions += ir->node[n].op == IR_REDUCE;
    }
    if (!rule.cuda)
        cpu_wishes(&rule, knobs, list);
    else if (plan_is_reduction(ir))
        reduction_wishes(&rule, list);
    else if (plan_b_axis(ir) == IR_AXIS_Y)
        pointwise_two(&rule, list);
    else
        pointwise_one(&rule, list);
}

enum stax_status cg_candidates(const struct cg_kernel *cg, const struct device_info *device,
                               const struct space *space, struct cg_candidates *out)
{
    struct arena *arena = arena_create();
    struct text text[7]; /* up to 6 candidates, then the safe one */
    int count = 1;
    for (int i = 0; i < 7; i++) text[i] = text_make(arena);
    enum stax_status status = STAX_OK;
    for (int k = 0; k < cg->program.kernels && status == STAX_OK; k++) {
        struct cg_kernel one =
            *cg; /* kernels share no constraint: each is placed in a space of its own */
        one.program.kernel = &cg->program.kernel[k];
        one.program.kernels = 1;
        struct space *own;
        struct knobs knobs;
        status = cg_space(&one, device, arena, &own);
        if (status == STAX_OK) status = knobs_make(&one, 0, device, arena, &knobs);
        if (status != STAX_OK) break;
        struct wishes list = {0};
        kernel_wishes(&one, device, &knobs, &list);
        if (list.count > count) count = list.count;
        const char *suffix = knob_suffix(cg, k, arena);
        for (int i = 0; i < 6; i++)
            add_config(&text[i], own, nearest(own, &list.wish[i < list.count ? i : 0]), suffix,
                       arena);
        /* Surely fits: few registers (one small tile), no shared memory beyond a partial a warp. */
        struct wish safe = {.form = CHOICE_RED,
                            .rsplit = 1,
                            .xblock = 1,
                            .yblock = 1,
                            .rblock = 1,
                            .warps = 4,
                            .threads = 1,
                            .vec = 1};
        add_config(&text[6], own, nearest(own, &safe), suffix, arena);
    }
    *out = (struct cg_candidates){0};
    for (int i = 0; i < 7 && status == STAX_OK; i++) {
        uint64_t config;
        if (i < 6 && i >= count) continue;
        status = space_parse_config(space, text_string(&text[i]), 0, &config);
        if (status != STAX_OK) break;
        if (i == 6) {
            out->safe = config;
            break;
        }
        bool known = false;
        for (int j = 0; j < out->count; j++) known |= out->config[j] == config;
        if (!known) out->config[out->count++] = config;
    }
    arena_destroy(arena);
    return status;
}
