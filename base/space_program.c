/* The slots of a program, and which level does and keeps what; see space_impl.h. */
#include <string.h>

#include "base/expr_value.h"
#include "base/space_slots.h"

int slot_add(struct program *p, struct slot slot, struct slot_more more, union cell cell)
{
    if (p->slots == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 64;
        size_t used = (size_t)p->slots, next = (size_t)capacity;
        p->slot = arena_grow(p->arena, p->slot, used, next, sizeof *p->slot);
        p->more = arena_grow(p->arena, p->more, used, next, sizeof *p->more);
        p->cell = arena_grow(p->arena, p->cell, used, next, sizeof *p->cell);
        p->bad = arena_grow(p->arena, p->bad, used, next, 1);
        p->tested = arena_grow(p->arena, p->tested, used, next, sizeof *p->tested);
        p->capacity = capacity;
    }
    p->slot[p->slots] = slot;
    p->more[p->slots] = more;
    p->cell[p->slots] = cell;
    return p->slots++;
}

int slot_make(struct program *p, enum slot_code code, enum slot_type type, int a, int b, int c)
{
    int level = -1;
    const int operands[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        if (operands[i] >= 0 && p->more[operands[i]].level > level) {
            level = p->more[operands[i]].level;
        }
    }
    for (int i = 0; i < p->slots; i++) {
        const struct slot *slot = &p->slot[i];
        if (slot->code == code && slot->a == a && slot->b == b && slot->c == c) {
            return i;
        }
    }
    return slot_add(p, (struct slot){code, a, b, c},
                    (struct slot_more){.type = type, .level = level}, (union cell){0});
}

int slot_constant(struct program *p, enum slot_type type, union cell cell)
{
    for (int i = 0; i < p->slots; i++) {
        if (p->slot[i].code == SLOT_CONST && p->more[i].type == type && p->cell[i].i == cell.i) {
            return i;
        }
    }
    return slot_add(p, (struct slot){SLOT_CONST, NONE, NONE, NONE},
                    (struct slot_more){.type = type, .level = -1}, cell);
}

int slot_int(struct program *p, int64_t i)
{
    return slot_constant(p, SLOT_INT, (union cell){.i = i});
}

int program_text(struct program *p, const char *text)
{
    for (int i = 0; i < p->text_count; i++) {
        if (strcmp(p->texts[i], text) == 0) {
            return i;
        }
    }
    if (p->text_count == p->text_capacity) {
        p->text_capacity = p->text_capacity ? 2 * p->text_capacity : 16;
        p->texts = arena_grow(p->arena, p->texts, (size_t)p->text_count, (size_t)p->text_capacity,
                              sizeof *p->texts);
    }
    p->texts[p->text_count] = arena_text(p->arena, text);
    return p->text_count++;
}

/* The slot type that holds all values of a parameter, and those as cells. Integers beside floats
 * become floats where that is exact; other mixtures cannot be held. */
static bool parameter_cells(struct program *p, const struct param *param, enum slot_type *type,
                            union cell *cells)
{
    const int64_t exact = (int64_t)1 << 53;
    int floats = 0, bools = 0, texts = 0, large = 0;
    for (int v = 0; v < param->count; v++) {
        const struct value *value = &param->values[v];
        floats += value->kind == VALUE_FLOAT;
        bools += value->kind == VALUE_BOOL;
        texts += value->kind == VALUE_TEXT;
        large += value->kind == VALUE_INT && (value->i > exact || value->i < -exact);
        if (value->kind == VALUE_LIST) {
            return false;
        }
    }
    bool mixed = (texts && texts < param->count) || (bools && bools < param->count);
    if (mixed || (floats && large)) {
        return false;
    }
    *type = texts ? SLOT_TEXT : floats ? SLOT_FLOAT : bools == param->count ? SLOT_BOOL : SLOT_INT;
    for (int v = 0; v < param->count; v++) {
        const struct value *value = &param->values[v];
        if (texts) {
            cells[v].i = program_text(p, value->text);
        } else if (floats) {
            cells[v].f = value_number(value);
        } else {
            cells[v].i = value->i;
        }
    }
    return true;
}

static void add_parameters(struct program *p)
{
    p->value_cells = ARENA_ARRAY(p->arena, const union cell *, p->levels);
    for (int level = 0; level < p->levels; level++) {
        const struct param *param = &p->space->params[p->order[level]];
        union cell *cells = ARENA_ARRAY(p->arena, union cell, param->count);
        enum slot_type type = SLOT_INT;
        /* Where values cannot be held, the cell is the value's index: the parameter's identity for
         * states. */
        bool held = parameter_cells(p, param, &type, cells);
        p->value_cells[level] = held ? cells : NULL;
        slot_add(p, (struct slot){SLOT_PARAM, p->order[level], NONE, NONE},
                 (struct slot_more){.type = type, .level = level}, (union cell){0});
    }
}

/* Marks what a tested slot needs and puts it into the steps of its level, operands first. */
static void schedule(struct program *p, int slot, bool *done)
{
    if (slot < 0 || done[slot]) {
        return;
    }
    done[slot] = true;
    const struct slot *s = &p->slot[slot];
    if (s->code == SLOT_PARAM || s->code == SLOT_CONST) {
        return;
    }
    schedule(p, s->a, done);
    schedule(p, s->b, done);
    schedule(p, s->c, done);
    int at = p->more[slot].level + 1;
    p->steps[at][p->step_count[at]++] = slot;
}

static void find_kept(struct program *p, const bool *done)
{
    int *last_use = ARENA_ARRAY(p->arena, int, p->slots); /* the latest level that reads a slot */
    for (int i = 0; i < p->slots; i++) {
        last_use[i] = -1;
    }
    for (int i = 0; i < p->slots; i++) {
        if (!done[i] || p->slot[i].code == SLOT_PARAM) {
            continue;
        }
        const int operands[] = {p->slot[i].a, p->slot[i].b, p->slot[i].c};
        for (int k = 0; k < 3 + p->more[i].use_count; k++) {
            int operand = k < 3 ? operands[k] : p->more[i].uses[k - 3];
            if (operand >= 0 && p->more[i].level > last_use[operand]) {
                last_use[operand] = p->more[i].level;
            }
        }
    }
    p->keeps = ARENA_ARRAY(p->arena, int *, p->levels);
    p->keep_count = ARENA_ARRAY(p->arena, int, p->levels);
    for (int level = 0; level < p->levels; level++) {
        p->keeps[level] = ARENA_ARRAY(p->arena, int, p->slots);
        for (int i = 0; i < p->slots; i++) {
            if (p->more[i].level >= 0 && p->more[i].level <= level && last_use[i] > level) {
                p->keeps[level][p->keep_count[level]++] = i;
            }
        }
    }
}

static void release_arena(void *moment)
{
    arena_destroy(moment);
}

void program_compile(const struct space *space, const struct space_split *split, int group,
                     const int *order, int levels, int *chosen, struct arena *arena,
                     struct program *p)
{
    *p = (struct program){.space = space, .arena = arena, .levels = levels, .order = order};
    p->chosen = chosen;
    p->moment = arena_create();
    arena_defer(arena, release_arena, p->moment);
    add_parameters(p);
    int *decided = ARENA_ARRAY(arena, int, split->conjuncts), count = 0;
    for (int c = 0; c < split->conjuncts; c++) {
        const struct space_conjunct *conjunct = &split->conjunct[c];
        bool ours = false;
        for (int level = 0; level < levels; level++) {
            ours = ours || space_has(&conjunct->params, order[level]);
        }
        if (!ours) {
            continue;
        }
        STAX_CHECK(split->group_of[order[0]] == group);
        int slot = program_truth(p, conjunct->expr);
        if (slot == NONE) {
            slot = program_eval(p, conjunct->expr, SLOT_EVAL, SLOT_BOOL);
        }
        STAX_CHECK(p->more[slot].level >= 0);
        p->tested[slot] = conjunct->expr;
        decided[count++] = slot;
    }
    /* steps[0] holds the constants until they have run once; then the levels move down by one. */
    bool *done = ARENA_ARRAY(arena, bool, p->slots);
    p->steps = ARENA_ARRAY(arena, int *, levels + 1);
    p->step_count = ARENA_ARRAY(arena, int, levels + 1);
    for (int level = 0; level <= levels; level++) {
        p->steps[level] = ARENA_ARRAY(arena, int, p->slots + count);
    }
    for (int level = 0; level < levels;
         level++) { /* what is decided here comes first, each with its test */
        for (int i = 0; i < count; i++) {
            if (p->more[decided[i]].level == level) {
                schedule(p, decided[i], done);
                p->steps[level + 1][p->step_count[level + 1]++] = ~decided[i];
            }
        }
    }
    program_run(p, 0);
    p->steps++;
    p->step_count++;
    find_kept(p, done);
}
