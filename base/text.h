/* A growable text or byte buffer in an arena. Always NUL-terminated, the NUL not counted. */
#ifndef STAX_BASE_TEXT_H
#define STAX_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct text {
    char *bytes; /* NULL while empty */
    size_t length;
    size_t capacity;
    struct arena *arena;
};

struct text text_make(struct arena *arena);
void text_add(struct text *text, const char *string);
void text_add_n(struct text *text, const void *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *text_string(struct text *text); /* never NULL */

/* Little-endian packing, for messages and journals. The readers fail by setting `bad`, never by
 * reading past the end. */
void text_put_u32(struct text *text, uint32_t value);
void text_put_u64(struct text *text, uint64_t value);
void text_put_f64(struct text *text, double value);
void text_put_string(struct text *text,
                     const char *string); /* u32 length, bytes; NULL is length UINT32_MAX */
void text_put_blob(struct text *text, const void *bytes, size_t length);

struct reader {
    const unsigned char *bytes;
    size_t length;
    size_t at;
    int bad;
};

uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
double reader_f64(struct reader *reader);
const char *reader_string(struct reader *reader,
                          struct arena *arena); /* NULL when NULL was put or on `bad` */
const void *reader_blob(struct reader *reader, size_t *length); /* points into the reader's bytes */

#endif
