/* Text and byte buffers; see text.h. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { FIRST_CAPACITY = 256 }; /* chosen */

struct text text_make(struct arena *arena)
{
    return (struct text){.arena = arena};
}

static void reserve(struct text *text, size_t more)
{
    size_t need = text->length + more + 1;
    if (need <= text->capacity) return;
    size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
    while (capacity < need) capacity *= 2;
    text->bytes = arena_grow(text->arena, text->bytes, text->bytes ? text->length + 1 : 0, capacity,
                             1);
    text->capacity = capacity;
}

void text_add_n(struct text *text, const void *bytes, size_t length)
{
    reserve(text, length);
    if (length) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_n(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    STAX_CHECK(length >= 0);
    reserve(text, (size_t)length);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

const char *text_string(struct text *text)
{
    return text->bytes ? text->bytes : "";
}

void text_put_u32(struct text *text, uint32_t value)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(value >> (8 * i));
    text_add_n(text, bytes, sizeof bytes);
}

void text_put_u64(struct text *text, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(value >> (8 * i));
    text_add_n(text, bytes, sizeof bytes);
}

void text_put_f64(struct text *text, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    text_put_u64(text, bits);
}

void text_put_string(struct text *text, const char *string)
{
    if (!string) {
        text_put_u32(text, UINT32_MAX);
        return;
    }
    text_put_blob(text, string, strlen(string));
}

void text_put_blob(struct text *text, const void *bytes, size_t length)
{
    STAX_CHECK(length < UINT32_MAX);
    text_put_u32(text, (uint32_t)length);
    text_add_n(text, bytes, length);
}

static const unsigned char *take(struct reader *reader, size_t bytes)
{
    if (reader->bad || reader->length - reader->at < bytes) {
        reader->bad = 1;
        return NULL;
    }
    const unsigned char *from = reader->bytes + reader->at;
    reader->at += bytes;
    return from;
}

static uint64_t little_endian(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

uint32_t reader_u32(struct reader *reader)
{
    const unsigned char *from = take(reader, 4);
    return from ? (uint32_t)little_endian(from, 4) : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    const unsigned char *from = take(reader, 8);
    return from ? little_endian(from, 8) : 0;
}

double reader_f64(struct reader *reader)
{
    uint64_t bits = reader_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const void *reader_blob(struct reader *reader, size_t *length)
{
    *length = 0;
    uint32_t bytes = reader_u32(reader);
    if (reader->bad || bytes == UINT32_MAX) return NULL;
    const unsigned char *from = take(reader, bytes);
    if (from) *length = bytes;
    return from;
}

const char *reader_string(struct reader *reader, struct arena *arena)
{
    size_t length;
    const void *bytes = reader_blob(reader, &length);
    return bytes ? arena_text_n(arena, bytes, length) : NULL;
}
