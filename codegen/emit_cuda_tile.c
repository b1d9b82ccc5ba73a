/* Loads of a two-dimensional pointwise kernel that are contiguous along y (x.T in listing 9.2): a
 * block reads its tile along y, wide and coalesced, turns it in shared memory, and each thread
 * takes its elements along x from there. So both sides touch whole lines.
 *
 * The tile lies as [x][y] with one element of padding a row, which spreads a column over the banks.
 */
#include "codegen/emit_cuda.h"

struct turn {
    int bytes, ve;          /* of an element; elements of a load along y */
    int64_t lx, ly, sx, sy; /* lanes and slots while loading: y first */
    int64_t pitch;          /* elements a row of the tile */
    bool vector;
};

static struct turn turn_of(const struct plan_kernel *k, int n)
{
    struct turn turn = {.bytes = dtype_table[k->program->buffer[k->ir->node[n].buffer].dtype].bytes,
                        .ve = 1};
    int most = k->vector_bytes / turn.bytes;
    for (int ve = most; ve > 1; ve /= 2) /* a single element is picked */
        if (ve <= k->bblock && ve * turn.bytes >= 4 &&
            plan_vector_ok(k->program, k->ir, n, IR_AXIS_Y, ve) && k->bnumel % ve == 0) {
            turn.ve = ve;
            break;
        }
    turn.vector = turn.ve > 1;
    int64_t vectors = k->bblock / turn.ve;
    turn.ly = vectors < k->threads ? vectors : k->threads;
    turn.sy = vectors / turn.ly;
    turn.lx = k->threads / turn.ly < k->xblock ? k->threads / turn.ly : k->xblock;
    turn.sx = k->xblock / turn.lx;
    turn.pitch = k->bblock + 1;
    return turn;
}

bool cuda_turned(const struct plan_kernel *k, int n)
{
    return k->b_axis == IR_AXIS_Y && plan_turned(k->ir, n);
}

static int64_t tile_bytes(const struct plan_kernel *k, int n)
{
    struct turn turn = turn_of(k, n);
    return (k->xblock * turn.pitch * turn.bytes + 15) / 16 * 16;
}

/* Offset of node n's tile; of the end for n = nodes. */
static int64_t tile_place(const struct plan_kernel *k, int n)
{
    int64_t place = 0;
    for (int m = 0; m < n; m++)
        if (cuda_turned(k, m)) place += tile_bytes(k, m);
    return place;
}

int64_t cuda_tile_bytes(const struct plan_kernel *k)
{
    return tile_place(k, k->ir->nodes);
}

/* Loops over the loading slots; tile_x and tile_y are the place in the tile. */
static int open(struct emit *e, const struct turn *turn)
{
    int braces = 1;
    emit_open(e, "{");
    const char *x = "", *y = "";
    if (turn->sx > 1) {
        emit_line(e, "#pragma unroll");
        emit_open(e, "for (int i = 0; i < %lld; i++) {", (long long)turn->sx);
        x = arena_printf(e->arena, " + %lld * i", (long long)turn->lx);
        braces++;
    }
    if (turn->sy > 1) {
        emit_line(e, "#pragma unroll");
        emit_open(e, "for (int j = 0; j < %lld; j++) {", (long long)turn->sy);
        y = arena_printf(e->arena, " + %lld * j", (long long)turn->ly);
        braces++;
    }
    const char *wrap = turn->lx * turn->ly < e->k->threads
                           ? arena_printf(e->arena, " %% %lld", (long long)turn->lx)
                           : "";
    emit_line(e, "const int tile_x = (int)threadIdx.x / %lld%s%s;", (long long)turn->ly, wrap, x);
    emit_line(e, "const int tile_y = ((int)threadIdx.x %% %lld%s) * %d;", (long long)turn->ly, y,
              turn->ve);
    return braces;
}

static void close(struct emit *e, int braces)
{
    while (braces-- > 0) emit_close(e, "}");
}

static const char *words(struct emit *e, const struct turn *turn, int n)
{
    return arena_printf(e->arena, "raw%d%s%s", n, turn->sx > 1 ? "[i]" : "",
                        turn->sy > 1 ? "[j]" : "");
}

void cuda_tile_load(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    const struct ir_node *node = &k->ir->node[n];
    struct turn turn = turn_of(k, n);
    const char *type = emit_size_type(e);
    unsigned dims = plan_index_dims(node->index);
    struct text extent = text_make(e->arena), when = text_make(e->arena);
    if (turn.sx > 1) text_printf(&extent, "[%lld]", (long long)turn.sx);
    if (turn.sy > 1) text_printf(&extent, "[%lld]", (long long)turn.sy);
    emit_line(e, "unsigned raw%d%s[%d];", n, text_string(&extent), (turn.bytes * turn.ve + 3) / 4);
    int braces = open(e, &turn);
    emit_line(e, "const %s xindex = xoffset + tile_x;", type);
    emit_line(e, "const %s yindex = yoffset + tile_y;", type);
    emit_dims(e, IR_AXIS_X, dims, "xindex");
    emit_dims(e, IR_AXIS_Y, dims, "yindex");
    if (cuda_masked_x(k)) text_add(&when, "xindex < xnumel");
    if (cuda_masked_b(k)) text_printf(&when, "%syindex < ynumel", when.length > 0 ? " && " : "");
    if (when.length > 0 || !turn.vector) emit_line(e, "st_clear(%s);", words(e, &turn, n));
    const char *test = when.length > 0 ? arena_printf(e->arena, "if (%s) ", text_string(&when))
                                       : "";
    const char *address = arena_printf(e->arena, "%s + (%s)", e->argument[node->buffer],
                                       emit_index(e, node->index));
    if (turn.vector)
        emit_line(e, "%sst_load%s(%s, %s);", test, k->evict ? "_first" : "", words(e, &turn, n),
                  address);
    else
        emit_line(e, "%sst_pick<%d>(%s, 0, %s);", test, turn.bytes, words(e, &turn, n), address);
    close(e, braces);
}

void cuda_tile_put(struct emit *e, int n)
{
    struct turn turn = turn_of(e->k, n);
    int braces = open(e, &turn);
    const char *element = "0";
    if (turn.ve > 1) {
        emit_line(e, "#pragma unroll");
        emit_open(e, "for (int e = 0; e < %d; e++) {", turn.ve);
        element = "e";
        braces++;
    }
    emit_line(e, "st_tile_put<%d>(st_shared + %lld, tile_x * %lld + tile_y + %s, %s, %s);",
              turn.bytes, (long long)tile_place(e->k, n), (long long)turn.pitch, element,
              words(e, &turn, n), element);
    close(e, braces);
}

void cuda_tile_get(struct emit *e, int n)
{
    const struct plan_kernel *k = e->k;
    struct turn turn = turn_of(k, n);
    const char *x = k->sx > 1 ? arena_printf(e->arena, "(lane_x + %lld * i)", (long long)k->lx)
                              : "lane_x";
    const char *y = k->sb > 1 ? arena_printf(e->arena, "(lane_b + %lld * j)", (long long)k->lb)
                              : "lane_b";
    if (k->ve > 1) x = arena_printf(e->arena, "(%s * %d + e)", x, k->ve);
    emit_line(e, "unsigned raw%d[%d];", n, (turn.bytes + 3) / 4);
    emit_line(e, "st_tile_get<%d>(raw%d, st_shared + %lld, %s * %lld + %s);", turn.bytes, n,
              (long long)tile_place(k, n), x, (long long)turn.pitch, y);
}
