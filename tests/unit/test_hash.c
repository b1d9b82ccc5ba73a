/* Hashes: the library's published values, so that stored ones stay comparable, and the hex form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static void test_known(void **state)
{
    /* XXH3 of the empty text, seed 0: 64 and 128 bits (xxHash's sanity tests). */
    assert_true(hash_bytes("", 0, 0) == 0x2d06800538d394c2ull);
    struct hash128 empty = hash128_bytes("", 0);
    assert_true(empty.high == 0x99aa06d3014798d8ull && empty.low == 0x6001c324468d497full);
    char hex[33];
    hash128_hex(empty, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
}

static void test_differences(void **state)
{
    assert_true(hash_string("abc") == hash_string("abc"));
    assert_true(hash_string("abc") != hash_string("abd"));
    assert_true(hash_bytes("abc", 3, 1) != hash_bytes("abc", 3, 2));
    assert_true(hash128_equal(hash128_bytes("a\0b", 3), hash128_bytes("a\0b", 3)));
    assert_false(hash128_equal(hash128_bytes("a\0b", 3), hash128_bytes("a\0c", 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
