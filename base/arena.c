/* A chain of blocks that double in size; see arena.h. The only file that calls malloc. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { FIRST_BYTES = 4096, MAX_BLOCK_BYTES = 1 << 20, ALIGN = 16 }; /* chosen */

struct block {
    struct block *next;
    size_t size;
    size_t used;
    _Alignas(ALIGN) unsigned char bytes[];
};

struct release {
    struct release *next;
    void (*call)(void *);
    void *data;
};

struct arena {
    struct block *blocks; /* newest first */
    struct release *releases;
    size_t next_bytes;
};

static void *take_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "stax-tune: out of memory (%zu bytes asked)\n", bytes);
        abort();
    }
    return memory;
}

static struct block *add_block(struct arena *arena, size_t bytes)
{
    size_t size = arena->next_bytes > bytes ? arena->next_bytes : bytes;
    if (arena->next_bytes < MAX_BLOCK_BYTES) arena->next_bytes *= 2;
    struct block *block = take_memory(sizeof *block + size);
    block->next = arena->blocks;
    block->size = size;
    block->used = 0;
    arena->blocks = block;
    return block;
}

struct arena *arena_create(void)
{
    struct arena *arena = take_memory(sizeof *arena);
    *arena = (struct arena){.next_bytes = FIRST_BYTES};
    return arena;
}

void arena_reset(struct arena *arena)
{
    while (arena->releases) { /* a callback may defer again or read arena memory, so unlink first */
        struct release *release = arena->releases;
        arena->releases = release->next;
        release->call(release->data);
    }
    while (arena->blocks && arena->blocks->next) {
        struct block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    if (arena->blocks) arena->blocks->used = 0;
}

void arena_destroy(struct arena *arena)
{
    if (!arena) return;
    arena_reset(arena);
    free(arena->blocks);
    free(arena);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    STAX_CHECK(bytes <= SIZE_MAX / 2);
    size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded == 0) rounded = ALIGN;
    struct block *block = arena->blocks;
    if (!block || block->size - block->used < rounded) block = add_block(arena, rounded);
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memset(memory, 0, rounded);
}

void *arena_array(struct arena *arena, size_t count, size_t each)
{
    STAX_CHECK(each == 0 || count <= SIZE_MAX / 2 / each);
    return arena_alloc(arena, count * each);
}

void *arena_grow(struct arena *arena, const void *old, size_t used, size_t count, size_t each)
{
    STAX_CHECK(used <= count);
    void *fresh = arena_array(arena, count, each);
    if (used) memcpy(fresh, old, used * each);
    return fresh;
}

char *arena_text_n(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *arena_text(struct arena *arena, const char *text)
{
    return arena_text_n(arena, text, strlen(text));
}

void *arena_copy(struct arena *arena, const void *data, size_t bytes)
{
    void *copy = arena_alloc(arena, bytes);
    if (bytes) memcpy(copy, data, bytes);
    return copy;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    STAX_CHECK(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void arena_defer(struct arena *arena, void (*call)(void *), void *data)
{
    struct release *release = arena_alloc(arena, sizeof *release);
    *release = (struct release){.next = arena->releases, .call = call, .data = data};
    arena->releases = release;
}
