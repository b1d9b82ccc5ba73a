/* Reading files, gzipped and cut off ones too, and their JSON; see import_json.h. */
#include "results/import_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum stax_status import_read_file(const char *path, struct arena *arena, char **text,
                                  size_t *length, bool *cut_off)
{
    *cut_off = false;
    errno = 0;
    gzFile file = gzopen(path, "rb"); /* reads plain files as they are */
    if (!file) STAX_RETURN(STAX_IO, "%s: %s", path, strerror(errno ? errno : ENOMEM));
    size_t capacity = 1 << 16, used = 0;
    char *bytes = arena_alloc(arena, capacity);
    for (;;) {
        int got = gzread(file, bytes + used, (unsigned)(capacity - used - 1));
        int error;
        const char *message = gzerror(file, &error);
        if (got < 0 && (error != Z_BUF_ERROR && error != Z_DATA_ERROR)) {
            enum stax_status status = status_set(STAX_IO, "%s: %s", path,
                                                 error == Z_ERRNO ? strerror(errno) : message);
            gzclose(file);
            return status;
        }
        *cut_off = *cut_off || error == Z_BUF_ERROR || error == Z_DATA_ERROR;
        if (got <= 0) break;
        used += (size_t)got;
        if (used + 1 == capacity) {
            bytes = arena_grow(arena, bytes, used, 2 * capacity, 1);
            capacity *= 2;
        }
    }
    gzclose(file);
    bytes[used] = '\0';
    *text = bytes;
    *length = used;
    return STAX_OK;
}

/* Python writes NaN and Infinity, which JSON lacks: both become null. Works on a copy; texts stay
 * as they are. */
static char *without_nan(const char *text, size_t length, struct arena *arena, size_t *out_length)
{
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    char *out = arena_alloc(arena, length + length / 3 + 2); /* NaN grows by one letter of three */
    size_t used = 0;
    bool quoted = false;
    for (size_t at = 0; at < length;) {
        size_t skip = 0;
        for (size_t i = 0; !quoted && i < STAX_COUNT(words) && !skip; i++) {
            if (strncmp(text + at, words[i], strlen(words[i])) == 0) skip = strlen(words[i]);
        }
        if (skip) {
            memcpy(out + used, "null", 4);
            used += 4;
            at += skip;
            continue;
        }
        if (text[at] == '"') quoted = !quoted;
        if (quoted && text[at] == '\\' && at + 1 < length) out[used++] = text[at++];
        out[used++] = text[at++];
    }
    out[used] = '\0';
    *out_length = used;
    return out;
}

/* The next bracket outside of quotes, with *at behind it; 0 at the end. */
static char next_bracket(const char *text, size_t length, size_t *at)
{
    for (bool quoted = false; *at < length;) {
        char byte = text[(*at)++];
        if (quoted && byte == '\\')
            (*at)++;
        else if (byte == '"')
            quoted = !quoted;
        else if (!quoted && (byte == '{' || byte == '[' || byte == '}' || byte == ']'))
            return byte;
    }
    return 0;
}

/* Cuts behind the last entry that is complete at depth 2 and closes the two brackets round it.
 * NULL: there is none. */
static char *closed(const char *text, size_t length, struct arena *arena, size_t *out_length)
{
    enum { ENTRY = 2 };
    char open[ENTRY] = {0}, keep[ENTRY] = {0};
    size_t depth = 0, cut = 0, at = 0;
    for (char byte; (byte = next_bracket(text, length, &at));) {
        if (byte == '{' || byte == '[') {
            if (depth < ENTRY) open[depth] = byte == '{' ? '}' : ']';
            depth++;
        } else if (depth > 0 && --depth == ENTRY) {
            cut = at;
            memcpy(keep, open, ENTRY);
        }
    }
    if (cut == 0) return NULL;
    char *out = arena_alloc(arena, cut + ENTRY + 1);
    memcpy(out, text, cut);
    out[cut] = keep[1];
    out[cut + 1] = keep[0];
    *out_length = cut + ENTRY;
    return out;
}

/* Objects of depth 2 that have a key, as the text writes them. */
static uint64_t written_entries(const char *text, size_t length)
{
    uint64_t count = 0;
    size_t depth = 0, at = 0;
    bool named = false; /* the bracket of depth 1 is one of an object */
    for (char byte; (byte = next_bracket(text, length, &at));) {
        if (byte == '{' || byte == '[') {
            if (depth == 1) named = byte == '{';
            if (depth == 2 && named && byte == '{') count++;
            depth++;
        } else if (depth > 0) {
            depth--;
        }
    }
    return count;
}

/* The same as the document holds them. */
static uint64_t kept_entries(const json_t *root)
{
    uint64_t count = 0;
    const char *key, *entry;
    json_t *section, *value;
    json_object_foreach((json_t *)root, key, section)
    {
        json_object_foreach(section, entry, value) count += json_is_object(value);
    }
    return count;
}

static void release(void *json)
{
    json_decref(json);
}

enum stax_status import_parse(const char *path, struct arena *arena, const json_t **root,
                              bool *cut_off, uint64_t *repeated)
{
    enum {
        NEAR_END = 64
    }; /* bytes: how far from the end a reader may notice that a text ends early (chosen) */
    struct arena *scratch = arena_create();
    char *text;
    size_t length;
    *repeated = 0;
    json_error_t error = {0};
    json_t *json = NULL;
    enum stax_status status = import_read_file(path, scratch, &text, &length, cut_off);
    if (status == STAX_OK) {
        json = json_loadb(text, length, 0, &error);
        if (!json && (strstr(text, "NaN") || strstr(text, "Infinity"))) {
            text = without_nan(text, length, scratch, &length);
            json = json_loadb(text, length, 0, &error);
        }
        bool early = *cut_off ||
                     (error.position >= 0 && (size_t)error.position + NEAR_END >= length);
        if (!json && early) {
            char *repaired = closed(text, length, scratch, &length);
            if (repaired) json = json_loadb(text = repaired, length, 0, &error);
            *cut_off = json != NULL;
        }
        if (!json)
            status = status_set(STAX_FORMAT, "%s:%d: this is no JSON: %s", path, error.line,
                                error.text);
        else if (json_is_object(json))
            *repeated = written_entries(text, length) - kept_entries(json);
    }
    arena_destroy(scratch);
    STAX_TRY(status);
    arena_defer(arena, release, json);
    *root = json;
    return STAX_OK;
}

bool import_value(const json_t *json, struct arena *arena, struct value *value)
{
    switch (json ? json_typeof(json) : JSON_NULL) {
    case JSON_INTEGER:
        *value = (struct value){.kind = VALUE_INT, .i = json_integer_value(json)};
        return true;
    case JSON_REAL:
        *value = (struct value){.kind = VALUE_FLOAT, .f = json_real_value(json)};
        return true;
    case JSON_STRING:
        *value = (struct value){.kind = VALUE_TEXT, .text = json_string_value(json)};
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        *value = (struct value){.kind = VALUE_BOOL, .i = json_is_true(json)};
        return true;
    case JSON_ARRAY:
        *value = (struct value){.kind = VALUE_LIST, .count = (int)json_array_size(json)};
        value->items = ARENA_ARRAY(arena, struct value, value->count);
        for (int i = 0; i < value->count; i++) {
            const json_t *item = json_array_get(json, (size_t)i);
            if (json_is_array(item) || !import_value(item, arena, &value->items[i])) return false;
        }
        return true;
    default: return false;
    }
}

double import_number(const json_t *object, const char *key, double absent)
{
    const json_t *json = json_object_get(object, key);
    return json_is_number(json) ? json_number_value(json) : absent;
}

const char *import_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

int64_t import_time(const char *text)
{
    struct tm tm = {0};
    int hours = 0, minutes = 0, used = 0;
    double seconds;
    if (sscanf(text, "%d-%d-%d%*[ T]%d:%d:%lf%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &seconds, &used) != 6) {
        return 0;
    }
    if (tm.tm_year < 1970 || tm.tm_year > 2200 || !(seconds >= 0 && seconds < 61)) {
        return 0; /* outside what ns in 64 bits can say, or damaged */
    }
    char sign = text[used];
    if ((sign == '+' || sign == '-') && sscanf(text + used + 1, "%2d:%2d", &hours, &minutes) < 1)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int64_t away = (int64_t)(hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return ((int64_t)timegm(&tm) - away) * 1000000000 + (int64_t)(seconds * 1e9);
}

enum outcome import_outcome(const char *failure)
{
    static const struct {
        const char
            *part; /* of the class of failure, in lower or upper case as the writers have it */
        enum outcome outcome;
    } rows[] = {
        {"Compil", OUTCOME_COMPILE},
        {"compile", OUTCOME_COMPILE},
        {"Runtime", OUTCOME_LAUNCH},
        {"runtime", OUTCOME_LAUNCH},
        {"InvalidConfig", OUTCOME_CONSTRAINT},
        {"constraint", OUTCOME_CONSTRAINT},
        {"imeout", OUTCOME_TIMEOUT},
        {"imeOut", OUTCOME_TIMEOUT},
        {"correct", OUTCOME_WRONG},
        {"Verif", OUTCOME_WRONG},
        {"Valid", OUTCOME_WRONG},
        {"Resource", OUTCOME_RESOURCE},
    };
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        if (strstr(failure, rows[i].part)) return rows[i].outcome;
    }
    return OUTCOME_FAULT;
}

void import_own_failure(const char *outcome, const char *message, struct recording_row *row)
{
    if (row->outcome == OUTCOME_OK) return;
    for (int i = OUTCOME_OK + 1; i < OUTCOME_COUNT; i++)
        if (strcmp(outcome_table[i].name, outcome) == 0) row->outcome = (enum outcome)i;
    if (message[0]) row->message = message;
}

void import_metric(const char *name, const json_t *number, struct recording_metric *metric,
                   int *count)
{
    if (json_is_number(number))
        metric[(*count)++] = (struct recording_metric){name, json_number_value(number)};
}
