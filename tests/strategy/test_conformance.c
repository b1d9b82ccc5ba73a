/* One conformance test over every row of the strategy table, on made-up spaces and times: what a
 * session may rely on whatever the strategy. A new row is tested by being a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "search/boosted.h"

enum { MAX_ASKS = 20000, MAX_OUT = 8 };

/* ---- made-up spaces ---- */

static struct space *grid(struct arena *arena, int a, int b, int c, const char *constraint)
{
    static const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    static const int64_t counts[] = {1, 2, 3, 5, 7, 9, 12, 20};
    static const char *const words[] = {"x", "y", "z"};
    struct space *space = space_create("grid", arena);
    assert_int_equal(space_add_ints(space, "A", powers, a), STAX_OK);
    if (b) assert_int_equal(space_add_ints(space, "B", counts, b), STAX_OK);
    if (c) assert_int_equal(space_add_texts(space, "C", words, c), STAX_OK);
    if (constraint) assert_int_equal(space_add_constraint(space, constraint), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    return space;
}

/* No point has a neighbour in one parameter: only A = B is there. */
static struct space *diagonal(struct arena *arena)
{
    static const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128};
    int rows[16];
    struct space *space = space_create("diagonal", arena);
    assert_int_equal(space_add_ints(space, "A", powers, 8), STAX_OK);
    assert_int_equal(space_add_ints(space, "B", powers, 8), STAX_OK);
    for (int i = 0; i < 8; i++) rows[2 * i] = rows[2 * i + 1] = i;
    assert_int_equal(space_restrict_to(space, rows, 8), STAX_OK);
    assert_int_equal(space_finish(space), STAX_OK);
    return space;
}

enum shape { ONE, TWO, ROW, SMALL, MIDDLE, DIAGONAL, SHAPES };

static struct space *space_of(enum shape shape, struct arena *arena)
{
    switch (shape) {
    case ONE: return grid(arena, 1, 0, 0, NULL);
    case TWO: return grid(arena, 2, 0, 0, NULL);
    case ROW: return grid(arena, 10, 0, 0, NULL);
    case SMALL: return grid(arena, 4, 3, 2, NULL);
    case MIDDLE: return grid(arena, 10, 8, 3, "A * B <= 1024 or C == 'x'");
    case DIAGONAL: return diagonal(arena);
    default: return NULL;
    }
}

/* ---- made-up times ---- */

struct world {
    const struct space *space;
    double power, scale, shift; /* time = scale * (t^power + shift): monotone */
    int fail_percent;
    double failed_ns; /* what a failing trial carries as samples: must not matter */
};

static bool fails(const struct world *world, uint64_t config)
{
    return (int)(rng_mix(config * 31 + 7) % 100) < world->fail_percent;
}

/* Smooth in the values with a ripple, so that there are several local optima; no ties. */
static double time_of(const struct world *world, uint64_t config)
{
    int values[8];
    space_unrank(world->space, config, values);
    double t = 100;
    for (int i = 0; i < space_params(world->space); i++) {
        double best = 0.6 * space_param(world->space, i)->count;
        t += 10 * (values[i] - best) * (values[i] - best);
    }
    t += 15 * (double)(rng_mix(config) >> 11) * 0x1p-53;
    return world->scale * (pow(t, world->power) + world->shift);
}

/* ---- a session in small ---- */

/* The setting all searches of a pass are opened with; rows without that option sit it out. */
static const char *learner;

struct log {
    int asks;
    uint64_t config[MAX_ASKS];
    int fidelity[MAX_ASKS];
    int distinct; /* configurations measured */
    bool done;    /* ended by the strategy */
    double best;
    uint64_t best_config;
};

struct session {
    const struct search_ops *ops;
    const struct world *world;
    uint64_t seed, budget;
    int outstanding;
    uint64_t tell_seed; /* order of tells among what is outstanding */
    int candidates;
};

static void answer(const struct session *session, const struct ask *ask, struct search *search,
                   struct log *log)
{
    const struct world *world = session->world;
    bool bad = fails(world, ask->config);
    int n = ask->fidelity ? ask->fidelity : 5;
    double samples[1024];
    assert_true(n <= 1024);
    for (int i = 0; i < n; i++) samples[i] = bad ? world->failed_ns : time_of(world, ask->config);
    struct trial trial = {.outcome = bad ? OUTCOME_FAULT : OUTCOME_OK,
                          .message = "",
                          .log = "",
                          .samples = bad && !(world->failed_ns > 0) ? 0 : n,
                          .span_ns = samples,
                          .sum_ns = samples};
    if (!bad && samples[0] < log->best) {
        log->best = samples[0];
        log->best_config = ask->config;
    }
    search_tell(search, ask, &trial);
}

/* Runs a strategy as a session does: it stops asking when the next ask would break the budget. */
static void run(const struct session *session, struct log *log)
{
    struct arena *arena = arena_create();
    uint64_t size = space_count(session->world->space);
    uint64_t candidate[3] = {size / 2, 0, size - 1};
    struct search_problem problem = {.space = session->world->space,
                                     .candidates = session->candidates,
                                     .candidate = candidate,
                                     .seed = session->seed,
                                     .budget_configs = session->budget,
                                     .quantile = 0.05,
                                     .confidence = 0.95};
    struct search *search;
    assert_int_equal(search_open(session->ops, &problem, learner ? 1 : 0, &learner, arena, &search),
                     STAX_OK);
    memset(log, 0, sizeof *log);
    log->best = INFINITY;
    bool *seen = ARENA_ARRAY(arena, bool, size);
    struct ask out[MAX_OUT];
    int held = 0;
    bool over = false;
    struct rng order = rng_make(session->tell_seed, 1);
    while (!over || held) {
        struct ask asks[MAX_OUT];
        int got = over || held == session->outstanding
                      ? SEARCH_WAIT
                      : search_ask(search, asks, session->outstanding - held);
        if (got == SEARCH_DONE) over = log->done = true;
        for (int i = 0; i < got && !over; i++) {
            assert_true(asks[i].config < size);
            assert_true(asks[i].fidelity >= 0);
            assert_int_equal(asks[i].id, log->asks);
            if (!seen[asks[i].config] && (uint64_t)log->distinct == session->budget) {
                over = true;
                break;
            }
            log->distinct += !seen[asks[i].config];
            seen[asks[i].config] = true;
            assert_true(log->asks < MAX_ASKS);
            log->config[log->asks] = asks[i].config;
            log->fidelity[log->asks++] = asks[i].fidelity;
            out[held++] = asks[i];
        }
        if (got <= 0 && held) {
            int pick = (int)rng_below(&order, (uint64_t)held);
            answer(session, &out[pick], search, log);
            out[pick] = out[--held];
        }
    }
    const char *claim = search_claim(search, arena); /* must not crash whenever it is asked for */
    assert_true(claim == NULL || strlen(claim) > 0);
    /* it did not fall back to another learner on the way */
    assert_false(claim && learner && strstr(claim, "XGBoost"));
    arena_destroy(arena);
}

static void same_asks(const struct search_ops *ops, const struct log *a, const struct log *b)
{
    if (a->asks != b->asks) print_error("%s: %d and %d asks\n", ops->name, a->asks, b->asks);
    assert_int_equal(a->asks, b->asks);
    assert_memory_equal(a->config, b->config, (size_t)a->asks * sizeof a->config[0]);
    assert_memory_equal(a->fidelity, b->fidelity, (size_t)a->asks * sizeof a->fidelity[0]);
}

static bool takes_part(const struct search_ops *ops)
{
    if (!learner) return true;
    for (const struct search_option *o = ops->options; o && o->name; o++)
        if (strcmp(o->name, "learner") == 0) return true;
    return false;
}

#define EACH_ROW(ops)                      \
    const struct search_ops *const *rows_; \
    int count_ = search_table(&rows_);     \
    for (int i_ = 0; i_ < count_; i_++)    \
        for (const struct search_ops *ops = rows_[i_]; ops && takes_part(ops); ops = NULL)

static struct log first, second;

/* ---- the tests ---- */

static void test_rows_are_complete(void **state)
{
    EACH_ROW(ops)
    {
        assert_non_null(ops->summary);
        assert_true(strlen(ops->summary) > 10 && strlen(ops->source) > 5);
        assert_ptr_equal(search_find(ops->name), ops);
        for (const struct search_option *o = ops->options; o && o->name; o++)
            assert_true(o->help && strlen(o->help) > 5);
    }
    assert_null(search_find("nosuch"));
}

/* Every degenerate space and budget ends, measures nothing twice over, and spends no more than it
 * may. */
static void test_ends_and_keeps_the_budget(void **state)
{
    static const int fail[] = {0, 40, 100};
    EACH_ROW(ops)
    for (int shape = 0; shape < SHAPES; shape++) {
        struct arena *arena = arena_create();
        const struct space *space = space_of(shape, arena);
        uint64_t size = space_count(space);
        uint64_t budgets[] = {1, 2, 7, size, 3 * size + 5, UINT64_MAX};
        for (size_t b = 0; b < STAX_COUNT(budgets); b++)
            for (size_t f = 0; f < STAX_COUNT(fail); f++) {
                struct world world = {space, 1, 1, 0, fail[f], 1};
                struct session session = {ops, &world, 3, budgets[b], 1, 0, 3};
                run(&session, &first);
                assert_true(first.asks > 0);
                assert_true((uint64_t)first.distinct <= budgets[b]);
                assert_true((uint64_t)first.distinct <= size);
                /* a strategy that promises to go on ends only when all is measured */
                if (!strcmp(ops->name, "exhaustive") || !strcmp(ops->name, "local") ||
                    !strcmp(ops->name, "annealing") || !strcmp(ops->name, "genetic"))
                    assert_int_equal(first.distinct, budgets[b] < size ? budgets[b] : size);
            }
        arena_destroy(arena);
    }
}

/* An ask without fidelity is new; one with fidelity asks for more than was measured. */
static void test_no_ask_is_for_nothing(void **state)
{
    EACH_ROW(ops)
    {
        struct arena *arena = arena_create();
        struct world world = {space_of(MIDDLE, arena), 1, 1, 0, 20, 1};
        struct session session = {ops, &world, 5, UINT64_MAX, 4, 0, 2};
        run(&session, &first);
        int *had = ARENA_ARRAY(arena, int, space_count(world.space));
        for (int i = 0; i < first.asks; i++) {
            int *here = &had[first.config[i]], fidelity = first.fidelity[i];
            assert_true(*here == 0 || fidelity > *here);
            *here = fidelity ? fidelity : 1;
        }
        arena_destroy(arena);
    }
}

static void test_same_seed_same_asks_any_order_of_tell(void **state)
{
    EACH_ROW(ops)
    for (int shape = ROW; shape < SHAPES; shape++) {
        struct arena *arena = arena_create();
        struct world world = {space_of(shape, arena), 1, 1, 0, 25, 1};
        struct session session = {ops, &world, 11, 150, 1, 0, 2};
        run(&session, &first);
        for (int n = 1; n <= MAX_OUT; n++) {
            session.outstanding = n;
            session.tell_seed = (uint64_t)n;
            run(&session, &second);
            same_asks(ops, &first, &second);
            assert_true(first.best == second.best);
        }
        arena_destroy(arena);
    }
}

static void test_another_seed_other_asks(void **state)
{
    EACH_ROW(ops)
    {
        if (!strcmp(ops->name, "heuristic") || !strcmp(ops->name, "coordinate"))
            continue; /* these follow the candidates alone */
        struct arena *arena = arena_create();
        struct world world = {space_of(MIDDLE, arena), 1, 1, 0, 0, 1};
        struct session session = {ops, &world, 1, 60, 1, 0, 1};
        run(&session, &first);
        session.seed = 2;
        run(&session, &second);
        assert_true(memcmp(first.config, second.config, 40 * sizeof first.config[0]) != 0);
        arena_destroy(arena);
    }
}

/* Shifted, stretched, bent upwards: where only the order counts, nothing changes. Maximising f by
 * minimising a falling function of it is such a change of the objective. The others compare
 * relative times: any unit will do. */
static void test_monotone_changes_of_the_objective(void **state)
{
    static const char *const relative[] = {"coordinate", "annealing"};
    EACH_ROW(ops)
    {
        bool by_ratio = false;
        for (size_t i = 0; i < STAX_COUNT(relative); i++)
            by_ratio = by_ratio || !strcmp(ops->name, relative[i]);
        struct arena *arena = arena_create();
        struct world plain = {space_of(MIDDLE, arena), 1, 1, 0, 15, 1};
        struct world changed[] = {{plain.space, 1, 1024, 0, 15, 1},
                                  {plain.space, 3, 1, 0, 15, 1},
                                  {plain.space, 1, 1, 1e6, 15, 1},
                                  {plain.space, -1, -1, -10, 15, 1}};
        struct session session = {ops, &plain, 21, 120, 1, 0, 2};
        run(&session, &first);
        for (size_t c = 0; c < (by_ratio ? 1 : STAX_COUNT(changed)); c++) {
            session.world = &changed[c];
            run(&session, &second);
            same_asks(ops, &first, &second);
            assert_int_equal(first.best_config, second.best_config);
        }
        arena_destroy(arena);
    }
}

/* What a failed trial carries as samples - nothing, a nanosecond, an hour - changes no ask. */
static void test_failures_never_attract(void **state)
{
    static const double carried[] = {0, 1e-3, 1, 3.6e12, NAN};
    EACH_ROW(ops)
    for (size_t c = 1; c < STAX_COUNT(carried); c++) {
        struct arena *arena = arena_create();
        struct world world = {space_of(MIDDLE, arena), 1, 1, 0, 60, carried[0]};
        struct session session = {ops, &world, 8, 150, 1, 0, 3};
        run(&session, &first);
        world.failed_ns = carried[c];
        run(&session, &second);
        same_asks(ops, &first, &second);
        assert_false(isinf(first.best) && first.distinct > 20);
        arena_destroy(arena);
    }
}

/* The book's heuristic is always measured, first, by whatever is not a uniform sample. */
static void test_candidate_first(void **state)
{
    EACH_ROW(ops)
    {
        if (!strcmp(ops->name, "random")) continue;
        struct arena *arena = arena_create();
        struct world world = {space_of(MIDDLE, arena), 1, 1, 0, 0, 1};
        struct session session = {ops, &world, 8, 100, 1, 0, 3};
        run(&session, &first);
        assert_int_equal(first.config[0], space_count(world.space) / 2);
        arena_destroy(arena);
    }
}

static void test_no_candidates_is_fine(void **state)
{
    EACH_ROW(ops)
    {
        if (!strcmp(ops->name, "heuristic")) continue;
        struct arena *arena = arena_create();
        struct world world = {space_of(MIDDLE, arena), 1, 1, 0, 30, 1};
        struct session session = {ops, &world, 9, 100, 2, 0, 0};
        run(&session, &first);
        assert_true(first.distinct >= 20 && isfinite(first.best));
        arena_destroy(arena);
    }
}

static void test_bad_options_are_refused(void **state)
{
    EACH_ROW(ops)
    {
        struct arena *arena = arena_create();
        uint64_t candidate = 0;
        struct search_problem problem = {.space = space_of(SMALL, arena),
                                         .candidates = 1,
                                         .candidate = &candidate,
                                         .budget_configs = 10,
                                         .quantile = 0.05,
                                         .confidence = 0.95};
        struct search *search;
        const char *unknown[] = {"nosuch=1"};
        assert_int_equal(search_open(ops, &problem, 1, unknown, arena, &search), STAX_USAGE);
        assert_non_null(strstr(status_message(), ops->name));
        for (const struct search_option *o = ops->options; o && o->name; o++) {
            const char *texts[4] = {"", "banana"};
            int count = 2;
            if (o->kind != SEARCH_OPTION_CHOICE) {
                texts[count++] = arena_printf(arena, "%g", 2 * o->high + 1);
                texts[count++] = "1x";
            }
            for (int t = 0; t < count; t++) {
                const char *setting = arena_printf(arena, "%s=%s", o->name, texts[t]);
                assert_int_equal(search_open(ops, &problem, 1, &setting, arena, &search),
                                 STAX_USAGE);
                assert_non_null(strstr(status_message(), o->name));
            }
        }
        assert_int_equal(search_open(ops, &problem, 0, NULL, arena, &search), STAX_OK);
        assert_non_null(search_settings(search, arena));
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_complete),
        cmocka_unit_test(test_ends_and_keeps_the_budget),
        cmocka_unit_test(test_no_ask_is_for_nothing),
        cmocka_unit_test(test_same_seed_same_asks_any_order_of_tell),
        cmocka_unit_test(test_another_seed_other_asks),
        cmocka_unit_test(test_monotone_changes_of_the_objective),
        cmocka_unit_test(test_failures_never_attract),
        cmocka_unit_test(test_candidate_first),
        cmocka_unit_test(test_no_candidates_is_fine),
        cmocka_unit_test(test_bad_options_are_refused),
    };
    int failed = cmocka_run_group_tests_name("defaults", tests, NULL, NULL);
    learner = "learner=forest";
    failed += cmocka_run_group_tests_name(learner, tests, NULL, NULL);
    struct arena *arena = arena_create();
    bool there = boosted_version(arena) != NULL;
    arena_destroy(arena);
    learner = "learner=xgboost";
    if (there) failed += cmocka_run_group_tests_name(learner, tests, NULL, NULL);
    return failed;
}
