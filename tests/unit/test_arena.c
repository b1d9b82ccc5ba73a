/* Arenas: alignment, zeroing, growth, reset with callbacks in reverse order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void test_memory(void **state)
{
    struct arena *arena = arena_create();
    unsigned char *last = NULL;
    for (size_t bytes = 0; bytes < 3000; bytes += 7) {
        unsigned char *memory = arena_alloc(arena, bytes);
        assert_int_equal((uintptr_t)memory % 16, 0);
        assert_ptr_not_equal(memory, last);
        for (size_t i = 0; i < bytes; i++) assert_int_equal(memory[i], 0);
        memset(memory, 0xff, bytes);
        last = memory;
    }
    char *large = arena_alloc(arena, 10u << 20); /* larger than any block */
    large[(10u << 20) - 1] = 1;
    arena_reset(arena);
    unsigned char *again = arena_alloc(arena, 64); /* memory used before is zero again */
    for (int i = 0; i < 64; i++) assert_int_equal(again[i], 0);
    arena_destroy(arena);
    arena_destroy(NULL);
}

static void test_grow_and_copy(void **state)
{
    struct arena *arena = arena_create();
    int *list = NULL;
    for (int count = 0, capacity = 0; count < 1000; count++) {
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 4;
            list = arena_grow(arena, list, (size_t)count, (size_t)capacity, sizeof *list);
        }
        list[count] = count;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(list[i], i);
    int *copy = arena_copy(arena, list, 10 * sizeof *list);
    assert_memory_equal(copy, list, 10 * sizeof *list);
    assert_string_equal(arena_text_n(arena, "abcdef", 3), "abc");
    assert_string_equal(arena_text(arena, ""), "");
    assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
    assert_non_null(arena_copy(arena, NULL, 0));
    arena_destroy(arena);
}

static char order[8];

static void note(void *letter)
{
    strncat(order, letter, 1);
}

static void test_callbacks(void **state)
{
    struct arena *arena = arena_create();
    arena_defer(arena, note, "a");
    arena_defer(arena, note, "b");
    arena_reset(arena);
    assert_string_equal(order, "ba");
    arena_reset(arena); /* each runs once */
    assert_string_equal(order, "ba");
    arena_defer(arena, note, "c");
    arena_destroy(arena);
    assert_string_equal(order, "bac");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_grow_and_copy),
        cmocka_unit_test(test_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
