/* The configuration space of a kernel on a device, and reading a configuration back into values.
 *
 * The space is the parameters of params.c, kernel by kernel in launch order; a parameter with one
 * value is a fixed name. Identity, counting and sampling are base/space.c's. */
#include "codegen/plan.h"

#include <string.h>

enum stax_status cg_space(const struct cg_kernel *cg, const struct device_info *device,
                          struct arena *arena, struct space **out)
{
    struct space *space = space_create(cg->name, arena);
    for (int k = 0; k < cg->program.kernels; k++) {
        struct knobs knobs;
        STAX_TRY(knobs_make(cg, k, device, arena, &knobs));
        const char *suffix = knob_suffix(cg, k, arena);
        for (int i = 0; i < KNOB_COUNT; i++) {
            const struct knob *knob = &knobs.knob[i];
            const char *name = arena_printf(arena, "%s%s", knob->name, suffix);
            if (knob->count == 1) {
                struct value value = {
                    .kind = VALUE_INT, .i = knob->value[0], .f = (double)knob->value[0]};
                if (knob->text[0] != NULL)
                    value = (struct value){.kind = VALUE_TEXT, .text = knob->text[0]};
                STAX_TRY(space_define(space, name, value));
            } else if (knob->text[0] != NULL) {
                STAX_TRY(space_add_texts(space, name, knob->text, knob->count));
            } else {
                STAX_TRY(space_add_ints(space, name, knob->value, knob->count));
            }
        }
        for (int c = 0; c < knobs.constraints; c++)
            STAX_TRY(space_add_constraint(space, knobs.constraint[c]));
    }
    STAX_TRY(space_finish(space));
    if (space_count(space) == 0)
        STAX_RETURN(STAX_INTERNAL, "%s has no valid configuration on %s", cg->problem,
                    device->name);
    *out = space;
    return STAX_OK;
}

static int64_t read_knob(const struct space *space, uint64_t config, const struct knob *knob,
                         const char *name)
{
    if (knob->count == 1) return knob->value[0];
    if (knob->text[0] == NULL) return space_int(space, config, name, -1);
    const char *text = space_text(space, config, name, "");
    for (int i = 0; i < knob->count; i++)
        if (strcmp(knob->text[i], text) == 0) return knob->value[i];
    STAX_CHECK(!"a parameter of another kernel's space");
    return -1;
}

enum stax_status plan_values_read(const struct cg_kernel *cg, const struct device_info *device,
                                  const struct space *space, uint64_t config, struct arena *arena,
                                  struct plan_values **out)
{
    struct plan_values *all = ARENA_ARRAY(arena, struct plan_values, cg->program.kernels + 1);
    for (int k = 0; k < cg->program.kernels; k++) {
        struct knobs knobs;
        STAX_TRY(knobs_make(cg, k, device, arena, &knobs));
        const char *suffix = knob_suffix(cg, k, arena);
        int64_t value[KNOB_COUNT];
        for (int i = 0; i < KNOB_COUNT; i++) {
            const char *name = arena_printf(arena, "%s%s", knobs.knob[i].name, suffix);
            value[i] = read_knob(space, config, &knobs.knob[i], name);
        }
        all[k] = (struct plan_values){
            .split = value[KNOB_RSPLIT] > 1,
            .persistent = value[KNOB_FORM] == CHOICE_PER,
            .xblock = value[KNOB_XBLOCK],
            .yblock = value[KNOB_YBLOCK],
            .rblock = value[KNOB_RBLOCK],
            .warps = (int)value[KNOB_WARPS],
            .threads = (int)value[KNOB_THREADS],
            .vec = (int)value[KNOB_VEC],
            .rsplit = value[KNOB_RSPLIT],
            .finish = (enum plan_finish)value[KNOB_FINISH],
            .evict = value[KNOB_EVICT] != 0,
        };
    }
    *out = all;
    return STAX_OK;
}
