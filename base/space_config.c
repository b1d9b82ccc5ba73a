/* Configurations as text and hash, and across spaces. */
#include <ctype.h>
#include <string.h>

#include "base/expr_value.h"
#include "base/space_impl.h"
#include "base/text.h"

char *space_config_text(const struct space *space, uint64_t config, struct arena *arena)
{
    int values[SPACE_PARAMS];
    struct text out = text_make(arena);
    space_unrank(space, config, values);
    for (int p = 0; p < space->count; p++) {
        text_printf(&out, "%s%s=%s", p ? ", " : "", space->params[p].name,
                    space->value_text[p][values[p]]);
    }
    return arena_text(arena, text_string(&out));
}

/* The list is "name=value" with a newline behind each, sorted by name. */
struct hash128 space_config_hash(const struct space *space, uint64_t config)
{
    int values[SPACE_PARAMS];
    char room[2048];
    size_t need = 0, at = 0;
    space_unrank(space, config, values);
    for (int p = 0; p < space->count; p++) {
        need += strlen(space->params[p].name) + strlen(space->value_text[p][values[p]]) + 2;
    }
    struct arena *scratch = need > sizeof room ? arena_create() : NULL;
    char *list = scratch ? arena_alloc(scratch, need) : room;
    for (int i = 0; i < space->count; i++) {
        int p = space->by_name[i];
        const char *parts[] = {space->params[p].name, "=", space->value_text[p][values[p]], "\n"};
        for (size_t k = 0; k < STAX_COUNT(parts); k++) {
            size_t length = strlen(parts[k]);
            memcpy(list + at, parts[k], length);
            at += length;
        }
    }
    struct hash128 hash = hash128_bytes(list, at);
    arena_destroy(scratch);
    return hash;
}

int64_t space_int(const struct space *space, uint64_t config, const char *name, int64_t absent)
{
    int param = space_find(space, name);
    if (param < 0) {
        return absent;
    }
    const struct value *value = space_value(space, config, param);
    return value_is_whole(value)        ? value->i
           : value->kind == VALUE_FLOAT ? (int64_t)value->f
                                        : absent;
}

const char *space_text(const struct space *space, uint64_t config, const char *name,
                       const char *absent)
{
    int param = space_find(space, name);
    if (param < 0) {
        return absent;
    }
    const struct value *value = space_value(space, config, param);
    return space->value_text[param][value - space->params[param].values];
}

bool space_translate(const struct space *from, uint64_t config, const struct space *to,
                     uint64_t *out)
{
    int values[SPACE_PARAMS];
    for (int p = 0; p < to->count; p++) {
        int source = space_find(from, to->params[p].name);
        if (source < 0) {
            return false;
        }
        const struct value *value = space_value(from, config, source);
        values[p] = -1;
        for (int v = 0; v < to->params[p].count && values[p] < 0; v++) {
            if (value_equal(&to->params[p].values[v], value)) {
                values[p] = v;
            }
        }
        if (values[p] < 0) {
            return false;
        }
    }
    return space_rank(to, values, out, NULL);
}

/* A list for a message: the first ones, then "...". */
static void list_some(struct text *out, int count, const char *(*item)(const void *data, int index),
                      const void *data)
{
    enum { SHOWN = 40 }; /* chosen */
    for (int i = 0; i < count && i < SHOWN; i++) {
        text_printf(out, "%s%s", i ? ", " : "", item(data, i));
    }
    if (count > SHOWN) {
        text_add(out, ", ...");
    }
}

static const char *param_item(const void *space, int index)
{
    return ((const struct space *)space)->params[index].name;
}

static const char *value_item(const void *texts, int index)
{
    return ((const char *const *)texts)[index];
}

static enum stax_status unknown_param(const struct space *space, const char *name,
                                      struct arena *arena)
{
    struct text list = text_make(arena);
    list_some(&list, space->count, param_item, space);
    STAX_RETURN(STAX_USAGE, "there is no parameter `%s`: name one of %s", name, text_string(&list));
}

/* Index of a value by its text, or by what it reads as ("0x10", "8.0", "true"). */
static int find_value(const struct space *space, int param, const char *text, struct arena *arena)
{
    for (int v = 0; v < space->params[param].count; v++) {
        if (strcmp(space->value_text[param][v], text) == 0) {
            return v;
        }
    }
    struct expr *expr;
    struct value value;
    if (expr_parse_text("value", text, arena, &expr) != STAX_OK ||
        expr_eval("value", expr, NULL, NULL, arena, &value) != STAX_OK) {
        return -1;
    }
    for (int v = 0; v < space->params[param].count; v++) {
        if (value_equal(&space->params[param].values[v], &value)) {
            return v;
        }
    }
    return -1;
}

static char *trimmed(struct arena *arena, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from)) {
        from++;
    }
    while (to > from && isspace((unsigned char)to[-1])) {
        to--;
    }
    return arena_text_n(arena, from, (size_t)(to - from));
}

/* The end of one `name=value`: the next comma outside quotes and brackets. */
static const char *item_end(const char *text)
{
    int depth = 0;
    char quote = '\0';
    for (; *text; text++) {
        if (quote) {
            quote = *text == quote ? '\0' : quote;
        } else if (*text == '"' || *text == '\'') {
            quote = *text;
        } else if (*text == '[' || *text == '(') {
            depth++;
        } else if (*text == ']' || *text == ')') {
            depth--;
        } else if (*text == ',' && depth <= 0) {
            break;
        }
    }
    return text;
}

static enum stax_status parse_item(const struct space *space, const char *from, const char *to,
                                   struct arena *arena, int *values, bool *given)
{
    const char *equals = memchr(from, '=', (size_t)(to - from));
    if (!equals) {
        STAX_RETURN(STAX_USAGE, "`%s` is no setting: write NAME=VALUE", trimmed(arena, from, to));
    }
    char *name = trimmed(arena, from, equals), *text = trimmed(arena, equals + 1, to);
    int param = space_find(space, name);
    if (param < 0) {
        return unknown_param(space, name, arena);
    }
    if (given[param]) {
        STAX_RETURN(STAX_USAGE, "parameter `%s` is set twice", name);
    }
    given[param] = true;
    values[param] = find_value(space, param, text, arena);
    if (values[param] >= 0) {
        return STAX_OK;
    }
    struct text list = text_make(arena);
    list_some(&list, space->params[param].count, value_item, space->value_text[param]);
    STAX_RETURN(STAX_USAGE, "parameter `%s` has no value `%s`: it can be %s", name, text,
                text_string(&list));
}

static enum stax_status parse_items(const struct space *space, const char *text,
                                    struct arena *arena, int *values)
{
    bool given[SPACE_PARAMS] = {false};
    for (const char *at = text; *at;) {
        const char *end = item_end(at);
        if (*trimmed(arena, at, end) != '\0') {
            STAX_TRY(parse_item(space, at, end, arena, values, given));
        }
        at = *end ? end + 1 : end;
    }
    return STAX_OK;
}

enum stax_status space_parse_config(const struct space *space, const char *text,
                                    uint64_t base_config, uint64_t *config)
{
    int values[SPACE_PARAMS];
    const char *broken;
    struct arena *scratch = arena_create();
    space_unrank(space, base_config, values);
    enum stax_status status = parse_items(space, text, scratch, values);
    arena_destroy(scratch);
    STAX_TRY(status);
    if (!space_rank(space, values, config, &broken)) {
        STAX_RETURN(STAX_USAGE, "`%s` is no valid configuration: it breaks `%s`", text, broken);
    }
    return STAX_OK;
}
