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

/* Do the values fit the Type? A float may be a whole number, a truth value 0 or 1, and a text be
 * written as a number, as published files do; absent, anything goes. */
static bool fits(const char *type, const struct value *value)
{
    bool whole = value->kind == VALUE_INT;
    if (strcmp(type, "int") == 0) return whole;
    if (strcmp(type, "uint") == 0) return whole && value->i >= 0;
    if (strcmp(type, "float") == 0) return whole || value->kind == VALUE_FLOAT;
    if (strcmp(type, "bool") == 0)
        return value->kind == VALUE_BOOL || (whole && (value->i == 0 || value->i == 1));
    return value->kind != VALUE_LIST;
}

static enum stax_status check_type(const json_t *param, const char *name, const char **type)
{
    static const char *const types[] = {"int", "uint", "float", "bool", "string"};
    const json_t *json = json_object_get(param, "Type");
    *type = json_is_string(json) ? json_string_value(json) : "";
    for (size_t i = 0; i < STAX_COUNT(types); i++)
        if (strcmp(*type, types[i]) == 0) return STAX_OK;
    if (!json) return STAX_OK;
    STAX_RETURN(STAX_FORMAT,
                "parameter `%s`: Type \"%s\" is none: write int, uint, float, bool or string", name,
                *type);
}

static enum stax_status check_values(const struct param *param, const char *type,
                                     struct arena *arena)
{
    for (int v = 0; type[0] && v < param->count; v++)
        if (!fits(type, &param->values[v]))
            STAX_RETURN(STAX_FORMAT, "parameter `%s`: the Type is %s, but Values has %s",
                        param->name, type, value_text(&param->values[v], arena));
    return STAX_OK;
}

static enum stax_status add_param(struct space *space, const json_t *param, struct arena *arena)
{
    const char *name = import_string(param, "Name"), *type;
    const json_t *values = json_object_get(param, "Values");
    if (name[0] == '\0') STAX_RETURN(STAX_FORMAT, "a tuning parameter has no Name");
    STAX_TRY(check_type(param, name, &type));
    bool categorical = strcmp(type, "string") == 0 || strcmp(type, "bool") == 0;
    if (json_is_string(values)) {
        const char *text = json_string_value(values);
        STAX_TRY(categorical ? add_categorical(space, name, text, arena)
                             : space_add_expression(space, name, text));
        return check_values(space_param(space, space_params(space) - 1), type, arena);
    }
    struct value list;
    if (!json_is_array(values) || !import_value(values, arena, &list)) {
        STAX_RETURN(STAX_FORMAT, "parameter `%s`: Values is neither a text nor a list", name);
    }
    STAX_TRY(space_add_values(space, name, list.items, list.count, categorical));
    return check_values(space_param(space, space_params(space) - 1), type, arena);
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
    if (conditions && !json_is_array(conditions))
        STAX_RETURN(STAX_FORMAT, "ConfigurationSpace.Conditions is not a list: expected objects "
                                 "with an Expression, in [ ]");
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

static enum stax_status read_kernel(const json_t *root, struct t1 *t1)
{
    const json_t *kernel = json_object_get(root, "KernelSpecification");
    if (kernel && !json_is_object(kernel))
        STAX_RETURN(STAX_FORMAT, "KernelSpecification is not an object: expected { }");
    const struct {
        const char *key, **text;
    } texts[] = {
        {"KernelName", &t1->kernel}, {"Language", &t1->language}, {"KernelFile", &t1->kernel_file}};
    for (size_t i = 0; i < STAX_COUNT(texts); i++) {
        const json_t *text = json_object_get(kernel, texts[i].key);
        if (text && !json_is_string(text))
            STAX_RETURN(STAX_FORMAT, "KernelSpecification.%s is not a text", texts[i].key);
        *texts[i].text = import_string(kernel, texts[i].key);
    }
    return STAX_OK;
}

enum stax_status import_t1(const char *path, struct arena *arena, struct t1 *t1)
{
    const json_t *root;
    bool cut_off;
    uint64_t repeated;
    STAX_TRY(import_parse(path, arena, &root, &cut_off, &repeated));
    if (cut_off) STAX_RETURN(STAX_FORMAT, "%s: the file ends early", path);
    *t1 = (struct t1){0};
    enum stax_status status = read_kernel(root, t1);
    if (status != STAX_OK) return status_prefix(status, "%s", path);
    t1->space = space_create(t1->kernel[0] ? t1->kernel : path, arena);
    status = fill(root, arena, t1);
    return status == STAX_OK ? STAX_OK : status_prefix(status, "%s", path);
}
