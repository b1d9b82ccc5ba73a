/* Tokens, positions and messages of the expression language. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/expr.h"
#include "base/text.h"

static void test_tokens(void **state)
{
    struct arena *arena = arena_create();
    struct lexer lexer = lexer_open("t", "f32[n in 2..4096=0x1F] -> a**b//2.5e1 'it''s' .5 1_000",
                                    arena);
    static const char *const expected[] = {"f32", "[",     "n",    "in",  "2",  "..",   "4096",
                                           "=",   "0x1F",  "]",    "->",  "a",  "**",   "b",
                                           "//",  "2.5e1", "'it'", "'s'", ".5", "1_000"};
    for (size_t i = 0; i < STAX_COUNT(expected); i++) {
        struct span span = lexer.token.span;
        assert_int_equal(span.length, strlen(expected[i]));
        assert_memory_equal(span.text + span.start, expected[i], span.length);
        if (i == 4) assert_int_equal(lexer.token.i, 2);
        if (i == 8) assert_int_equal(lexer.token.i, 31);
        if (i == 15) assert_true(lexer.token.kind == TOKEN_FLOAT && lexer.token.f == 25.0);
        if (i == 16) assert_string_equal(lexer.token.text, "it");
        if (i == 19) assert_int_equal(lexer.token.i, 1000);
        lexer_next(&lexer);
    }
    assert_int_equal(lexer.token.kind, TOKEN_END);
    assert_false(lexer.failed);
    lexer_next(&lexer); /* the end stays the end */
    assert_int_equal(lexer.token.kind, TOKEN_END);
    arena_destroy(arena);
}

static void test_escapes(void **state)
{
    struct arena *arena = arena_create();
    struct lexer lexer = lexer_open("t", "\"a\\n\\\"\\\\\\q\"", arena);
    assert_string_equal(lexer.token.text, "a\n\"\\\\q");
    arena_destroy(arena);
}

/* A name in a text is no keyword. */
static void test_is(void **state)
{
    struct arena *arena = arena_create();
    struct lexer lexer = lexer_open("t", "'and' and", arena);
    assert_false(lexer_is(&lexer, "and"));
    lexer_next(&lexer);
    assert_true(lexer_accept(&lexer, "and"));
    assert_int_equal(lexer_expect(&lexer, ")"), STAX_USAGE);
    assert_string_equal(status_message(), "t:1:10: expected `)` but found the end\n"
                                          "    'and' and\n"
                                          "             ^");
    arena_destroy(arena);
}

/* Bad text, and the whole message it gives. */
static void test_messages(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a $ b", "t:1:3: unexpected character `$`\n    a $ b\n      ^"},
        {"a +\n\t\xc3\xa9 # x",
         "t:2:2: unexpected character `\xc3\xa9`\n    \t\xc3\xa9 # x\n    \t^"},
        {"\x01", "t:1:1: unexpected byte 0x01\n    ?\n    ^"},
        {"\xff", "t:1:1: unexpected byte 0xff\n    ?\n    ^"},
        {"# \xc3\xa4\xc3\xb6\n'abc", "t:2:1: this text has no closing quote\n    'abc\n    ^"},
        {"x = 9223372036854775808",
         "t:1:5: this integer is too large: the greatest is 9223372036854775807\n"
         "    x = 9223372036854775808\n        ^^^^^^^^^^^^^^^^^^^"},
        {"1e999", "t:1:1: this number is too large for a double\n    1e999\n    ^^^^^"},
        {"12ab", "t:1:1: this is neither a number nor a name\n    12ab\n    ^^^^"},
        {"0x", "t:1:1: this is neither a number nor a name\n    0x\n    ^^"},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct lexer lexer = lexer_open("t", cases[i].text, arena);
        for (int token = 0; token < 10; token++) lexer_next(&lexer);
        assert_true(lexer.failed);
        assert_int_equal(lexer.token.kind, TOKEN_END);
        assert_string_equal(status_message(), cases[i].message);
        assert_int_equal(lexer_error(&lexer, "later"), STAX_USAGE); /* the first message stays */
        assert_string_equal(status_message(), cases[i].message);
    }
    arena_destroy(arena);
}

/* Columns count characters: two-byte letters and tabs are one each. */
static void test_columns(void **state)
{
    struct arena *arena = arena_create();
    struct lexer lexer = lexer_open("t", "# \xe4\xbd\xa0\xe5\xa5\xbd\r\n\t'\xc3\xa4'\tb", arena);
    int line, column;
    span_position(lexer.token.span, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 2);
    lexer_next(&lexer);
    span_position(lexer.token.span, &line, &column);
    assert_int_equal(column, 6);
    span_error("t", lexer.token.span, "here");
    assert_string_equal(status_message(), "t:2:6: here\n    \t'\xc3\xa4'\tb\n    \t   \t^");
    arena_destroy(arena);
}

/* A long line is cut near its error, never inside a character. */
static void test_long_line(void **state)
{
    struct arena *arena = arena_create();
    struct text line = text_make(arena);
    for (int i = 0; i < 3000; i++) text_add(&line, "\xc3\xa4");
    text_add(&line, "!!");
    for (int i = 0; i < 3000; i++) text_add(&line, "\xc3\xa4");
    struct span span = {text_string(&line), 6000, 2};
    span_error("t", span, "here");
    const char *message = status_message();
    assert_non_null(strstr(message, "t:1:3001: here\n    ..."));
    assert_non_null(strstr(message, "^^"));
    assert_null(strchr(message, '?'));
    assert_true(strlen(message) < 500);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),  cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_is),      cmocka_unit_test(test_messages),
        cmocka_unit_test(test_columns), cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
