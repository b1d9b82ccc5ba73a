/* Random systems of constraints against brute force: the count, the very set, and rank with unrank.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/space.h"
#include "base/text.h"

enum { SYSTEMS = 10000, WIDE = 1000, PARAMS = 5 };

struct system {
    struct space *space;
    int values[PARAMS]; /* the combination brute force is at */
    int params, constraints;
    const char *text[PARAMS + 2];
};

static const char *pick(struct rng *rng, const char *const *list, size_t count)
{
    return list[rng_below(rng, count)];
}

/* Most terms are integers; some are floats, divisions that may fail, conditionals and calls. */
static void put_term(struct text *out, struct rng *rng, int params, int depth)
{
    static const char *const ops[] = {" + ", " - ", " * ", " * ", " // ",
                                      " % ", " / ", " & ", " ** "};
    uint64_t kind = rng_below(rng, depth > 1 ? 4 : 12);
    if (kind < 3) {
        text_printf(out, "p%d", (int)rng_below(rng, (uint64_t)params));
    } else if (kind < 4) {
        text_printf(out, rng_below(rng, 6) ? "%d" : "%d.5", (int)rng_below(rng, 9));
    } else if (kind < 10) {
        const char *op = pick(rng, ops, STAX_COUNT(ops));
        text_add(out, "(");
        put_term(out, rng, params, depth + 1);
        text_add(out, op);
        if (strcmp(op, " ** ") == 0)
            text_printf(out, "%d", (int)rng_below(rng, 3));
        else
            put_term(out, rng, params, depth + 1);
        text_add(out, ")");
    } else if (kind < 11) {
        text_add(out, rng_below(rng, 2) ? "min(" : "max(");
        put_term(out, rng, params, depth + 1);
        text_add(out, ", ");
        put_term(out, rng, params, depth + 1);
        text_add(out, ")");
    } else {
        text_add(out, "(");
        put_term(out, rng, params, depth + 1);
        text_printf(out, " if p%d > 2 else ", (int)rng_below(rng, (uint64_t)params));
        put_term(out, rng, params, depth + 1);
        text_add(out, ")");
    }
}

static void put_condition(struct text *out, struct rng *rng, int params, int depth)
{
    static const char *const relations[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
    uint64_t kind = rng_below(rng, depth > 1 ? 6 : 10);
    int p = (int)rng_below(rng, (uint64_t)params), q = (int)rng_below(rng, (uint64_t)params);
    if (kind < 3) {
        put_term(out, rng, params, 0);
        text_add(out, pick(rng, relations, STAX_COUNT(relations)));
        put_term(out, rng, params, 1);
    } else if (kind < 4) {
        text_printf(out, "1 < p%d * p%d <= 12", p, q);
    } else if (kind < 5) {
        text_printf(out, rng_below(rng, 2) ? "p%d in [1, 2, p%d]" : "p%d not in range(p%d, 9, 2)",
                    p, q);
    } else if (kind < 6) {
        text_printf(out, rng_below(rng, 2) ? "p%d in divisors(p%d)" : "p%d %% p%d == 0", q, p);
    } else if (kind < 7) {
        text_add(out, "not (");
        put_condition(out, rng, params, depth + 1);
        text_add(out, ")");
    } else {
        text_add(out, "(");
        put_condition(out, rng, params, depth + 1);
        text_add(out, kind < 9 ? " or " : " and ");
        put_condition(out, rng, params, depth + 1);
        text_add(out, ")");
    }
}

static void make_system(struct system *system, struct rng *rng, struct arena *arena)
{
    memset(system, 0, sizeof *system);
    system->space = space_create("random", arena);
    system->params = 2 + (int)rng_below(rng, PARAMS - 1);
    for (int p = 0; p < system->params; p++) {
        struct value values[4];
        int count = 1 + (int)rng_below(rng, system->params < 4 ? 4 : 3);
        uint64_t kind = rng_below(rng, 8);
        for (int v = 0; v < count; v++) {
            int64_t i = kind == 0 ? 2 * v : kind == 1 ? v - 2 : kind == 2 ? 1 << v : v + 1;
            values[v] = (struct value){.kind = VALUE_INT, .i = i};
            if (kind == 3) values[v] = (struct value){.kind = VALUE_FLOAT, .f = 0.5 * v};
        }
        char name[8];
        snprintf(name, sizeof name, "p%d", p);
        assert_int_equal(space_add_values(system->space, name, values, count, false), STAX_OK);
    }
    system->constraints = 1 + (int)rng_below(rng, 3);
    for (int c = 0; c < system->constraints; c++) {
        struct text out = text_make(arena);
        put_condition(&out, rng, system->params, 0);
        system->text[c] = text_string(&out);
        assert_int_equal(space_add_constraint(system->space, system->text[c]), STAX_OK);
    }
}

/* Few parameters with many values and conditions whose values can be solved for: chains of
 * divisors, bounds on sums and products, equalities, ranges; with negative numbers, zeros and gaps.
 */
static void make_wide_system(struct system *system, struct rng *rng, struct arena *arena)
{
    static const char *const shapes[] = {
        "p%d %% p%d == 0",           "p%d %% (p%d * %d) == 0",
        "p%d * p%d <= %d",           "p%d * p%d + %d >= p1",
        "%d - p%d - p%d > 3",        "p%d - 2 * p%d == %d",
        "-p%d * p%d < %d - p0",      "p%d in divisors(p%d * %d)",
        "p%d in range(p%d, 30, %d)", "p%d not in range(p%d, %d)",
        "%d < p%d * 3 - p%d <= 20",  "p%d * p%d * %d == 24",
        "0 == p%d %% p%d",           "p%d in [i * %d for i in range(p%d)]",
        "p%d + p%d == %d or p0 > 3", "(p%d %% p%d == 0) and p%d != 2",
    };
    memset(system, 0, sizeof *system);
    system->space = space_create("wide", arena);
    system->params = 2 + (rng_below(rng, 8) == 0);
    for (int p = 0; p < system->params; p++) {
        int64_t values[40], at = rng_below(rng, 3) ? 1 : (int64_t)rng_below(rng, 12) - 10;
        int count = 12 + (int)rng_below(rng, system->params == 2 ? 24 : 4);
        bool gaps = rng_below(rng, 2);
        for (int v = 0; v < count; v++) {
            values[v] = at;
            at += gaps ? 1 + (int64_t)rng_below(rng, 3) : 1;
        }
        assert_int_equal(
            space_add_ints(system->space, arena_printf(arena, "p%d", p), values, count), STAX_OK);
    }
    system->constraints = 1 + (int)rng_below(rng, 2);
    for (int c = 0; c < system->constraints; c++) {
        const char *shape = pick(rng, shapes, STAX_COUNT(shapes));
        struct text out = text_make(arena);
        for (; *shape; shape++) { /* p%d takes a parameter, %d alone a small number */
            bool number = shape[0] == '%' && shape[1] == 'd';
            uint64_t bound = out.length && out.bytes[out.length - 1] == 'p'
                                 ? (uint64_t)system->params
                                 : 9;
            if (number)
                text_printf(&out, "%d", (int)rng_below(rng, bound));
            else if (shape[0] == '%')
                text_add(&out, "%");
            else
                text_add_n(&out, shape, 1);
            shape += shape[0] == '%';
        }
        system->text[c] = text_string(&out);
        assert_int_equal(space_add_constraint(system->space, system->text[c]), STAX_OK);
    }
}

static bool look(void *data, const char *name, struct value *value)
{
    struct system *system = data;
    int param = space_find(system->space, name);
    if (param < 0) return false;
    *value = space_param(system->space, param)->values[system->values[param]];
    return true;
}

static bool holds(struct system *system, struct expr **parsed, struct arena *moment)
{
    for (int c = 0; c < system->constraints; c++) {
        struct value value;
        if (expr_eval("c", parsed[c], look, system, moment, &value) != STAX_OK ||
            !value_true(&value))
            return false;
    }
    return true;
}

static void describe(const struct system *system)
{
    for (int c = 0; c < system->constraints; c++) print_message("  %s\n", system->text[c]);
}

static uint64_t check_system(struct system *system, struct arena *arena, struct arena *moment)
{
    struct expr *parsed[PARAMS + 2];
    for (int c = 0; c < system->constraints; c++) {
        assert_int_equal(expr_parse_text("c", system->text[c], arena, &parsed[c]), STAX_OK);
    }
    enum stax_status status = space_finish(system->space);
    const char *message = arena_text(arena, status_message());
    uint64_t valid = 0, total = 1;
    for (int p = 0; p < system->params; p++)
        total *= (uint64_t)space_param(system->space, p)->count;
    for (uint64_t at = 0; at < total; at++) {
        uint64_t rest = at, config = 0;
        for (int p = 0; p < system->params; p++) {
            uint64_t count = (uint64_t)space_param(system->space, p)->count;
            system->values[p] = (int)(rest % count);
            rest /= count;
        }
        bool expected = holds(system, parsed, moment);
        arena_reset(moment);
        valid += expected;
        if (status != STAX_OK) continue;
        const char *broken = NULL;
        bool got = space_rank(system->space, system->values, &config, &broken);
        if (got != expected) {
            describe(system);
            fail_msg("combination %d is %d, not %d", (int)at, got, expected);
        }
        assert_true(got || broken);
        if (got) {
            int back[PARAMS];
            assert_true(config < space_count(system->space));
            space_unrank(system->space, config, back);
            assert_memory_equal(back, system->values, (size_t)system->params * sizeof *back);
        }
    }
    if (status == STAX_OK) {
        assert_int_equal(space_count(system->space), valid);
    } else { /* only an empty space may be refused, and then for a reason */
        assert_int_equal(valid, 0);
        assert_int_equal(status, STAX_USAGE);
        assert_non_null(strstr(message, "no valid configuration"));
    }
    return valid;
}

static void run(int systems, void (*make)(struct system *, struct rng *, struct arena *))
{
    struct rng rng = rng_make(42, 3);
    struct arena *arena = arena_create(), *moment = arena_create();
    int partial = 0; /* neither all nor none: the systems worth testing */
    for (int i = 0; i < systems; i++) {
        struct system system;
        make(&system, &rng, arena);
        uint64_t valid = check_system(&system, arena, moment);
        partial += valid > 0 && (double)valid < space_cartesian(system.space);
        arena_reset(arena);
    }
    assert_true(partial > systems / 4);
    arena_destroy(arena);
    arena_destroy(moment);
}

static void test_random_systems(void **state)
{
    run(SYSTEMS, make_system);
}

static void test_random_wide(void **state)
{
    run(WIDE, make_wide_system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_systems),
        cmocka_unit_test(test_random_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
