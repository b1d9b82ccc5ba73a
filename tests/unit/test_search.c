/* The parts strategies are made of: shuffles, the memo, moves, the forest, brackets; and what the
 * table promises of single strategies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/forest.h"
#include "search/moves.h"
#include "search/strategy.h"

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

/* FORM ties SPLIT, as in kernels: only (split, > 1) and (whole, 1) are valid. */
static struct space *tied_space(void)
{
    static const int64_t sizes[] = {1, 2, 4, 6, 8}, warps[] = {1, 2, 4, 8, 16, 32};
    static const char *const forms[] = {"whole", "split"};
    struct space *space = space_create("tied", arena);
    assert_int_equal(space_add_texts(space, "FORM", forms, 2), STAX_OK);
    assert_int_equal(space_add_ints(space, "SPLIT", sizes, 5), STAX_OK);
    assert_int_equal(space_add_ints(space, "WARPS", warps, 6), STAX_OK);
    assert_int_equal(space_add_constraint(space, "(FORM == 'split') == (SPLIT > 1)"), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    return space;
}

static uint64_t config_of(const struct space *space, const char *text)
{
    uint64_t config;
    assert_int_equal(space_parse_config(space, text, 0, &config), STAX_OK);
    return config;
}

static void test_shuffle_is_a_uniform_permutation(void **state)
{
    int first[5] = {0}, last[5] = {0};
    for (uint64_t seed = 0; seed < 5000; seed++) {
        struct shuffle shuffle = shuffle_make(5, rng_make(seed, 1), arena);
        bool seen[5] = {0};
        uint64_t value = 0;
        for (int i = 0; i < 5; i++) {
            assert_true(shuffle_next(&shuffle, &value));
            assert_true(value < 5 && !seen[value]);
            seen[value] = true;
            first[value] += i == 0;
            last[value] += i == 4;
        }
        assert_false(shuffle_next(&shuffle, &value));
    }
    for (int v = 0; v < 5; v++) { /* 1000 +- 4 standard deviations of 28 */
        assert_in_range(first[v], 887, 1113);
        assert_in_range(last[v], 887, 1113);
    }
}

static void test_shuffle_of_a_huge_range(void **state)
{
    struct shuffle shuffle = shuffle_make(1000000000000, rng_make(1, 1), arena);
    struct table seen = table_make(arena);
    for (int i = 0; i < 20000; i++) {
        uint64_t value, old;
        assert_true(shuffle_next(&shuffle, &value));
        assert_true(value < 1000000000000 && !table_get(&seen, value, &old));
        table_put(&seen, value, 1);
    }
    assert_int_equal(seen.count, 20000);
}

static struct trial trial_of(enum outcome outcome, double *samples, int count)
{
    return (struct trial){.outcome = outcome,
                          .message = "",
                          .log = "",
                          .samples = count,
                          .span_ns = samples,
                          .sum_ns = samples};
}

static void tell(struct memo *memo, uint64_t config, enum outcome outcome, double time)
{
    struct ask ask = {.config = config};
    struct trial trial = trial_of(outcome, &time, 1);
    memo_tell(memo, &ask, &trial);
}

static void test_memo_best(void **state)
{
    struct memo memo = memo_make(arena);
    assert_int_equal(memo_find(&memo, 7), -1);
    tell(&memo, 7, OUTCOME_OK, 5);
    tell(&memo, 8, OUTCOME_OK, 5); /* a tie: the one asked first stays */
    tell(&memo, 9, OUTCOME_FAULT, 1);
    tell(&memo, 10, OUTCOME_OK, 0); /* nothing takes no time */
    tell(&memo, 11, OUTCOME_OK, -3);
    assert_int_equal(memo.record[memo.best].config, 7);
    tell(&memo, 7, OUTCOME_OK, 6); /* told anew, slower */
    assert_int_equal(memo.record[memo.best].config, 8);
    tell(&memo, 8, OUTCOME_TIMEOUT, 1); /* the best one failed when repeated */
    assert_int_equal(memo.record[memo.best].config, 7);
    assert_int_equal(memo.told, 5);
    assert_true(isinf(memo_time(&memo, 10)) && isinf(memo_time(&memo, 99)));
}

static void test_steps_of_one_parameter(void **state)
{
    struct space *space = tied_space();
    struct moves moves = moves_make(space, arena);
    uint64_t at = config_of(space, "FORM=split,SPLIT=4,WARPS=8"), out[8];
    /* 4: over 2, times 2; 6 is adjacent but not asked for */
    assert_int_equal(moves_step(&moves, at, 1, out, 8), 2);
    assert_int_equal(out[0], config_of(space, "FORM=split,SPLIT=2,WARPS=8"));
    assert_int_equal(out[1], config_of(space, "FORM=split,SPLIT=8,WARPS=8"));
    /* 6: over 2 is absent, so the adjacent 4; times 2 is absent, so the adjacent 8 */
    at = config_of(space, "FORM=split,SPLIT=6,WARPS=32");
    assert_int_equal(moves_step(&moves, at, 1, out, 8), 2);
    assert_int_equal(out[0], config_of(space, "FORM=split,SPLIT=4,WARPS=32"));
    assert_int_equal(moves_step(&moves, at, 2, out, 8), 1); /* the greatest has one neighbour */
    assert_int_equal(moves_step(&moves, at, 0, out, 8), 0); /* whole needs SPLIT=1 */
    const uint64_t *near;
    assert_int_equal(moves_all(&moves, at, SPACE_STEP, &near), 3);
    assert_int_equal(moves_all(&moves, at, SPACE_ANY, &near), 3 + 5);
}

static void test_random_neighbours(void **state)
{
    struct space *space = tied_space();
    struct moves moves = moves_make(space, arena);
    struct rng rng = rng_make(7, 7);
    uint64_t from = config_of(space, "FORM=split,SPLIT=4,WARPS=8"), to = 0;
    int one = 0, both = 0, seen[64] = {0}, at[3], other[3];
    space_unrank(space, from, at);
    for (int i = 0; i < 4000; i++) {
        assert_true(moves_near(&moves, from, 0.5, &rng, &to) && to != from);
        space_unrank(space, to, other);
        assert_int_equal(other[0], at[0]); /* whole needs SPLIT=1, three places away */
        int split = abs(other[1] - at[1]), warps = abs(other[2] - at[2]);
        assert_true(split <= 1 && warps <= 1);
        one += split + warps == 1;
        both += split + warps == 2;
        seen[to]++;
    }
    int distinct = 0;
    for (uint64_t c = 0; c < space_count(space); c++) distinct += seen[c] > 0;
    assert_int_equal(distinct, 8); /* 3 x 3 but itself */
    assert_true(one > 1000 && both > 1000);
    for (int i = 0; i < 200; i++) { /* no further ones: one parameter alone */
        assert_true(moves_near(&moves, from, 0, &rng, &to));
        space_unrank(space, to, other);
        assert_int_equal(abs(other[1] - at[1]) + abs(other[2] - at[2]), 1);
    }
}

/* Whole needs SPLIT=1 and split more: the form takes the split along, and leaves the warps. */
static void test_tied_values(void **state)
{
    struct space *space = tied_space();
    struct moves moves = moves_make(space, arena);
    struct rng rng = rng_make(9, 9);
    uint64_t from = config_of(space, "FORM=split,SPLIT=4,WARPS=8"), to = 0;
    uint64_t whole = config_of(space, "FORM=whole,SPLIT=1,WARPS=8");
    int values[3], splits = 0, far = 0;
    for (int i = 0; i < 100; i++) {
        assert_true(moves_set(&moves, from, 0, 0, &rng, &to));
        assert_int_equal(to, whole);
        assert_true(moves_set(&moves, from, 1, 0, &rng, &to));
        assert_int_equal(to, whole);
        assert_true(moves_set(&moves, whole, 0, 1, &rng, &to));
        space_unrank(space, to, values);
        assert_true(values[0] == 1 && values[2] == 3);
        splits |= 1 << values[1];
        assert_true(moves_set(&moves, from, 2, 5, &rng, &to)); /* a free one changes alone */
        assert_int_equal(to, config_of(space, "FORM=split,SPLIT=4,WARPS=32"));
        assert_false(moves_set(&moves, from, 2, 3, &rng, &to)); /* has that value */
        far += moves_far(&moves, from, &rng, &to) && to == whole;
    }
    assert_int_equal(splits, 0x1e); /* any of the four */
    assert_in_range(far, 5, 60);    /* 1 in 6 for FORM, 1 in 15 for SPLIT */
}

/* Values 1 and 4 alone are valid: nothing is a place away, so the fallback sets one to any value;
 * and where only one configuration is valid there is no neighbour. */
static void test_random_neighbours_where_none_is_near(void **state)
{
    static const int64_t values[] = {1, 2, 3, 4};
    static const char *const constraint[] = {"A == 1 or A == 4", "A == 4"};
    for (int c = 0; c < 2; c++) {
        struct space *space = space_create("gap", arena);
        struct rng rng = rng_make(1, 1);
        uint64_t to = 77;
        assert_int_equal(space_add_ints(space, "A", values, 4), STAX_OK);
        assert_int_equal(space_add_constraint(space, constraint[c]), STAX_OK);
        assert_int_equal(space_finish(space), STAX_OK);
        struct moves moves = moves_make(space, arena);
        assert_int_equal(moves_near(&moves, 0, 0.3, &rng, &to), c == 0);
        assert_int_equal(to, c == 0 ? 1 : 77);
    }
}

static void test_walk_towards(void **state)
{
    struct space *space = tied_space();
    struct moves moves = moves_make(space, arena);
    struct rng rng = rng_make(3, 3);
    uint64_t from = config_of(space, "FORM=whole,SPLIT=1,WARPS=2");
    uint64_t goal = config_of(space, "FORM=split,SPLIT=4,WARPS=16");
    assert_int_equal(moves_towards(&moves, from, goal, 0, &rng),
                     config_of(space, "FORM=whole,SPLIT=1,WARPS=16"));
    assert_int_equal(
        moves_towards(&moves, config_of(space, "FORM=split,SPLIT=2,WARPS=1"), goal, -1, &rng),
        goal);
}

static void test_forest_learns(void **state)
{
    enum { ROWS = 400, WIDTH = 3 };
    static float x[ROWS * WIDTH], y[ROWS], mean[ROWS], spread[ROWS];
    struct rng rng = rng_make(5, 5);
    for (int i = 0; i < ROWS; i++) {
        for (int f = 0; f < WIDTH; f++) x[i * WIDTH + f] = (float)rng_below(&rng, 8);
        /* an interaction, which no single feature shows */
        y[i] = (x[i * WIDTH] > 3.5f) != (x[i * WIDTH + 1] > 3.5f) ? 1 : 0;
    }
    struct forest_options options = {30, 3, 128};
    struct forest *forest = forest_create(WIDTH, &options, arena);
    for (int round = 0; round < 4; round++) forest_fit(forest, ROWS / 2, x, y, &rng);
    forest_predict(forest, ROWS, x, mean, spread);
    int right = 0;
    for (int i = ROWS / 2; i < ROWS; i++) right += (mean[i] > 0.5f) == (y[i] > 0.5f);
    assert_true(right > 0.9 * ROWS / 2); /* on rows it never saw */
    float one[WIDTH] = {x[0], x[1], x[2]}, alone, doubt;
    forest_predict(forest, 1, one, &alone, &doubt); /* lanes change nothing */
    assert_true(alone == mean[0] && doubt == spread[0]);
}

/* ---- single strategies ---- */

struct run {
    struct search *search;
    int asks;
    struct ask ask[4096];
};

static double bend = 1; /* times are raised to this power */

static double smooth(const struct space *space, uint64_t config)
{
    int values[8];
    space_unrank(space, config, values);
    double t = 100;
    for (int i = 0; i < space_params(space); i++)
        t += (values[i] - 2) * (values[i] - 2) + 0.01 * values[i];
    return pow(t, bend);
}

static void play(const struct space *space, const char *name, int settings,
                 const char *const *setting, const struct search_problem *more, uint64_t budget,
                 struct run *run)
{
    struct search_problem problem = *more;
    problem.space = space;
    problem.budget_configs = budget;
    problem.quantile = 0.05;
    problem.confidence = 0.95;
    assert_int_equal(
        search_open(search_find(name), &problem, settings, setting, arena, &run->search), STAX_OK);
    struct table seen = table_make(arena);
    run->asks = 0;
    for (struct ask ask; search_ask(run->search, &ask, 1) > 0;) {
        uint64_t old;
        if (!table_get(&seen, ask.config, &old) && seen.count == budget) break;
        table_put(&seen, ask.config, 1);
        assert_true(run->asks < 4096);
        run->ask[run->asks++] = ask;
        double samples[128];
        int count = ask.fidelity ? ask.fidelity : 1;
        for (int i = 0; i < count; i++) samples[i] = smooth(space, ask.config);
        struct trial trial = trial_of(OUTCOME_OK, samples, count);
        search_tell(run->search, &ask, &trial);
    }
}

static struct space *wide_space(void)
{
    int64_t values[30];
    for (int i = 0; i < 30; i++) values[i] = i + 1;
    struct space *space = space_create("wide", arena);
    assert_int_equal(space_add_ints(space, "A", values, 30), STAX_OK);
    assert_int_equal(space_add_ints(space, "B", values, 30), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    return space;
}

/* DESIGN: 81@1, 34@3, 15@9, 8@27, 5@81, and a third of each rung goes on at three times the
 * samples. */
static void test_hyperband_rungs(void **state)
{
    static const struct {
        int configs, samples;
    } rung[] = {{81, 1}, {27, 3}, {9, 9},  {3, 27}, {1, 81}, {34, 3}, {11, 9}, {3, 27},
                {1, 81}, {15, 9}, {5, 27}, {1, 81}, {8, 27}, {2, 81}, {5, 81}};
    static const char *const draw[] = {"draw=model", "draw=uniform"};
    static struct run run;
    struct space *space = wide_space();
    for (int d = 0; d < 2; d++) {
        play(space, "hyperband", 1, &draw[d], &(struct search_problem){.seed = 4}, UINT64_MAX,
             &run);
        int at = 0;
        for (size_t r = 0; r < STAX_COUNT(rung); r++)
            for (int i = 0; i < rung[r].configs; i++, at++) {
                assert_true(at < run.asks);
                assert_int_equal(run.ask[at].fidelity, rung[r].samples);
            }
        assert_int_equal(at, run.asks);
    }
}

static void test_warm_starts_come_after_candidates(void **state)
{
    static struct run run;
    struct space *space = wide_space();
    const struct search_ops *const *rows;
    int count = search_table(&rows);
    uint64_t candidate[] = {5, 9}, warm[] = {500, 9, 3};
    struct search_problem more = {
        .candidates = 2, .candidate = candidate, .warm = 3, .warm_config = warm};
    for (int i = 0; i < count; i++) {
        if (rows[i]->cold) continue;
        play(space, rows[i]->name, 0, NULL, &more, 30, &run);
        uint64_t expected[] = {5, 9, 500, 3};
        for (int k = 0; k < 4; k++) assert_int_equal(run.ask[k].config, expected[k]);
    }
}

/* A valley without other optima: found long before random search would, from any start. */
static void test_baselines_go_down(void **state)
{
    static struct run run;
    static const struct {
        const char *name, *setting;
    } row[] = {{"annealing", "unit=spread"},     {"annealing", "unit=relative"},
               {"local", "leave=draw"},          {"local", "leave=shake"},
               {"genetic", "crossover=uniform"}, {"genetic", "crossover=single_point"}};
    struct space *space = wide_space();
    uint64_t best = config_of(space, "A=3,B=3");
    for (size_t r = 0; r < STAX_COUNT(row); r++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            play(space, row[r].name, 1, &row[r].setting, &(struct search_problem){.seed = seed},
                 150, &run);
            bool found = false;
            for (int i = 0; i < run.asks; i++) found = found || run.ask[i].config == best;
            if (!found) print_error("%s, %s, seed %d\n", row[r].name, row[r].setting, (int)seed);
            assert_true(found);
        }
}

/* Losses in units of the spread: times squared change nothing. Relative ones do. */
static void test_annealing_units(void **state)
{
    static struct run plain, squared;
    static const char *const unit[] = {"unit=spread", "unit=relative"};
    struct space *space = wide_space();
    for (int u = 0; u < 2; u++) {
        struct search_problem more = {.seed = 5};
        play(space, "annealing", 1, &unit[u], &more, 200, &plain);
        bend = 2;
        play(space, "annealing", 1, &unit[u], &more, 200, &squared);
        bend = 1;
        int same = 0;
        while (same < plain.asks && plain.ask[same].config == squared.ask[same].config) same++;
        if (u == 0)
            assert_int_equal(same, plain.asks);
        else
            assert_true(same < plain.asks);
    }
}

static void test_auto_stops_when_told_to(void **state)
{
    static struct run run;
    struct space *space = wide_space();
    const char *stop = "stop_within=0.01";
    play(space, "auto", 1, &stop, &(struct search_problem){.seed = 1}, UINT64_MAX, &run);
    assert_in_range(run.asks, 40, 500); /* of 900 */
    const char *claim = search_claim(run.search, arena);
    assert_non_null(strstr(claim, "; stopped: expected gain of "));
    assert_non_null(strstr(claim, "no step of one parameter from it is faster"));
    play(space, "auto", 0, NULL, &(struct search_problem){.seed = 1}, UINT64_MAX, &run);
    assert_int_equal(run.asks, 900);
}

/* The end of a known budget goes to the steps around the best, so the answer is a local optimum. */
/* Without candidates auto starts near the middle of both lists; asked to, anywhere. */
static void test_auto_starts_in_the_middle(void **state)
{
    static struct run run;
    struct space *space = wide_space();
    const char *const anywhere = "start=random";
    double far = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int values[2];
        play(space, "auto", 0, NULL, &(struct search_problem){.seed = seed}, 5, &run);
        space_unrank(space, run.ask[0].config, values);
        for (int i = 0; i < 2; i++) assert_true(values[i] >= 12 && values[i] <= 17);
        play(space, "auto", 1, &anywhere, &(struct search_problem){.seed = seed}, 5, &run);
        space_unrank(space, run.ask[0].config, values);
        far = fmax(far, abs(values[0] - 15));
    }
    assert_true(far > 8);
}

static void test_auto_polishes(void **state)
{
    static struct run run;
    struct space *space = wide_space();
    for (uint64_t seed = 0; seed < 20; seed++) {
        play(space, "auto", 0, NULL, &(struct search_problem){.seed = seed}, 60, &run);
        assert_non_null(strstr(search_claim(run.search, arena), "no step of one parameter"));
    }
}

static void test_huge_spaces(void **state)
{
    static struct run run;
    int64_t values[100];
    for (int i = 0; i < 100; i++) values[i] = i + 1;
    struct space *space = space_create("huge", arena);
    static const char *const names[] = {"A", "B", "C", "D", "E", "F"};
    for (int p = 0; p < 6; p++)
        assert_int_equal(space_add_ints(space, names[p], values, 100), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    assert_true(space_count(space) == 1000000000000);
    const struct search_ops *const *rows;
    int count = search_table(&rows);
    uint64_t candidate = 123456789;
    for (int i = 0; i < count; i++) {
        play(space, rows[i]->name, 0, NULL,
             &(struct search_problem){.candidates = 1, .candidate = &candidate}, 100, &run);
        assert_true(run.asks > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shuffle_is_a_uniform_permutation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shuffle_of_a_huge_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memo_best, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_of_one_parameter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_neighbours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_neighbours_where_none_is_near, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_tied_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_walk_towards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forest_learns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hyperband_rungs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warm_starts_come_after_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_baselines_go_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_annealing_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_stops_when_told_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_starts_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_polishes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_huge_spaces, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
