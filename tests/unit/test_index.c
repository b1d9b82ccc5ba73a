/* Index expressions: the simplifications that kernels rely on, and random ones against direct
 * evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "codegen/ir.h"

static struct arena *arena;
static const char *const names[] = {"i", "j", "k", "l"};

static int setup(void **state)
{
    arena = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(arena);
    return 0;
}

static const struct index *var(int v, int64_t factor)
{
    return index_mul(arena, index_var(arena, v), factor);
}

static const struct index *plus(const struct index *a, const struct index *b)
{
    return index_add(arena, a, b);
}

static void expect(const struct index *index, const char *text)
{
    struct text out = text_make(arena);
    index_print(&out, index, names);
    assert_string_equal(text_string(&out), text);
}

static void test_printing(void **state)
{
    expect(plus(var(0, 8192), var(1, 1)), "j + 8192*i");
    expect(plus(plus(var(0, 2), index_const(arena, -3)), var(0, -2)), "-3");
    expect(plus(var(0, 1), index_const(arena, -3)), "i - 3");
    expect(plus(var(1, -1), index_const(arena, 7)), "(-1)*j + 7");
}

static void test_division_by_ranges(void **state)
{
    const int64_t size[] = {10, 128, 64, 4};
    const struct index *flat = plus(var(0, 128), var(1, 1));
    expect(index_div(arena, flat, 128, size), "i");
    expect(index_mod(arena, flat, 128, size), "j");
    expect(index_div(arena, flat, 64, size), "2*i + (j/64)");
    expect(index_mod(arena, flat, 256, size), "j + 128*(i%2)");
    expect(index_div(arena, index_div(arena, var(1, 1), 4, size), 8, size), "(j/32)");
    expect(index_mod(arena, var(1, 2), 256, size), "2*j");
    expect(index_div(arena, plus(var(2, 1), index_const(arena, 64)), 64, size), "1");
    /* What two reshapes take apart they put together again. */
    const struct index *a = index_div(arena, var(1, 1), 8, size),
                       *b = index_mod(arena, var(1, 1), 8, size);
    expect(plus(index_mul(arena, a, 8), b), "j");
    const struct index *c = index_mod(arena, a, 4, size);
    expect(plus(index_mul(arena, c, 24), index_mul(arena, b, 3)), "3*(j%32)");
}

/* C divides towards zero: dividends that may be negative are lifted before they are printed. */
static void test_negative_dividends(void **state)
{
    const int64_t size[] = {16, 16, 16, 16};
    const struct index *down = plus(var(0, -1), index_const(arena, 7));
    const struct index *quotient = index_div(arena, down, 8, size),
                       *rest = index_mod(arena, down, 8, size);
    expect(quotient, "(((-1)*i + 15)/8) - 1");
    expect(rest, "(((-1)*i + 15)%8)");
    for (int64_t i = 0; i < 16; i++) {
        assert_int_equal(index_eval(quotient, &i), i <= 7 ? 0 : i <= 15 ? -1 : -2);
        assert_int_equal(index_eval(rest, &i), (7 - i + 16) % 8);
    }
}

static void test_affine(void **state)
{
    const int64_t size[] = {10, 128, 64, 4};
    int64_t coefficient[4], offset;
    assert_true(index_affine(plus(plus(var(0, 5), var(2, -1)), index_const(arena, 9)), 4,
                             coefficient, &offset));
    assert_int_equal(coefficient[0], 5);
    assert_int_equal(coefficient[1], 0);
    assert_int_equal(coefficient[2], -1);
    assert_int_equal(offset, 9);
    assert_false(index_affine(index_mod(arena, var(1, 1), 8, size), 4, coefficient, &offset));
}

/* An address may pass 2^31 elements, or its parts may although the sum does not. */
static void test_width(void **state)
{
    const int64_t size[] = {65536, 32768, 2, 2};
    assert_true(index_fits_i32(plus(var(0, 32768), var(1, 1)), size)); /* 2^31 - 1 */
    assert_false(index_fits_i32(plus(plus(var(0, 32768), var(1, 1)), index_const(arena, 1)), size));
    assert_false(index_fits_i32(var(2, ((int64_t)1 << 31) + 64), size));
    assert_false(index_fits_i32(plus(var(2, (int64_t)1 << 32), var(3, -((int64_t)1 << 32))), size));
}

/* ---- random trees: built by the simplifying constructors and by plain arithmetic side by side
 * ---- */

struct pair {
    const struct index *index;
    int64_t value[81]; /* at each point of 3 x 3 x 3 x 3 */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static struct pair random_pair(struct rng *rng, const int64_t *size, int depth)
{
    struct pair out, a;
    int64_t number = (int64_t)rng_below(rng, 9) - 3, by = 1 + (int64_t)rng_below(rng, 8);
    if (depth == 0 || rng_below(rng, 6) == 0) {
        int v = (int)rng_below(rng, 4);
        bool constant = rng_below(rng, 4) == 0;
        out.index = constant ? index_const(arena, number) : index_var(arena, v);
        for (int p = 0; p < 81; p++) {
            int64_t at[4] = {p / 27, p / 9 % 3, p / 3 % 3, p % 3};
            out.value[p] = constant ? number : at[v] % size[v];
        }
        return out;
    }
    a = random_pair(rng, size, depth - 1);
    switch (rng_below(rng, 4)) {
    case 0: {
        struct pair b = random_pair(rng, size, depth - 1);
        out.index = index_add(arena, a.index, b.index);
        for (int p = 0; p < 81; p++) {
            out.value[p] = a.value[p] + b.value[p];
        }
        break;
    }
    case 1:
        out.index = index_mul(arena, a.index, number);
        for (int p = 0; p < 81; p++) {
            out.value[p] = a.value[p] * number;
        }
        break;
    case 2:
        out.index = index_div(arena, a.index, by, size);
        for (int p = 0; p < 81; p++) {
            out.value[p] = floor_div(a.value[p], by);
        }
        break;
    default:
        out.index = index_mod(arena, a.index, by, size);
        for (int p = 0; p < 81; p++) {
            out.value[p] = a.value[p] - by * floor_div(a.value[p], by);
        }
        break;
    }
    return out;
}

/* Every printed dividend is >= 0 over the whole domain. */
static bool dividends_fit_c(const struct index *index, const int64_t *size)
{
    int64_t low, high;
    if (index->kind == INDEX_DIV || index->kind == INDEX_MOD) {
        index_range(index->a, size, &low, &high);
        if (low < 0) {
            return false;
        }
    }
    return (!index->a || dividends_fit_c(index->a, size)) &&
           (!index->b || dividends_fit_c(index->b, size));
}

static void test_random(void **state)
{
    struct rng rng = rng_make(7, 0);
    for (int n = 0; n < 3000; n++) {
        int64_t size[4];
        for (int v = 0; v < 4; v++) {
            size[v] = 1 + (int64_t)rng_below(&rng, 3);
        }
        struct pair pair = random_pair(&rng, size, 5);
        int64_t low, high;
        index_range(pair.index, size, &low, &high);
        assert_true(dividends_fit_c(pair.index, size));
        for (int p = 0; p < 81; p++) {
            int64_t at[4] = {p / 27 % size[0], p / 9 % 3 % size[1], p / 3 % 3 % size[2],
                             p % 3 % size[3]};
            int64_t value = index_eval(pair.index, at);
            if (value != pair.value[p] || value < low || value > high) {
                struct text text = text_make(arena);
                index_print(&text, pair.index, names);
                fail_msg("%s gives %lld, not %lld, range %lld..%lld", text_string(&text),
                         (long long)value, (long long)pair.value[p], (long long)low,
                         (long long)high);
            }
        }
        if (n % 64 == 0) {
            arena_reset(arena);
        }
    }
}

static void test_replace(void **state)
{
    const int64_t size[] = {128, 8192}; /* listing 9.4: [64, 2] merged */
    const struct index *both = index_var(arena, 0);
    const struct index *with[3] = {index_div(arena, both, 2, size), index_mod(arena, both, 2, size),
                                   index_var(arena, 1)};
    const struct index *old = plus(plus(var(0, 16384), var(1, 8192)), var(2, 1));
    const char *const after[] = {"x0", "r0_1"};
    struct text out = text_make(arena);
    index_print(&out, index_replace(arena, old, with, size), after);
    assert_string_equal(text_string(&out), "r0_1 + 8192*x0");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_printing),
        CASE(test_division_by_ranges),
        CASE(test_negative_dividends),
        CASE(test_affine),
        CASE(test_width),
        CASE(test_random),
        CASE(test_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
