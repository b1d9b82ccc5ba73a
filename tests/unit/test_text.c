/* Text buffers, and packing that a short or damaged message cannot lead past its end. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void test_building(void **state)
{
    struct arena *arena = arena_create();
    struct text text = text_make(arena);
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++) text_printf(&text, "%d,", i);
    text_add(&text, "end");
    text_add_n(&text, "a\0b", 3);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 3 + 3);
    assert_memory_equal(text.bytes + text.length - 6, "enda\0b",
                        7); /* a NUL behind it, not counted */
    struct text one = text_make(arena);
    text_printf(&one, "%.*s", 5000, "x");
    assert_string_equal(text_string(&one), "x");
    arena_destroy(arena);
}

static void test_packing(void **state)
{
    struct arena *arena = arena_create();
    struct text text = text_make(arena);
    text_put_u32(&text, 0x01020304);
    text_put_u64(&text, UINT64_MAX - 1);
    text_put_f64(&text, -0.5);
    text_put_f64(&text, NAN);
    text_put_string(&text, "abc");
    text_put_string(&text, NULL);
    text_put_string(&text, "");
    text_put_blob(&text, "\0\1", 2);
    assert_memory_equal(text.bytes, "\4\3\2\1", 4); /* little-endian on every machine */
    for (size_t length = 0; length <= text.length; length++) {
        struct reader reader = {.bytes = (const unsigned char *)text.bytes, .length = length};
        struct arena *moment = arena_create();
        size_t blob_length = 0;
        uint32_t a = reader_u32(&reader);
        uint64_t b = reader_u64(&reader);
        double c = reader_f64(&reader), d = reader_f64(&reader);
        const char *e = reader_string(&reader, moment), *f = reader_string(&reader, moment);
        const char *g = reader_string(&reader, moment);
        const void *h = reader_blob(&reader, &blob_length);
        assert_true(reader.at <= length);
        assert_int_equal(reader.bad != 0, length < text.length);
        if (!reader.bad) {
            assert_true(a == 0x01020304 && b == UINT64_MAX - 1 && c == -0.5 && isnan(d));
            assert_string_equal(e, "abc");
            assert_null(f);
            assert_string_equal(g, "");
            assert_int_equal(blob_length, 2);
            assert_memory_equal(h, "\0\1", 2);
        }
        arena_destroy(moment);
    }
    struct reader huge = {.bytes = (const unsigned char *)"\xfe\xff\xff\xff", .length = 4};
    assert_null(reader_string(&huge, arena));
    assert_true(huge.bad);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
