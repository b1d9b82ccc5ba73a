/* Trees with equal subtrees shared.
 *
 * Depth first over the levels of a group. Behind each level stands a state: the slots that later
 * levels still read. A state met before has its subtree already (a table a level, skipped where the
 * state is the whole path, which never comes again). A finished node is looked up by its edges, so
 * that subtrees that turn out equal are one: memory grows with the distinct subtrees, not with the
 * configurations. */
#include <stdlib.h>
#include <string.h>

#include "base/space_impl.h"

enum {
    BEHIND = 0,
    DEAD = 1
}; /* the node behind the last level, and the one without configurations */

static const uint64_t STEPS_MOST =
    4000000000u; /* level steps before giving up: about a minute (chosen) */

struct states { /* of one level: key words to node */
    int words;
    bool used;
    uint32_t count, slots; /* slots: a power of two, of `at` */
    uint32_t capacity;
    uint64_t *keys; /* count x words */
    uint32_t *nodes;
    uint32_t *at; /* number + 1 of a key, 0 for empty */
};

struct builder {
    struct space *space;
    struct arena *arena; /* scratch */
    struct program program;
    struct states *states;
    uint64_t *key; /* of the state being looked up */
    int **list;    /* by level: room for the values left by narrowing */
    uint64_t steps;
    bool overflow, too_many;
    struct space_node *nodes;
    uint32_t node_count, node_capacity;
    struct space_edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t *table; /* of nodes by their edges; number or 0 */
    uint32_t table_slots;
    struct space_edge *open; /* edges of the nodes being built, as a stack */
    uint32_t open_count, open_capacity;
};

static void *room(struct builder *b, void *array, uint32_t count, uint32_t *capacity, size_t each)
{
    if (count < *capacity) {
        return array;
    }
    STAX_CHECK(*capacity < UINT32_MAX / 2);
    *capacity = *capacity ? 2 * *capacity : 64;
    return arena_grow(b->arena, array, count, *capacity, each);
}

static void open_edge(struct builder *b, int value, uint32_t child)
{
    b->open = room(b, b->open, b->open_count, &b->open_capacity, sizeof *b->open);
    b->open[b->open_count++] = (struct space_edge){.value = (uint32_t)value, .child = child};
}

static uint64_t hash_edges(const struct space_edge *edges, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = rng_mix(hash ^ ((uint64_t)edges[i].value << 32 | edges[i].child));
    }
    return hash;
}

static bool same_edges(const struct space_edge *a, const struct space_edge *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].value != b[i].value || a[i].child != b[i].child) {
            return false;
        }
    }
    return true;
}

static void grow_table(struct builder *b)
{
    b->table_slots = b->table_slots ? 2 * b->table_slots : 256;
    b->table = ARENA_ARRAY(b->arena, uint32_t, b->table_slots);
    for (uint32_t n = DEAD + 1; n < b->node_count; n++) {
        const struct space_node *node = &b->nodes[n];
        uint64_t at = hash_edges(&b->edges[node->first], node->edges);
        while (b->table[at & (b->table_slots - 1)]) {
            at++;
        }
        b->table[at & (b->table_slots - 1)] = n;
    }
}

/* Closes the node whose edges are open from `first` on: the one that is there already, or a new
 * one. */
static uint32_t close_node(struct builder *b, uint32_t first)
{
    const struct space_edge *edges = &b->open[first];
    uint32_t count = b->open_count - first;
    b->open_count = first;
    if (count == 0) {
        return DEAD;
    }
    if (2 * b->node_count >= b->table_slots) {
        grow_table(b);
    }
    uint64_t at = hash_edges(edges, count);
    for (uint32_t n; (n = b->table[at & (b->table_slots - 1)]) != 0; at++) {
        const struct space_node *node = &b->nodes[n];
        if (node->edges == count && same_edges(&b->edges[node->first], edges, count)) {
            return n;
        }
    }
    struct space_node node = {.first = b->edge_count, .edges = count};
    for (uint32_t i = 0; i < count; i++) {
        b->edges = room(b, b->edges, b->edge_count, &b->edge_capacity, sizeof *b->edges);
        struct space_edge *edge = &b->edges[b->edge_count++];
        *edge = edges[i];
        edge->before = node.count;
        b->overflow |= __builtin_add_overflow(node.count, b->nodes[edge->child].count, &node.count);
    }
    b->nodes = room(b, b->nodes, b->node_count, &b->node_capacity, sizeof *b->nodes);
    b->nodes[b->node_count] = node;
    b->table[at & (b->table_slots - 1)] = b->node_count;
    return b->node_count++;
}

static void start_nodes(struct builder *b)
{
    b->nodes = room(b, b->nodes, 0, &b->node_capacity, sizeof *b->nodes);
    b->nodes[BEHIND] = (struct space_node){.count = 1};
    b->nodes[DEAD] = (struct space_node){0};
    b->node_count = 2;
}

/* Copies the finished tree out of the scratch arena, at its exact size. */
static enum stax_status take_tree(struct builder *b, uint32_t root, const int *order, int levels,
                                  struct space_tree *tree)
{
    struct space *space = b->space;
    if (b->overflow) {
        STAX_RETURN(STAX_LIMIT, "space %s has more than 2^64 valid configurations", space->name);
    }
    size_t node_bytes = b->node_count * sizeof *b->nodes,
           edge_bytes = b->edge_count * sizeof *b->edges;
    *tree = (struct space_tree){.levels = levels, .root = root, .count = b->nodes[root].count};
    tree->params = arena_copy(space->arena, order, (size_t)levels * sizeof *order);
    tree->nodes = arena_copy(space->arena, b->nodes, node_bytes);
    tree->edges = arena_copy(space->arena, b->edges, edge_bytes);
    space->bytes += sizeof *tree + (size_t)levels * sizeof *order + node_bytes + edge_bytes;
    return STAX_OK;
}

/* The key of the state behind a level: its slots, then one bit each for the bad ones (whose cells
 * mean nothing). */
static void write_key(struct builder *b, int level)
{
    const struct program *p = &b->program;
    int count = p->keep_count[level], words = b->states[level].words;
    for (int i = count; i < words; i++) {
        b->key[i] = 0;
    }
    for (int i = 0; i < count; i++) {
        int slot = p->keeps[level][i];
        b->key[i] = p->bad[slot] ? 0 : (uint64_t)p->cell[slot].i;
        b->key[count + i / 64] |= (uint64_t)(p->bad[slot] != 0) << (i % 64);
    }
}

static uint64_t hash_key(const uint64_t *key, int words)
{
    uint64_t hash = 0;
    for (int i = 0; i < words; i++) {
        hash = rng_mix(hash ^ key[i]);
    }
    return hash;
}

static void grow_states(struct builder *b, struct states *s)
{
    s->slots = s->slots ? 2 * s->slots : 64;
    s->at = ARENA_ARRAY(b->arena, uint32_t, s->slots);
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t at = hash_key(&s->keys[(size_t)i * (size_t)s->words], s->words);
        while (s->at[at & (s->slots - 1)]) {
            at++;
        }
        s->at[at & (s->slots - 1)] = i + 1;
    }
}

/* The number of the current state behind a level; `*fresh` when it was not met before. */
static uint32_t find_state(struct builder *b, int level, bool *fresh)
{
    struct states *s = &b->states[level];
    size_t words = (size_t)s->words;
    write_key(b, level);
    if (2 * s->count >= s->slots) {
        grow_states(b, s);
    }
    uint64_t at = hash_key(b->key, s->words);
    for (uint32_t n; (n = s->at[at & (s->slots - 1)]) != 0; at++) {
        if (memcmp(&s->keys[(n - 1) * words], b->key, words * sizeof *b->key) == 0) {
            *fresh = false;
            return n - 1;
        }
    }
    if (s->count == s->capacity) {
        uint32_t capacity = s->capacity ? 2 * s->capacity : 64;
        s->keys = arena_grow(b->arena, s->keys, s->count * words, capacity * words,
                             sizeof *s->keys);
        s->nodes = arena_grow(b->arena, s->nodes, s->count, capacity, sizeof *s->nodes);
        s->capacity = capacity;
    }
    memcpy(&s->keys[s->count * words], b->key, words * sizeof *b->key);
    s->at[at & (s->slots - 1)] = s->count + 1;
    *fresh = true;
    return s->count++;
}

static uint32_t build(struct builder *b, int level);

/* Behind the present level: the subtree of a state met before, or a new one. */
static uint32_t build_behind(struct builder *b, int level)
{
    if (!b->states[level].used) {
        return build(b, level + 1);
    }
    bool fresh;
    uint32_t state = find_state(b, level, &fresh);
    if (fresh) {
        uint32_t child = build(b, level + 1);
        b->states[level].nodes[state] = child;
    }
    return b->states[level].nodes[state];
}

static uint32_t build(struct builder *b, int level)
{
    struct program *p = &b->program;
    if (level == p->levels) {
        return BEHIND;
    }
    int param = p->order[level], limits[2], used;
    const union cell *cells = p->value_cells[level];
    uint32_t first = b->open_count;
    bool listed = program_narrow(p, level, limits, b->list[level], &used);
    int from = listed ? 0 : limits[0], to = listed ? used : limits[1];
    b->steps += (uint64_t)(to > from ? to - from : 0) + 1;
    b->too_many = b->too_many || b->steps > STEPS_MOST;
    for (int i = from; i < to && !b->too_many; i++) {
        int v = listed ? b->list[level][i] : i;
        p->chosen[param] = v;
        p->cell[level] = cells ? cells[v] : (union cell){.i = v};
        if (!program_run(p, level)) {
            continue;
        }
        uint32_t child = build_behind(b, level);
        if (child != DEAD) {
            open_edge(b, v, child);
        }
    }
    return close_node(b, first);
}

static void start_states(struct builder *b)
{
    const struct program *p = &b->program;
    int most = 1;
    b->states = ARENA_ARRAY(b->arena, struct states, p->levels);
    for (int level = 0; level < p->levels; level++) {
        int parameters = 0, kept = p->keep_count[level];
        for (int i = 0; i < kept; i++) {
            parameters += p->keeps[level][i] < p->levels;
        }
        b->states[level].words = kept + (kept + 63) / 64;
        b->states[level].used = parameters <= level && level + 1 < p->levels;
        most = b->states[level].words > most ? b->states[level].words : most;
    }
    b->key = ARENA_ARRAY(b->arena, uint64_t, most);
    b->list = ARENA_ARRAY(b->arena, int *, p->levels);
    for (int level = 0; level < p->levels; level++) {
        b->list[level] = ARENA_ARRAY(b->arena, int, b->space->params[p->order[level]].count);
    }
}

enum stax_status space_build_tree(struct space *space, const struct space_split *split, int group,
                                  struct space_tree *tree)
{
    struct arena *scratch = arena_create();
    struct builder b = {.space = space, .arena = scratch};
    int order[SPACE_PARAMS], chosen[SPACE_PARAMS] = {0};
    int levels = space_order(space, split, group, scratch, order);
    program_compile(space, split, group, order, levels, chosen, scratch, &b.program);
    start_nodes(&b);
    start_states(&b);
    uint32_t root = build(&b, 0);
    enum stax_status status;
    if (b.too_many) {
        status = status_set(STAX_LIMIT,
                            "space %s: the constraints on `%s` and the parameters beside it "
                            "couple too many values to count: split them or give fewer",
                            space->name, space->params[order[0]].name);
    } else {
        status = take_tree(&b, root, order, levels, tree);
    }
    if (b.program.warning && !space->warning) {
        space->warning = arena_text(space->arena, b.program.warning);
    }
    arena_destroy(scratch);
    return status;
}

struct rows {
    struct builder *builder;
    const int *rows; /* sorted */
    int width;
};

static uint32_t build_rows(struct rows *r, int level, uint64_t from, uint64_t to)
{
    if (level == r->width) {
        return BEHIND;
    }
    uint32_t first = r->builder->open_count;
    const int *column = r->rows + level;
    size_t width = (size_t)r->width;
    while (from < to) {
        int value = column[from * width];
        uint64_t next = from;
        while (next < to && column[next * width] == value) {
            next++;
        }
        uint32_t child = build_rows(r, level + 1, from, next);
        open_edge(r->builder, value, child);
        from = next;
    }
    return close_node(r->builder, first);
}

/* A least-significant-column radix sort: the values are indices, so counting beats comparing. */
static int *sort_rows(const struct space *space, struct arena *arena)
{
    size_t width = (size_t)space->count, count = space->row_count;
    int *rows = arena_copy(arena, space->rows, count * width * sizeof *rows);
    int *other = ARENA_ARRAY(arena, int, count *width);
    for (size_t column = width; column-- > 0;) {
        int values = space->params[column].count;
        uint64_t *start = ARENA_ARRAY(arena, uint64_t, values + 1);
        for (size_t row = 0; row < count; row++) {
            int value = rows[row * width + column];
            STAX_CHECK(value >= 0 && value < values);
            start[value + 1]++;
        }
        for (int value = 0; value < values; value++) {
            start[value + 1] += start[value];
        }
        for (size_t row = 0; row < count; row++) {
            uint64_t to = start[rows[row * width + column]]++;
            memcpy(&other[to * width], &rows[row * width], width * sizeof *rows);
        }
        int *swap = rows;
        rows = other;
        other = swap;
    }
    return rows;
}

enum stax_status space_build_rows(struct space *space, struct space_tree *tree)
{
    struct arena *scratch = arena_create();
    struct builder b = {.space = space, .arena = scratch};
    struct rows r = {.builder = &b, .rows = sort_rows(space, scratch), .width = space->count};
    int order[SPACE_PARAMS];
    for (int p = 0; p < space->count; p++) {
        order[p] = p;
    }
    start_nodes(&b);
    uint32_t root = space->row_count ? build_rows(&r, 0, 0, space->row_count) : DEAD;
    enum stax_status status = take_tree(&b, root, order, space->count, tree);
    arena_destroy(scratch);
    return status;
}
