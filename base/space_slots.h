/* Private to space_program.c and space_compile.c: slots by name. */
#ifndef STAX_BASE_SPACE_SLOTS_H
#define STAX_BASE_SPACE_SLOTS_H

#include "base/space_impl.h"

enum { NONE = -1 }; /* no slot: not expressible */

int slot_add(struct program *p, struct slot slot, struct slot_more more, union cell cell);
/* The slot of an operation: the one that is there, or a new one at the latest level of its
 * operands. */
int slot_make(struct program *p, enum slot_code code, enum slot_type type, int a, int b, int c);
int slot_constant(struct program *p, enum slot_type type, union cell cell);
int slot_int(struct program *p, int64_t i);

static inline enum slot_type slot_type_of(const struct program *p, int slot)
{
    return p->more[slot].type;
}

static inline bool slot_is_whole(const struct program *p, int slot)
{
    return slot_type_of(p, slot) == SLOT_INT || slot_type_of(p, slot) == SLOT_BOOL;
}

static inline bool slot_is_number(const struct program *p, int slot)
{
    return slot_is_whole(p, slot) || slot_type_of(p, slot) == SLOT_FLOAT;
}

/* The slot of an expression's truth, or NONE. */
int program_truth(struct program *p, const struct expr *expr);
/* A slot that the evaluator computes: EVAL for a truth, EVAL_LIST for a list. */
int program_eval(struct program *p, const struct expr *expr, enum slot_code code,
                 enum slot_type type);

#endif
