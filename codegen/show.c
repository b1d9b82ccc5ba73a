/* What `show` prints of a kernel: its graph, the IR of a configuration, the source, the space. */
#include "codegen/emit.h"

#include <string.h>

static void show_space(struct text *text, const struct space *space, struct arena *arena)
{
    text_printf(text, "space %s: %llu valid of %.0f configurations\n", space_name(space),
                (unsigned long long)space_count(space), space_cartesian(space));
    for (int p = 0; p < space_params(space); p++) {
        const struct param *param = space_param(space, p);
        text_printf(text, "  %s in {", param->name);
        for (int i = 0; i < param->count; i++)
            text_printf(text, "%s%s", i > 0 ? ", " : "", value_text(&param->values[i], arena));
        text_add(text, "}\n");
    }
    for (int c = 0; c < space_constraints(space); c++)
        text_printf(text, "  where %s\n", space_constraint(space, c));
}

static enum stax_status show_ir(struct text *text, const struct cg_kernel *cg,
                                const struct device_info *device, const struct space *space,
                                uint64_t config, struct arena *arena)
{
    struct plan_values *values;
    struct plan *plan;
    STAX_TRY(plan_values_read(cg, device, space, config, arena, &values));
    STAX_TRY(plan_make(cg, device, values, arena, &plan));
    ir_print(text, plan->program);
    return STAX_OK;
}

enum stax_status cg_show(const struct cg_kernel *cg, const struct device_info *device,
                         const struct space *space, uint64_t config, const char *what,
                         struct arena *arena, const char **out)
{
    struct text text = text_make(arena);
    bool cuda = device->kind == DEVICE_CUDA;
    if (strcmp(what, "graph") == 0) {
        text_add(&text, cg->graph_text);
    } else if (strcmp(what, "ir") == 0) {
        STAX_TRY(show_ir(&text, cg, device, space, config, arena));
    } else if (strcmp(what, "space") == 0) {
        show_space(&text, space, arena);
    } else if (strcmp(what, "cuda") == 0 || strcmp(what, "c") == 0) {
        if (cuda != (strcmp(what, "cuda") == 0))
            STAX_RETURN(STAX_USAGE, "--emit %s needs a %s device; this one is %s", what,
                        cuda ? "cpu" : "cuda", cuda ? "cuda" : "cpu");
        struct job *job;
        STAX_TRY(cg_job(cg, device, space, config, 0, arena, &job));
        text_add(&text, job->program.source);
    } else {
        STAX_RETURN(STAX_USAGE, "nothing called '%s' to show: use graph, ir, cuda, c or space",
                    what);
    }
    *out = text_string(&text);
    return STAX_OK;
}
