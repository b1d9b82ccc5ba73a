/* Folds of the CUDA printer: a lane's accumulators, then lanes of a warp by shuffles, then warps
 * through shared memory, in a fixed order, so that one configuration gives the same bits every
 * time. Every thread gets the result: later levels need it.
 *
 * Shared memory holds two buffers, used in turn by the levels: a buffer is written again only two
 * barriers after its last read. */
#include "codegen/emit_cuda.h"

/* Warps that share one row (inner) or one column (outer), and partials of one column that meet in
 * shared memory. */
static int64_t parts_in_shared(const struct plan_kernel *k)
{
    int64_t lanes_in_warp;
    if (k->vec_x)
        lanes_in_warp = k->lx >= 32 ? 1 : 32 / k->lx; /* of one column */
    else
        lanes_in_warp = 32;
    return k->lb <= lanes_in_warp ? 1 : k->lb / lanes_in_warp;
}

static int reductions_at(const struct plan_kernel *k, int level)
{
    int count = 0;
    for (int n = 0; n < k->ir->nodes; n++)
        count += k->ir->node[n].op == IR_REDUCE && k->ir->node[n].level == level;
    return count;
}

static int widest(const struct plan_kernel *k)
{
    int bytes = 4;
    for (int n = 0; n < k->ir->nodes; n++)
        if (k->ir->node[n].op == IR_REDUCE &&
            dtype_table[dtype_compute(k->ir->node[n].dtype)].bytes > bytes)
            bytes = 8;
    return bytes;
}

/* Bytes of one reduction's partials: a value a part and column (row) of the tile. */
static int64_t reduction_bytes(const struct plan_kernel *k)
{
    if (k->ir->levels == 0 || parts_in_shared(k) == 1) return 0;
    return parts_in_shared(k) * k->lx * k->sx * (k->vec_x ? k->ve : 1) * widest(k);
}

static int64_t buffer_bytes(const struct plan_kernel *k)
{
    int most = 0;
    for (int level = 1; level <= k->ir->levels; level++)
        if (reductions_at(k, level) > most) most = reductions_at(k, level);
    return (most * reduction_bytes(k) + 15) / 16 * 16;
}

/* The last block's ticket goes to every warp that folds; one warp alone shuffles it. */
static bool ticket_in_shared(const struct plan_kernel *k)
{
    return k->fold != NULL && k->fold->threads > 32;
}

int64_t cuda_shared_bytes(const struct plan_kernel *k)
{
    int64_t bytes = buffer_bytes(k) * (k->ir->levels > 1 ? 2 : 1);
    if (cuda_tile_bytes(k) > bytes)
        bytes = cuda_tile_bytes(k); /* only kernels without reductions turn tiles */
    if (k->fold != NULL && cuda_shared_bytes(k->fold) > bytes) bytes = cuda_shared_bytes(k->fold);
    return bytes + (ticket_in_shared(k) ? 16 : 0);
}

/* v = combine(v, shuffled v) over lane distances [from, to). */
static void shuffle(struct emit *e, const struct ir_node *node, int64_t from, int64_t to)
{
    if (to <= from) return;
    const char *other = "__shfl_xor_sync(0xffffffffu, v, d)";
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int d = %lld; d >= %lld; d /= 2) v = %s;", (long long)(to / 2),
              (long long)from, emit_combine(e, node, "v", other));
}

/* One reduction: accumulators to v, shuffled; then either to tmpN or into shared memory. */
static void fold_lanes(struct emit *e, int n, int64_t place)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    const char *type = emit_type(e, node->dtype);
    int64_t parts = parts_in_shared(k);
    struct scope scope = emit_cuda_open(e, true, false, 0, 0);
    if (k->vec_x) {
        cuda_elements(e, &scope, 0);
        emit_line(e, "%s v = _tmp%d%s;", type, n, cuda_subscript(e, true, false, true));
        int64_t in_warp = k->lx * k->lb < 32 ? k->lx * k->lb : 32;
        shuffle(e, node, k->lx, in_warp);
    } else {
        const char *acc = arena_printf(e->arena, "_tmp%d%s", n,
                                       cuda_subscript(e, true, false, false));
        emit_line(e, "%s v = %s%s;", type, acc, k->ve > 1 ? "[0]" : "");
        if (k->ve > 1) {
            emit_line(e, "#pragma unroll");
            emit_line(e, "for (int e = 1; e < %d; e++) v = %s;", k->ve,
                      emit_combine(e, node, "v", arena_printf(e->arena, "%s[e]", acc)));
        }
        shuffle(e, node, 1, k->lb < 32 ? k->lb : 32);
    }
    if (parts == 1) {
        emit_line(e, "tmp%d%s = v;", n, cuda_subscript(e, true, false, k->vec_x));
    } else {
        /* place of (part, column): columns fastest, so that neighbouring lanes meet no bank twice
         */
        int ve = k->vec_x ? k->ve : 1;
        int64_t columns = k->lx * k->sx * ve, share = k->lb / parts;
        const char *column = arena_printf(
            e->arena, "(lane_x%s)%s%s",
            k->sx > 1 ? arena_printf(e->arena, " + %lld * i", (long long)k->lx) : "",
            ve > 1 ? arena_printf(e->arena, " * %d", ve) : "", ve > 1 ? " + e" : "");
        const char *part = share > 1 ? arena_printf(e->arena, "lane_b / %lld", (long long)share)
                                     : "lane_b";
        const char *leader = share > 1 ? arena_printf(e->arena, "if (lane_b %% %lld == 0) ",
                                                      (long long)share)
                                       : "";
        emit_line(e, "%s((%s *)(st_shared + %lld))[%s * %lld + %s] = v;", leader, type,
                  (long long)place, part, (long long)columns, column);
    }
    cuda_close(e, &scope);
}

static void fold_shared(struct emit *e, int n, int64_t place)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    const char *type = emit_type(e, node->dtype);
    int64_t parts = parts_in_shared(k);
    int ve = k->vec_x ? k->ve : 1;
    int64_t columns = k->lx * k->sx * ve;
    struct scope scope = emit_cuda_open(e, true, false, 0, 0);
    if (k->vec_x) cuda_elements(e, &scope, 0);
    const char *column = arena_printf(
        e->arena, "(lane_x%s)%s%s",
        k->sx > 1 ? arena_printf(e->arena, " + %lld * i", (long long)k->lx) : "",
        ve > 1 ? arena_printf(e->arena, " * %d", ve) : "", ve > 1 ? " + e" : "");
    emit_line(e, "const %s *p = (const %s *)(st_shared + %lld) + %s;", type, type, (long long)place,
              column);
    emit_line(e, "%s v = p[0];", type);
    emit_line(e, "#pragma unroll");
    emit_line(
        e, "for (int part = 1; part < %lld; part++) v = %s;", (long long)parts,
        emit_combine(e, node, "v", arena_printf(e->arena, "p[part * %lld]", (long long)columns)));
    emit_line(e, "tmp%d%s = v;", n, cuda_subscript(e, true, false, k->vec_x));
    cuda_close(e, &scope);
}

void cuda_fold_level(struct emit *e, int level)
{
    const struct plan_kernel *k = e->k;
    bool shared = parts_in_shared(k) > 1;
    int64_t first = level % 2 == 0 ? buffer_bytes(k) : 0, place = first;
    for (int n = 0; n < k->ir->nodes; n++) {
        if (k->ir->node[n].op != IR_REDUCE || k->ir->node[n].level != level) continue;
        emit_line(e, "%s tmp%d%s;", emit_type(e, k->ir->node[n].dtype), n,
                  cuda_extent(e, true, false, k->vec_x));
        fold_lanes(e, n, place);
        place += reduction_bytes(k);
    }
    if (!shared) return;
    emit_line(e, "__syncthreads();");
    place = first;
    for (int n = 0; n < k->ir->nodes; n++) {
        if (k->ir->node[n].op != IR_REDUCE || k->ir->node[n].level != level) continue;
        fold_shared(e, n, place);
        place += reduction_bytes(k);
    }
}

/* The last block of a group to arrive folds the parts; the counter is left at zero for the next
 * call. One thread takes the ticket with release and acquire at device scope, which the barriers
 * extend to the block (PTX memory model, causality order); so no thread waits on a fence of its
 * own. Where one warp folds, the others leave at once. */
void cuda_last_block(struct emit *e)
{
    const struct plan_kernel *k = e->k, *fold = k->fold;
    const char *type = emit_size_type(e);
    int64_t parts = fold->bnumel;
    int64_t blocks = k->vec_x ? parts : parts / k->xblock;
    bool one_warp = !ticket_in_shared(k);
    const char *group = arena_printf(e->arena, "xoffset / %lld",
                                     (long long)(k->vec_x ? k->xblock : parts));
    emit_open(e, "{");
    emit_line(e, "const %s group = %s;", type, group);
    if (k->xblock > 1)
        emit_line(e, "__syncthreads();"); /* else thread 0 itself stored the one partial */
    if (one_warp) {
        if (k->threads > 32) emit_line(e, "if (threadIdx.x >= 32) return;");
        emit_line(e, "unsigned ticket = 0;");
        emit_line(e, "if (threadIdx.x == 0) ticket = st_ticket(counter + group);");
        emit_line(e, "ticket = __shfl_sync(0xffffffffu, ticket, 0);");
    } else {
        const char *place = arena_printf(e->arena, "*(unsigned *)(st_shared + %lld)",
                                         (long long)cuda_shared_bytes(k) - 16);
        emit_line(e, "if (threadIdx.x == 0) %s = st_ticket(counter + group);", place);
        emit_line(e, "__syncthreads();");
        emit_line(e, "const unsigned ticket = %s;", place);
    }
    emit_line(e, "if (ticket != %lld) return;", (long long)(blocks - 1));
    emit_line(e, "if (threadIdx.x == 0) counter[group] = 0;");
    emit_line(e, "const %s first = %s;", type, k->vec_x ? "xoffset" : "group");
    emit_open(e, "{");
    e->k = fold;
    e->in_fold = true;
    emit_line(e, "const %s xoffset = first;", emit_size_type(e));
    cuda_constants(e);
    cuda_lanes(e);
    cuda_body(e);
    e->in_fold = false;
    e->k = k;
    emit_close(e, "}");
    emit_close(e, "}");
}
