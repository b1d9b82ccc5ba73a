/* T1 1.0.0: tuning parameters whose values are Python expressions, and conditions on them. Also
 * taken: lists in place of those texts, defaults in lists of one, and everything else the files
 * hold for other tools. */
#include <string.h>

#include "results/import_json.h"

bool import_is_t1(const char *text)
{
    return strstr(text, "\"ConfigurationSpace\"") && strstr(text, "\"TuningParameters\"");
}

/* Texts and truth values are categorical, also where they are written as numbers. */
static enum stax_status add_categorical(struct space *space, const char *name,
                                        const char *expression, struct arena *arena)
{
    struct expr *expr;
    struct value list;
    const char *what = arena_printf(arena, "values of %s", name);
    STAX_TRY(expr_parse_text(what, expression, arena, &expr));
    STAX_TRY(expr_eval(what, expr, NULL, NULL, arena, &list));
    if (list.kind != VALUE_LIST) STAX_RETURN(STAX_FORMAT, "%s: expected a list", what);
    return space_add_values(space, name, list.items, list.count, true);
}

static enum stax_status add_param(struct space *space, const json_t *param, struct arena *arena)
{
    const char *name = import_string(param, "Name"), *type = import_string(param, "Type");
    const json_t *values = json_object_get(param, "Values");
    if (name[0] == '\0') STAX_RETURN(STAX_FORMAT, "a tuning parameter has no Name");
    bool categorical = strcmp(type, "string") == 0 || strcmp(type, "bool") == 0;
    if (json_is_string(values)) {
        const char *text = json_string_value(values);
        return categorical ? add_categorical(space, name, text, arena)
                           : space_add_expression(space, name, text);
    }
    struct value list;
    if (!json_is_array(values) || !import_value(values, arena, &list)) {
        STAX_RETURN(STAX_FORMAT, "parameter `%s`: Values is neither a text nor a list", name);
    }
    return space_add_values(space, name, list.items, list.count, categorical);
}

/* The index of the Default, or -1. */
static int default_index(const struct space *space, int p, const json_t *param, struct arena *arena)
{
    const json_t *json = json_object_get(param, "Default");
    struct value value;
    if (json_is_array(json) && json_array_size(json) == 1) json = json_array_get(json, 0);
    if (!import_value(json, arena, &value)) return -1;
    for (int v = 0; v < space_param(space, p)->count; v++) {
        if (value_equal(&space_param(space, p)->values[v], &value)) return v;
    }
    return -1;
}

static enum stax_status fill(const json_t *root, struct arena *arena, struct t1 *t1)
{
    const json_t *section = json_object_get(root, "ConfigurationSpace");
    const json_t *params = json_object_get(section, "TuningParameters"),
                 *conditions = json_object_get(section, "Conditions");
    if (!json_is_array(params))
        STAX_RETURN(STAX_FORMAT,
                    "this is no T1 file: it has no ConfigurationSpace.TuningParameters");
    for (size_t i = 0; i < json_array_size(params); i++) {
        STAX_TRY(add_param(t1->space, json_array_get(params, i), arena));
    }
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *text = json_is_string(condition) ? json_string_value(condition)
                                                     : import_string(condition, "Expression");
        if (text[0] == '\0') STAX_RETURN(STAX_FORMAT, "condition %zu has no Expression", i + 1);
        STAX_TRY(space_add_constraint(t1->space, text));
    }
    STAX_TRY(space_finish(t1->space));
    int *values = ARENA_ARRAY(arena, int, space_params(t1->space));
    t1->has_default = space_params(t1->space) > 0;
    for (int p = 0; p < space_params(t1->space); p++) {
        values[p] = default_index(t1->space, p, json_array_get(params, (size_t)p), arena);
        t1->has_default = t1->has_default && values[p] >= 0;
    }
    t1->has_default = t1->has_default && space_rank(t1->space, values, &t1->default_config, NULL);
    return STAX_OK;
}

enum stax_status import_t1(const char *path, struct arena *arena, struct t1 *t1)
{
    const json_t *root;
    bool cut_off;
    STAX_TRY(import_parse(path, arena, &root, &cut_off));
    if (cut_off) STAX_RETURN(STAX_FORMAT, "%s: the file ends early", path);
    const json_t *kernel = json_object_get(root, "KernelSpecification");
    *t1 = (struct t1){.kernel = import_string(kernel, "KernelName"),
                      .language = import_string(kernel, "Language")};
    t1->kernel_file = import_string(kernel, "KernelFile");
    t1->space = space_create(t1->kernel[0] ? t1->kernel : path, arena);
    enum stax_status status = fill(root, arena, t1);
    return status == STAX_OK ? STAX_OK : status_prefix(status, "%s", path);
}
