/* The parser's shapes and messages, and the evaluator against values that Python gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/expr.h"
#include "base/text.h"

/* A fully parenthesised form, to compare shapes. */
static void show(struct text *out, const struct expr *expr)
{
    static const char *const ops[] = {"-", "+",  "not", "+",  "-",  "*",  "/",  "//",
                                      "%", "**", "@",   "&",  "|",  "^",  "<<", ">>",
                                      "<", "<=", ">",   ">=", "==", "!=", "in", "not in"};
    static const char *const heads[] = {
        [EXPR_AND] = "and",     [EXPR_OR] = "or",       [EXPR_CALL] = "call",
        [EXPR_INDEX] = "index", [EXPR_SLICE] = "slice", [EXPR_LIST] = "list",
        [EXPR_TUPLE] = "tuple", [EXPR_IF] = "if",       [EXPR_LAMBDA] = "lambda",
        [EXPR_EACH] = "each",   [EXPR_COMPARE] = "cmp", [EXPR_ATTRIBUTE] = "."};
    switch (expr->kind) {
    case EXPR_INT: text_printf(out, "%lld", (long long)expr->i); return;
    case EXPR_FLOAT: text_printf(out, "%g", expr->f); return;
    case EXPR_TEXT: text_printf(out, "'%s'", expr->text); return;
    case EXPR_BOOL: text_add(out, expr->i ? "True" : "False"); return;
    case EXPR_NONE: text_add(out, "None"); return;
    case EXPR_NAME: text_add(out, expr->text); return;
    default: break;
    }
    bool plain = expr->kind == EXPR_UNARY || expr->kind == EXPR_BINARY;
    text_printf(out, "(%s", plain ? ops[expr->op] : heads[expr->kind]);
    if (expr->kind == EXPR_ATTRIBUTE) text_printf(out, " %s", expr->text);
    for (int i = 0; i < expr->count; i++) {
        if (expr->kind == EXPR_COMPARE && i > 0) text_printf(out, " %s", ops[expr->ops[i - 1]]);
        if (expr->names && expr->names[i]) text_printf(out, " %s=", expr->names[i]);
        if (!expr->kids[i]) continue;
        text_add(out, " ");
        show(out, expr->kids[i]);
    }
    text_add(out, ")");
}

static void test_shapes(void **state)
{
    static const char *const cases[][2] = {
        {"a + b * c - d", "(- (+ a (* b c)) d)"},
        {"-2 ** 2", "(- (** 2 2))"},
        {"2 ** -1 ** 2", "(** 2 (- (** 1 2)))"},
        {"a ** b ** c", "(** a (** b c))"},
        {"a @ b.T + c[0]", "(+ (@ a (. T b)) (index c 0))"},
        {"not a == b and c or d", "(or (and (not (cmp a == b)) c) d)"},
        {"!a == b && c || d", "(or (and (cmp (not a) == b) c) d)"},
        {"1 < a <= b != 3", "(cmp 1 < a <= b != 3)"},
        {"a not in [1, 2,]", "(cmp a not in (list 1 2))"},
        {"a | b ^ c & d << 1 + e", "(| a (^ b (& c (<< d (+ 1 e)))))"},
        {"if n > 32 then x else x * 2", "(if (cmp n > 32) x (* x 2))"},
        {"x if n > 32 else y if z else w", "(if (cmp n > 32) x (if z y w))"},
        {"(if n > 32 then x else x * 2) / n", "(/ (if (cmp n > 32) x (* x 2)) n)"},
        {"f(a, axis=-1, keep=True)", "(call f a axis= (- 1) keep= True)"},
        {"f(score=(i, j) -> i - j, m = i -> i)",
         "(call f score= (lambda i= j= (- i j)) m= (lambda i= i))"},
        {"() -> 1", "(lambda 1)"},
        {"x[:, None, 1:2, ::3, 4:]", "(index x (slice None None None) None (slice 1 2 None) (slice "
                                     "None None 3) (slice 4 None None))"},
        {"(1,)", "(tuple 1)"},
        {"((1), 2)", "(tuple 1 2)"},
        {"[2**i for i in range(6) if i % 2]", "(each (** 2 i) i= (call range 6) (% i 2))"},
        {"sum(i*j for i in a for j in b)", "(call sum (each (* i j) i= a j= b))"},
        {"'it' == \"a'b\"", "(cmp 'it' == 'a'b')"},
        {"a # comment\n + b", "(+ a b)"},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct expr *expr;
        struct text out = text_make(arena);
        if (expr_parse_text("t", cases[i][0], arena, &expr) != STAX_OK)
            fail_msg("%s", status_message());
        show(&out, expr);
        assert_string_equal(text_string(&out), cases[i][1]);
    }
    arena_destroy(arena);
}

static void test_spans(void **state)
{
    struct arena *arena = arena_create();
    struct expr *expr;
    const char *text = " a + f(b, c) * 2 ";
    assert_int_equal(expr_parse_text("t", text, arena, &expr), STAX_OK);
    assert_int_equal(expr->span.start, 1);
    assert_int_equal(expr->span.length, 15);
    const struct expr *call = expr->kids[1]->kids[0];
    assert_int_equal(call->span.start, 5);
    assert_int_equal(call->span.length, 7);
    /* Stops at the first token that cannot continue. */
    struct lexer lexer = lexer_open("t", "x * 2 } rest", arena);
    assert_int_equal(expr_parse(&lexer, &expr), STAX_OK);
    assert_true(lexer_is(&lexer, "}"));
    arena_destroy(arena);
}

static void test_parse_errors(void **state)
{
    static const char *const cases[][2] = {
        {"", "t:1:1: expected a value but found the end\n    \n    ^"},
        {"a b", "t:1:3: expected the end or an operator but found `b`\n    a b\n      ^"},
        {"(a", "t:1:3: expected `)` but found the end\n    (a\n      ^"},
        {"()", "t:1:1: expected a value between the parentheses\n    ()\n    ^^"},
        {"a +", "t:1:4: expected a value but found the end\n    a +\n       ^"},
        {"a + if b then c else d", "t:1:5: expected a value but found `if`: put it in "
                                   "parentheses\n    a + if b then c else d\n        ^^"},
        {"x[]", "t:1:3: expected an index but found `]`\n    x[]\n      ^"},
        {"f(a=1, 2)",
         "t:1:8: a plain argument cannot follow one with a keyword\n    f(a=1, 2)\n           ^"},
        {"(1, b) -> b",
         "t:1:2: expected the name of a parameter before `->`\n    (1, b) -> b\n     ^"},
        {"if a then b",
         "t:1:12: expected `else` but found the end\n    if a then b\n               ^"},
        {"a.1", "t:1:2: expected the end or an operator but found `.1`\n    a.1\n     ^^"},
        {"[x for 1 in y]",
         "t:1:8: expected the name of a variable but found `1`\n    [x for 1 in y]\n           ^"},
        {"a $", "t:1:3: unexpected character `$`\n    a $\n      ^"},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct expr *expr;
        assert_int_equal(expr_parse_text("t", cases[i][0], arena, &expr), STAX_USAGE);
        assert_string_equal(status_message(), cases[i][1]);
    }
    arena_destroy(arena);
}

static char *repeat(struct arena *arena, const char *head, const char *part, int times,
                    const char *tail)
{
    struct text out = text_make(arena);
    text_add(&out, head);
    for (int i = 0; i < times; i++) text_add(&out, part);
    text_add(&out, tail);
    return arena_text(arena, text_string(&out));
}

/* Whatever the nesting or the length, an answer or one message; never a crash. */
static void test_depth(void **state)
{
    static const char *const parts[] = {
        "(", "[", "-", "not ", "f(", "x[", "2**", "a if b else ", "if ", "i -> ", "(a, "};
    struct arena *arena = arena_create();
    struct expr *expr;
    for (size_t i = 0; i < STAX_COUNT(parts); i++) {
        assert_int_equal(
            expr_parse_text("t", repeat(arena, "", parts[i], 100000, "1"), arena, &expr),
            STAX_USAGE);
        assert_non_null(strstr(status_message(), "nested too deeply"));
    }
    static const char *const chains[] = {"+ 1 ", ".T", "[0]", "(1)"};
    for (size_t i = 0; i < STAX_COUNT(chains); i++) {
        assert_int_equal(expr_parse_text("t", repeat(arena, "a", chains[i], 900, ""), arena, &expr),
                         STAX_OK);
        assert_int_equal(
            expr_parse_text("t", repeat(arena, "a", chains[i], 100000, ""), arena, &expr),
            STAX_USAGE);
        assert_non_null(strstr(status_message(), "too long"));
    }
    assert_int_equal(expr_parse_text("t",
                                     repeat(arena, "", "(", 90, repeat(arena, "1", ")", 90, "")),
                                     arena, &expr),
                     STAX_OK);
    assert_int_equal(expr_parse_text("t", repeat(arena, "1", " or 1", 100000, ""), arena, &expr),
                     STAX_OK);
    arena_destroy(arena);
}

static bool lookup(void *data, const char *name, struct value *value)
{
    if (strcmp(name, "n") == 0)
        *value = (struct value){.kind = VALUE_INT, .i = 12};
    else if (strcmp(name, "h") == 0)
        *value = (struct value){.kind = VALUE_FLOAT, .f = 0.5};
    else if (strcmp(name, "s") == 0)
        *value = (struct value){.kind = VALUE_TEXT, .text = "abc"};
    else
        return false;
    return true;
}

/* Right column: what Python 3 prints for repr(), texts without quotes. */
static void test_eval(void **state)
{
    static const char *const cases[][2] = {
        {"7 // 2, -7 // 2, 7 // -2, -7 // -2", "[3, -4, -4, 3]"},
        {"7 % 3, -7 % 3, 7 % -3, -7 % -3", "[1, 2, -2, -1]"},
        {"7.5 // 2, -7.5 // 2, -7.5 % 2, 7.5 % -2, 1 % 0.1",
         "[3.0, -4.0, 0.5, -0.5, 0.09999999999999995]"},
        {"6 / 3, 1 / 3, 2 ** 10, 2 ** -1, 2 ** 0.5",
         "[2.0, 0.3333333333333333, 1024, 0.5, 1.4142135623730951]"},
        {"1e16, 1e22, 5.0, 1e-5, 0.1 + 0.2", "[1e+16, 1e+22, 5.0, 1e-05, 0.30000000000000004]"},
        {"True + True, True & False, True | 2, 6 ^ 3, 1 << 4, -8 >> 1, -1 >> 100",
         "[2, False, 3, 5, 16, -4, -1]"},
        {"1 == 1.0 == True, 'a' == 1, [1, 2] == [1.0, 2]", "[True, False, True]"},
        {"9007199254740993 == 9007199254740992.0, 9007199254740993 > 9007199254740992.0",
         "[False, True]"},
        {"1 < 2 < 3, 1 < 3 < 2, 3 in [1, 3], 3 not in [1, 3], 'b' in s",
         "[True, False, True, False, True]"},
        {"0 or 5, 0 and 5, 3 and 5, '' or s, not 0, not s", "[5, 0, 5, abc, True, False]"},
        {"n == 0 or 24 % n == 0, n != 0 and 1", "[True, 1]"},
        {"0 == 0 or 1 // 0", "True"},
        {"1 if n > 5 else 1 // 0, if n > 50 then 1 // 0 else 2", "[1, 2]"},
        {"[2**i for i in range(6)]", "[1, 2, 4, 8, 16, 32]"},
        {"[1, 2] + list(range(32, 129, 32))", "[1, 2, 32, 64, 96, 128]"},
        {"[i*j for i in range(3) for j in range(i) if j % 2 == 0]", "[0, 0]"},
        {"[0] * 3, [] * 5, range(5, 0, -2), range(0)", "[[0, 0, 0], [], [5, 3, 1], []]"},
        {"min(3, 1, 2), max([1, 5.5]), abs(-3), abs(-0.5), len([1, 2]), len(s), sum([1, 2.5]), "
         "sum(i for i in range(4))",
         "[1, 5.5, 3, 0.5, 2, 3, 3.5, 6]"},
        {"int(2.9), int(-2.9), int('7'), float(2), round(2.5), round(3.5), ceil(1.2), "
         "math.floor(-1.2), bool(2)",
         "[2, -2, 7, 2.0, 2, 4, 2, -2, True]"},
        {"log2(8), sqrt(9), math.ceil(math.log2(9)), gcd(12, 18), divisors(12), divisors(36)",
         "[3.0, 3.0, 4, 6, [1, 2, 3, 4, 6, 12], [1, 2, 3, 4, 6, 9, 12, 18, 36]]"},
        {"[1, 2, 3][-1], all([1, 0]), any([1, 0]), str(h) + 'x'", "[3, False, True, 0.5x]"},
        {"9223372036854775807 + 0, -9223372036854775807 - 1",
         "[9223372036854775807, -9223372036854775808]"},
        {"[n for n in [1, 2]], n", "[[1, 2], 12]"},
        {"-0x10, +n, !n", "[-16, 12, False]"},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct expr *expr;
        struct value value;
        char *text = arena_printf(arena, "(%s)", cases[i][0]);
        if (expr_parse_text("t", text, arena, &expr) != STAX_OK) fail_msg("%s", status_message());
        if (expr_eval("t", expr, lookup, NULL, arena, &value) != STAX_OK)
            fail_msg("%s", status_message());
        assert_string_equal(value_text(&value, arena), cases[i][1]);
    }
    arena_destroy(arena);
}

static void test_eval_errors(void **state)
{
    static const char *const cases[][2] = {
        {"1 + 2 // 0", "t:1:5: this divides by zero\n    1 + 2 // 0\n        ^^^^^^"},
        {"1 % 0", "divides by zero"},
        {"1 / 0", "divides by zero"},
        {"1.5 % 0.0", "divides by zero"},
        {"0 ** -1", "divides by zero"},
        {"9223372036854775807 + 1", "overflows 64 bits"},
        {"2 ** 63", "overflows 64 bits"},
        {"3037000500 * 3037000500", "overflows 64 bits"},
        {"-(-9223372036854775807 - 1)", "overflows 64 bits"},
        {"(-9223372036854775807 - 1) // -1", "overflows 64 bits"},
        {"1 << 63", "overflows 64 bits"},
        {"1 << -1", "shifts by a negative count"},
        {"(-8) ** 0.5", "is no real number"},
        {"zz + 1", "t:1:1: unknown name `zz`"},
        {"ff(1)", "unknown function `ff`"},
        {"min()", "another number of arguments"},
        {"'a' < 1", "no order"},
        {"'a' * 2", "needs numbers"},
        {"1 in 2", "needs a list"},
        {"[1][1]", "this is no index of a list of 1"},
        {"x -> x", "this is no number"},
        {"None", "this is no number"},
        {"range(10000000)", "range() is too long"},
        {"range(0, 1, 0)", "step other than 0"},
        {"[0] * 2000000", "too long"},
        {"sum(1 for i in range(100000) for j in range(100000) if 0)", "too many steps"},
        {"int(1e30)", "does not fit an integer"},
        {"int(1e30 - 1e30 * 1e300 * 1e300)", "does not fit an integer"},
        {"divisors(0)", "needs an integer from 1"},
        {"sqrt(-1)", "is no real number"},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        struct expr *expr;
        struct value value;
        assert_int_equal(expr_parse_text("t", cases[i][0], arena, &expr), STAX_OK);
        assert_int_equal(expr_eval("t", expr, lookup, NULL, arena, &value), STAX_USAGE);
        if (!strstr(status_message(), cases[i][1]))
            fail_msg("%s: %s", cases[i][0], status_message());
    }
    arena_destroy(arena);
}

static void collect(void *data, const char *name)
{
    text_printf(data, "%s ", name);
}

static void test_names(void **state)
{
    struct arena *arena = arena_create();
    struct expr *expr;
    struct text out = text_make(arena);
    const char *text =
        "a * min(b, a) + sum(i * c for i in range(d) if i != e) + f(k = g) + ((x, y) -> x + y + h)";
    assert_int_equal(expr_parse_text("t", text, arena, &expr), STAX_OK);
    expr_names(expr, collect, &out);
    assert_string_equal(text_string(&out), "a b d e c g h ");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_spans),
        cmocka_unit_test(test_parse_errors), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_eval),         cmocka_unit_test(test_eval_errors),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
