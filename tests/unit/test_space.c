/* Spaces by example: building, bad input, neighbours, texts, hashes, restricted spaces, uniform
 * samples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/space.h"

static struct arena *arena;

static int set_up(void **state)
{
    arena = arena_create();
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(arena);
    return 0;
}

#define OK(call)                                                 \
    do {                                                         \
        if ((call) != STAX_OK) fail_msg("%s", status_message()); \
    } while (0)

/* Parameters "name values" and constraints; a parameter without values is a constraint. */
static struct space *make(const char *const (*lines)[2], int count)
{
    struct space *space = space_create("test", arena);
    for (int i = 0; i < count; i++) {
        if (lines[i][0])
            OK(space_add_expression(space, lines[i][0], lines[i][1]));
        else
            OK(space_add_constraint(space, lines[i][1]));
    }
    OK(space_finish(space));
    return space;
}
#define MAKE(lines) make(lines, (int)STAX_COUNT(lines))

static const char *const small[][2] = {
    {"XBLOCK", "[1, 2, 4, 8, 16]"},      {"R0_BLOCK", "[64, 128, 256]"},
    {"num_warps", "[2, 4, 8]"},          {"VEC", "[4, 8, 16]"},
    {NULL, "XBLOCK * R0_BLOCK <= 1024"}, {NULL, "num_warps * 32 <= R0_BLOCK"},
};

static uint64_t config_of(const struct space *space, const char *text)
{
    uint64_t config;
    OK(space_parse_config(space, text, 0, &config));
    return config;
}

static void test_count(void **state)
{
    const struct space *space = MAKE(small);
    int expected = 0;
    for (int x = 1; x <= 16; x *= 2)
        for (int r = 64; r <= 256; r *= 2)
            for (int w = 2; w <= 8; w *= 2) expected += x * r <= 1024 && w * 32 <= r;
    assert_int_equal(space_count(space), 3 * expected);
    assert_true(space_cartesian(space) == 135);
    assert_int_equal(space_constraints(space), 2);
    assert_string_equal(space_constraint(space, 1), "num_warps * 32 <= R0_BLOCK");
    assert_null(space_warning(space));
    int values[4] = {4, 2, 0, 0};
    uint64_t config;
    const char *broken;
    assert_false(space_rank(space, values, &config, &broken));
    assert_string_equal(broken, "XBLOCK * R0_BLOCK <= 1024");
    values[0] = 7;
    assert_false(space_rank(space, values, &config, &broken));
}

static void test_values(void **state)
{
    struct space *space = space_create("test", arena);
    const char *const texts[] = {"b", "a", "b"};
    const int64_t ints[] = {8, 2, 4, 2};
    const struct value mixed[] = {
        {.kind = VALUE_BOOL, .i = 1}, {.kind = VALUE_INT, .i = 1}, {.kind = VALUE_BOOL}};
    OK(space_add_texts(space, "t", texts, 3));
    OK(space_add_ints(space, "i", ints, 4));
    OK(space_add_values(space, "m", mixed, 3, false));
    OK(space_finish(space));
    assert_int_equal(space_param(space, 0)->count, 2); /* texts keep their order, repetitions go */
    assert_string_equal(space_param(space, 0)->values[0].text, "b");
    assert_false(space_param(space, 0)->ordered);
    assert_int_equal(space_param(space, 1)->count, 3); /* numbers ascend */
    assert_int_equal(space_param(space, 1)->values[0].i, 2);
    assert_true(space_param(space, 1)->ordered);
    assert_int_equal(space_param(space, 2)->count, 3); /* True is not 1 here */
    assert_int_equal(space_count(space), 18);
    uint64_t config = config_of(space, "t=a, i=0x8, m=True");
    assert_string_equal(space_config_text(space, config, arena), "t=a, i=8, m=True");
    assert_int_equal(space_int(space, config, "i", -1), 8);
    assert_int_equal(space_int(space, config, "none", -1), -1);
    assert_string_equal(space_text(space, config, "t", "-"), "a");
    assert_string_equal(space_text(space, config, "none", "-"), "-");
    assert_string_equal(space_value(space, config, 0)->text, "a");
}

static void test_dependent_ranges(void **state)
{
    static const char *const lines[][2] = {
        {"N", "[12, 18]"}, {"a", "divisors(N)"}, {"b", "[2**i for i in range(a)]"}};
    const struct space *space = MAKE(lines);
    /* 12: 1+2+3+4+6+12, 18: 1+2+3+6+9+18 */
    assert_int_equal(space_count(space), 28 + 39);
    assert_int_equal(space_param(space, 1)->count, 8); /* 1 2 3 4 6 9 12 18 */
    assert_string_equal(space_constraint(space, 0), "a in (divisors(N))");
}

static void test_definitions(void **state)
{
    struct space *space = space_create("test", arena);
    OK(space_define(space, "LIMIT", (struct value){.kind = VALUE_INT, .i = 100}));
    OK(space_add_expression(space, "x", "range(1, LIMIT + 1)"));
    OK(space_add_constraint(space, "x * x <= LIMIT and x % 2 == 0"));
    OK(space_add_constraint(space, "LIMIT > 5"));
    OK(space_finish(space));
    assert_int_equal(space_count(space), 5);
    assert_int_equal(space_definitions(space), 1);
}

/* Constraints that fail to evaluate exclude, and say so. */
static void test_warning(void **state)
{
    static const char *const lines[][2] = {
        {"a", "[0, 1, 2]"}, {"b", "[4, 5]"}, {NULL, "b % a == 0"}};
    const struct space *space = MAKE(lines);
    assert_int_equal(space_count(space), 3);
    assert_non_null(strstr(space_warning(space), "divides by zero"));
    static const char *const guarded[][2] = {
        {"a", "[0, 1, 2]"}, {"b", "[4, 5]"}, {NULL, "a == 0 or b % a == 0"}};
    space = MAKE(guarded);
    assert_int_equal(space_count(space), 5);
    assert_null(space_warning(space));
}

/* Products are regrouped inside; where that overflows and the written order does not, the answer
 * stays right. */
static void test_overflow(void **state)
{
    static const char *const lines[][2] = {{"a", "[0, 1]"},
                                           {"b", "[2**40, 2**41]"},
                                           {"c", "[2**40, 2**41]"},
                                           {NULL, "a * b * c == 0"}};
    const struct space *space = MAKE(lines);
    assert_int_equal(space_count(space), 4);
}

static void test_errors(void **state)
{
    static const char *const constraints[][2] = {
        {"a + zz == 2", "`zz` is neither a parameter of space test nor defined"},
        {"ff(a) == 2", "unknown function `ff`"},
        {"a // 0 == 1", "no valid configuration: constraint:1:1: this divides by zero"},
        {"a < 't'",
         "no valid configuration: constraint:1:1: this compares things that have no order"},
    };
    for (size_t i = 0; i < STAX_COUNT(constraints); i++) {
        struct space *space = space_create("test", arena);
        OK(space_add_expression(space, "a", "[1, 2]"));
        OK(space_add_constraint(space, constraints[i][0]));
        assert_int_equal(space_finish(space), STAX_USAGE);
        if (!strstr(status_message(), constraints[i][1])) fail_msg("%s", status_message());
    }
    struct space *space = space_create("test", arena);
    OK(space_add_expression(space, "a", "[1, 2]"));
    assert_int_equal(space_add_expression(space, "a", "[1]"), STAX_USAGE);
    assert_string_equal(status_message(), "space test: `a` is given twice: rename one");
    assert_int_equal(space_add_expression(space, "b", "[]"), STAX_USAGE);
    assert_string_equal(status_message(), "space test: parameter `b` has no values");
    assert_int_equal(space_add_expression(space, "b", "range(c)"), STAX_USAGE);
    assert_string_equal(status_message(),
                        "values of b: unknown name `c`: name earlier parameters only");
    assert_int_equal(space_add_constraint(space, "a ="), STAX_USAGE);
    assert_int_equal(space_add_expression(space, "b", "[1 // 0]"), STAX_USAGE);
}

static void test_empty(void **state)
{
    static const char *const none[][2] = {{"a", "[1, 2]"}, {NULL, "a > 5"}};
    assert_int_equal(space_count(MAKE(none)), 0);
    static const char *const constant[][2] = {{"a", "[1]"}, {"b", "[1, 2]"}, {NULL, "a > 5"}};
    const struct space *space = MAKE(constant);
    uint64_t config;
    assert_int_equal(space_count(space), 0);
    assert_false(space_rank(space, (int[]){0, 0}, &config, NULL));
    struct space *bare = space_create(
        "bare", arena); /* no parameter: one configuration, with nothing to say */
    OK(space_finish(bare));
    assert_int_equal(space_count(bare), 1);
    assert_string_equal(space_config_text(bare, 0, arena), "");
    assert_int_equal(space_neighbours(bare, 0, SPACE_ADJACENT, &config, 1), 0);
}

static void test_too_many(void **state)
{
    struct space *space = space_create("test", arena);
    for (int i = 0; i < 5; i++)
        OK(space_add_expression(space, arena_printf(arena, "p%d", i), "range(10000)"));
    assert_int_equal(space_finish(space), STAX_LIMIT);
    assert_non_null(strstr(status_message(), "more than 2^64"));
}

static void test_parse_config(void **state)
{
    static const char *const cases[][2] = {
        {"XBLOK=1", "there is no parameter `XBLOK`: name one of XBLOCK, R0_BLOCK, num_warps, VEC"},
        {"XBLOCK=3", "parameter `XBLOCK` has no value `3`: it can be 1, 2, 4, 8, 16"},
        {"XBLOCK", "`XBLOCK` is no setting: write NAME=VALUE"},
        {"VEC=4, VEC=8", "parameter `VEC` is set twice"},
        {"XBLOCK=16,R0_BLOCK=128", "`XBLOCK=16,R0_BLOCK=128` is no valid configuration: it breaks "
                                   "`XBLOCK * R0_BLOCK <= 1024`"},
    };
    const struct space *space = MAKE(small);
    uint64_t config;
    for (size_t i = 0; i < STAX_COUNT(cases); i++) {
        assert_int_equal(space_parse_config(space, cases[i][0], 0, &config), STAX_USAGE);
        assert_string_equal(status_message(), cases[i][1]);
    }
    OK(space_parse_config(space, " XBLOCK = 2 , num_warps=2,", config_of(space, "VEC=16"),
                          &config));
    assert_string_equal(space_config_text(space, config, arena),
                        "XBLOCK=2, R0_BLOCK=64, num_warps=2, VEC=16");
    for (uint64_t c = 0; c < space_count(space); c++) {
        assert_int_equal(config_of(space, space_config_text(space, c, arena)), c);
    }
}

/* All pairs, by the definitions. */
static bool near(const struct space *space, const int *a, const int *b, enum space_neighbours kind)
{
    int changed = 0, at = -1;
    for (int p = 0; p < space_params(space); p++) {
        changed += a[p] != b[p];
        if (a[p] != b[p]) at = p;
        if (kind == SPACE_ADJACENT && (a[p] - b[p] > 1 || b[p] - a[p] > 1)) return false;
    }
    if (kind == SPACE_ADJACENT) return changed > 0;
    if (changed != 1) return false;
    const struct param *param = space_param(space, at);
    if (kind == SPACE_ANY || !param->ordered) return true;
    double from = value_number(&param->values[a[at]]), to = value_number(&param->values[b[at]]);
    bool up = b[at] > a[at], has = false;
    double wanted = (from > 0) == up ? 2 * from : from / 2;
    for (int v = 0; v < param->count; v++)
        has = has || (value_number(&param->values[v]) == wanted && v != a[at]);
    return has ? to == wanted : b[at] == a[at] + (up ? 1 : -1);
}

static void check_neighbours(const struct space *space)
{
    enum { MOST = 400 };
    for (int kind = SPACE_STEP; kind <= SPACE_ADJACENT; kind++) {
        for (uint64_t c = 0; c < space_count(space); c++) {
            uint64_t found[MOST], first[2], d = 0;
            int a[8], b[8], count = space_neighbours(space, c, kind, found, MOST), at = 0;
            space_unrank(space, c, a);
            for (d = 0; d < space_count(space); d++) {
                space_unrank(space, d, b);
                if (d == c || !near(space, a, b, kind)) continue;
                assert_true(at < count);
                assert_int_equal(found[at], d);
                at++;
            }
            assert_int_equal(at, count);
            int two = space_neighbours(space, c, kind, first, 2);
            assert_int_equal(two, count < 2 ? count : 2);
            assert_memory_equal(first, found, (size_t)two * sizeof *first);
        }
    }
}

static void test_neighbours(void **state)
{
    check_neighbours(MAKE(small));
    static const char *const odd[][2] = {
        {"a", "[-4, -2, -1, 0, 1, 3, 6]"}, {"b", "[0.5, 1.0, 1.5, 4]"},
        {"c", "['x', 'y', 'z']"},          {"d", "[False, True]"},
        {NULL, "a + b != 1.5 or d"},       {NULL, "c != 'y' or a > 0"}};
    check_neighbours(MAKE(odd));
}

static void test_restricted(void **state)
{
    struct space *space = space_create("recorded", arena);
    const int rows[][3] = {{1, 0, 2}, {0, 1, 1}, {1, 0, 2}, {0, 0, 0}, {1, 1, 0}};
    OK(space_add_expression(space, "a", "[1, 2]"));
    OK(space_add_expression(space, "b", "[1, 2]"));
    OK(space_add_expression(space, "c", "[1, 2, 3]"));
    OK(space_restrict_to(space, &rows[0][0], 5));
    OK(space_finish(space));
    assert_int_equal(space_count(space), 4);
    uint64_t config;
    const char *broken;
    for (int i = 0; i < 5; i++) assert_true(space_rank(space, rows[i], &config, NULL));
    assert_false(space_rank(space, (int[]){1, 1, 1}, &config, &broken));
    assert_string_equal(broken, "the configuration is not among the recorded ones");
    check_neighbours(space);
}

/* Identity: the same names and values in any order and any space. */
static void test_hash_and_translate(void **state)
{
    static const char *const turned[][2] = {{"VEC", "[16, 4]"},
                                            {"num_warps", "[1, 2, 4]"},
                                            {"R0_BLOCK", "[128, 64]"},
                                            {"XBLOCK", "[1, 2, 3]"},
                                            {NULL, "XBLOCK < 3"}};
    const struct space *a = MAKE(small), *b = MAKE(turned);
    uint64_t from = config_of(a, "XBLOCK=2, R0_BLOCK=128, num_warps=4, VEC=16"), to;
    assert_true(space_translate(a, from, b, &to));
    assert_string_equal(space_config_text(b, to, arena),
                        "VEC=16, num_warps=4, R0_BLOCK=128, XBLOCK=2");
    assert_true(hash128_equal(space_config_hash(a, from), space_config_hash(b, to)));
    assert_false(space_translate(a, config_of(a, "XBLOCK=2, VEC=8"), b, &to));
    for (uint64_t c = 1; c < space_count(a); c++) {
        assert_false(hash128_equal(space_config_hash(a, c), space_config_hash(a, c - 1)));
    }
}

/* Chi-square with a fixed seed: 66 cells, 65 degrees of freedom, whose 0.1 % points are 35.4 and
 * 106. */
static void test_uniform(void **state)
{
    enum { DRAWS = 66000 };
    const struct space *space = MAKE(small);
    int seen[128] = {0};
    struct rng rng = rng_make(7, 1);
    uint64_t cells = space_count(space);
    assert_int_equal(cells, 66);
    for (int i = 0; i < DRAWS; i++) seen[space_sample(space, &rng)]++;
    double chi = 0, expected = (double)DRAWS / (double)cells;
    for (uint64_t c = 0; c < cells; c++)
        chi += (seen[c] - expected) * (seen[c] - expected) / expected;
    assert_true(chi > 35.4 && chi < 106);
}

/* 10^12 combinations in chains of divisors, and products over many parameters. */
static void test_chains(void **state)
{
    static const char *const chain[][2] = {{"a", "range(1, 1001)"}, {"b", "range(1, 1001)"},
                                           {"c", "range(1, 1001)"}, {"d", "range(1, 1001)"},
                                           {NULL, "b % a == 0"},    {NULL, "c % b == 0"},
                                           {NULL, "d % c == 0"}};
    uint64_t expected =
        0; /* chains of length 4 that end at d: divisor function d_4 by multiplication */
    for (int b = 1; b <= 1000; b++) {
        int below = 0, above = 0;
        for (int a = 1; a <= b; a++) below += b % a == 0;
        for (int c = b; c <= 1000; c += b) above += 1000 / c;
        expected += (uint64_t)below * (uint64_t)above;
    }
    const struct space *space = MAKE(chain);
    assert_int_equal(space_count(space), expected);
    assert_true(space_cartesian(space) == 1e12);
    assert_true(space_bytes(space) < 1000000);
    struct rng rng = rng_make(5, 5);
    for (int i = 0; i < 1000; i++) {
        int values[4];
        uint64_t config = space_sample(space, &rng), back;
        space_unrank(space, config, values);
        assert_int_equal((values[3] + 1) % (values[2] + 1) + (values[2] + 1) % (values[1] + 1), 0);
        assert_true(space_rank(space, values, &back, NULL) && back == config);
    }
    static const char *const wide[][2] = {{"a", "range(1, 10001)"},
                                          {"b", "range(1, 10001)"},
                                          {"c", "divisors(b)"},
                                          {NULL, "b % a == 0"}};
    space = MAKE(wide);
    expected = 0; /* b has d(b) choices of a and d(b) of c */
    for (int b = 1; b <= 10000; b++) {
        uint64_t divisors = 0;
        for (int d = 1; d * d <= b; d++) divisors += b % d ? 0 : 1 + (d * d != b);
        expected += divisors * divisors;
    }
    assert_int_equal(space_count(space), expected);
    struct space *product = space_create("product", arena);
    for (int p = 0; p < 12; p++)
        OK(space_add_expression(product, arena_printf(arena, "p%d", p),
                                "[2**i for i in range(5)]"));
    OK(space_add_constraint(product, "p0*p1*p2*p3*p4*p5*p6*p7*p8*p9*p10*p11 == 2**24"));
    OK(space_finish(product));
    assert_int_equal(space_count(product),
                     19611175); /* the central coefficient of (1+x+x^2+x^3+x^4)^12 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dependent_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_definitions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parse_config, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_neighbours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restricted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hash_and_translate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uniform, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_chains, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
