/* Arenas: memory that lives and dies together, with callbacks that release what is not memory.
 *
 * One arena a lifetime (session, trial, scratch). Early returns then need no clean-up ladder. All
 * allocation of the program happens here; running out of memory aborts with one line. */
#ifndef STAX_BASE_ARENA_H
#define STAX_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_create(void);
void arena_destroy(struct arena *arena); /* NULL is allowed; runs the callbacks, newest first */
void arena_reset(struct arena *arena);   /* runs the callbacks, keeps one block */

void *arena_alloc(struct arena *arena,
                  size_t bytes); /* zeroed, 16-byte aligned; 0 bytes gives a valid pointer */
void *arena_array(struct arena *arena, size_t count, size_t each); /* zeroed; aborts on overflow */
/* Grows an array that was the result of arena_array/arena_grow: returns memory for `count` with the
 * first `used` copied. Callers double `count` so that the waste stays bounded. */
void *arena_grow(struct arena *arena, const void *old, size_t used, size_t count, size_t each);
char *arena_text(struct arena *arena, const char *text);
char *arena_text_n(struct arena *arena, const char *text, size_t length);
void *arena_copy(struct arena *arena, const void *data, size_t bytes);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args);
void arena_defer(struct arena *arena, void (*release)(void *),
                 void *data); /* called at reset or destroy */

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) \
    ((type *)arena_array((arena), (size_t)(count), sizeof(type)))

#endif
