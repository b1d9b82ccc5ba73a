/* Parameter values as JSON texts, so that any reader of the database understands them; see rows.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/rows.h"

enum { MAX_DEPTH = 16 }; /* chosen: a list of lists of lists is already strange */

void json_put_text(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_printf(text, "\\%c", *c);
        else if (*c < 0x20)
            text_printf(text, "\\u%04x", *c);
        else
            text_add_n(text, c, 1);
    }
    text_add(text, "\"");
}

static void put_float(struct text *text, double value)
{
    char digits[40];
    if (isnan(value) || isinf(value)) { /* not JSON, but what Python's reader and writer use */
        text_add(text, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    for (int precision = 15; precision <= 17;
         precision++) { /* 17 digits always read back the same */
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    text_add(text, digits);
    if (!strpbrk(digits, ".e")) text_add(text, ".0");
}

void json_put_value(struct text *text, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT: text_printf(text, "%lld", (long long)value->i); break;
    case VALUE_FLOAT: put_float(text, value->f); break;
    case VALUE_TEXT: json_put_text(text, value->text); break;
    case VALUE_BOOL: text_add(text, value->i ? "true" : "false"); break;
    case VALUE_LIST:
        text_add(text, "[");
        for (int i = 0; i < value->count; i++) {
            if (i) text_add(text, ", ");
            json_put_value(text, &value->items[i]);
        }
        text_add(text, "]");
        break;
    }
}

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r') ++*at;
}

static void put_utf8(struct text *text, unsigned code)
{
    char bytes[3];
    int count = 1;
    if (code < 0x80) {
        bytes[0] = (char)code;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        count = 2;
    } else {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        count = 3;
    }
    text_add_n(text, bytes, (size_t)count);
}

static bool get_string(const char **at, struct arena *arena, const char **string)
{
    struct text text = text_make(arena);
    for (++*at; **at != '"'; ++*at) {
        if (!**at) return false;
        if (**at != '\\') {
            text_add_n(&text, *at, 1);
            continue;
        }
        ++*at;
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *plain = **at ? strchr(from, **at) : NULL;
        unsigned code;
        if (**at == 'u' && sscanf(*at + 1, "%4x", &code) == 1 && strnlen(*at, 5) == 5) {
            put_utf8(&text, code);
            *at += 4;
        } else if (plain) {
            text_add_n(&text, &to[plain - from], 1);
        } else if (**at == '"' || **at == '\\' || **at == '/') {
            text_add_n(&text, *at, 1);
        } else {
            return false;
        }
    }
    ++*at;
    *string = text_string(&text);
    return true;
}

static bool get_number(const char **at, struct value *value)
{
    char *end_i, *end_f;
    *value = (struct value){.kind = VALUE_FLOAT, .f = strtod(*at, &end_f)};
    long long whole = strtoll(*at, &end_i, 10);
    if (end_f == *at) return false;
    if (end_i == end_f) *value = (struct value){.kind = VALUE_INT, .i = whole};
    *at = end_f;
    return true;
}

static bool get_value(const char **at, struct arena *arena, struct value *value, int depth)
{
    skip_blanks(at);
    if (**at == '"') {
        *value = (struct value){.kind = VALUE_TEXT};
        return get_string(at, arena, &value->text);
    }
    if (!strncmp(*at, "true", 4) || !strncmp(*at, "false", 5)) {
        *value = (struct value){.kind = VALUE_BOOL, .i = **at == 't'};
        *at += value->i ? 4 : 5;
        return true;
    }
    if (**at != '[') return get_number(at, value);
    if (depth >= MAX_DEPTH) return false;
    *value = (struct value){.kind = VALUE_LIST};
    int capacity = 0;
    ++*at;
    for (skip_blanks(at); **at != ']'; skip_blanks(at)) {
        if (value->count && *(*at)++ != ',') return false;
        if (value->count == capacity) {
            capacity = capacity ? 2 * capacity : 8;
            value->items = arena_grow(arena, value->items, (size_t)value->count, (size_t)capacity,
                                      sizeof *value);
        }
        if (!get_value(at, arena, &value->items[value->count], depth + 1)) return false;
        value->count++;
    }
    ++*at;
    return true;
}

bool json_get_value(const char **at, struct arena *arena, struct value *value)
{
    return get_value(at, arena, value, 0);
}
