/* Warm start: whose winners are taken, in which order, and where one goes that is no configuration
 * here. */
#include "tests/unit/db_random.h"

#include "tuner/session.h"

static const char kernel_text[] = "kernel f(x: f32[64, 1024]) { # rows\n  return x * 2 }";

/* FORM decides what R0_BLOCK may be, as in generated kernels: a persistent row is whole. */
static struct space *rows_space(int64_t row, struct arena *arena)
{
    static const char *const forms[] = {"per", "red"};
    int64_t blocks[16];
    int count = 0;
    for (int64_t block = 32; block <= row; block *= 2) blocks[count++] = block;
    struct space *space = space_create("f", arena);
    OK(space_add_texts(space, "FORM", forms, 2));
    OK(space_add_ints(space, "XBLOCK", (int64_t[]){1, 2, 4, 8, 16}, 5));
    OK(space_add_ints(space, "R0_BLOCK", blocks, count));
    OK(space_define(space, "ROW", (struct value){.kind = VALUE_INT, .i = row}));
    OK(space_add_constraint(space, "FORM != 'per' or R0_BLOCK == ROW"));
    OK(space_finish(space));
    return space;
}

struct place {
    struct arena *arena;
    const char *folder;
    struct session session;
};

/* A session about to tune f at 64 x 1024 on "Test GPU"; candidate 0 is FORM=per, XBLOCK=1. */
static struct place place_make(void)
{
    struct place place = {.arena = arena_create()};
    place.folder = folder_make(place.arena);
    struct session *session = &place.session;
    session->arena = place.arena;
    session->tuner = stax_create();
    session->strategy = search_find("auto");
    session->setup = (struct setup){.arena = place.arena,
                                    .name = "f",
                                    .problem = "f(x: f32[64,1024])",
                                    .source = kernel_text,
                                    .device = random_device(place.arena),
                                    .space = rows_space(1024, place.arena)};
    session->setup.candidates.count = 1;
    OK(space_parse_config(session->setup.space, "FORM=per, XBLOCK=1, R0_BLOCK=1024", 0,
                          &session->setup.candidates.config[0]));
    OK(db_open(arena_printf(place.arena, "%s/r.h5", place.folder), true, place.arena,
               &session->db));
    return place;
}

static void place_remove(struct place *place)
{
    db_close(place->session.db);
    stax_destroy(place->session.tuner);
    folder_remove(place->folder);
    arena_destroy(place->arena);
}

/* Records a finished run with a winner. */
static void won(struct place *place, const char *problem, const struct device_info *device,
                const char *source, const char *best)
{
    struct run *run;
    struct run_info info = random_info(place->session.setup.space, place->arena);
    info.kernel = arena_printf(place->arena, "%.*s", (int)strcspn(problem, "("), problem);
    info.problem = problem;
    info.source = source;
    info.device = device;
    OK(run_begin(place->session.db, &info, place->arena, &run));
    struct run_result result = {
        .complete = true, .has_best = true, .best_text = best, .best_ns = 1000};
    OK(run_end(run, &result));
}

/* What is taken, as texts in a row. */
static const char *taken(struct place *place, uint64_t budget)
{
    struct search_problem problem = {.budget_configs = budget};
    struct text text = text_make(place->arena);
    place->session.warm = 0;
    place->session.warm_text = NULL;
    OK(warm_start(&place->session, &problem));
    assert_int_equal(place->session.warm, problem.warm);
    assert_int_equal(problem.warm > 0, place->session.warm_text != NULL);
    for (int i = 0; i < problem.warm; i++)
        text_printf(
            &text, "%s%s", i ? "; " : "",
            space_config_text(place->session.setup.space, problem.warm_config[i], place->arena));
    return text_string(&text);
}

static void test_nearest_first(void **state)
{
    struct place place = place_make();
    struct device_info *here = random_device(place.arena), *sister = random_device(place.arena),
                       *other = random_device(place.arena);
    sister->uuid = "GPU-5678";
    other->uuid = "GPU-9";
    other->name = "Another GPU";
    other->arch = "sm_80";
    won(&place, "f(x: f32[64,1024])", other, kernel_text, "FORM=red, XBLOCK=1, R0_BLOCK=32");
    won(&place, "f(x: f32[64,1024])", sister, kernel_text, "FORM=red, XBLOCK=2, R0_BLOCK=32");
    won(&place, "f(x: f32[64,8192])", here, kernel_text, "FORM=red, XBLOCK=4, R0_BLOCK=32");
    won(&place, "f(x: f32[64,2048])", here, kernel_text, "FORM=red, XBLOCK=8, R0_BLOCK=32");
    won(&place, "f(x: f32[128,1024])", here, kernel_text, "FORM=red, XBLOCK=16, R0_BLOCK=32");
    won(&place, "f(x: f16[64,1024])", here, kernel_text, "FORM=red, XBLOCK=16, R0_BLOCK=64");
    assert_string_equal(taken(&place, UINT64_MAX),
                        "FORM=red, XBLOCK=16, R0_BLOCK=32; " /* a doubling away, the newer of two */
                        "FORM=red, XBLOCK=8, R0_BLOCK=32; FORM=red, XBLOCK=4, R0_BLOCK=32; "
                        "FORM=red, XBLOCK=16, R0_BLOCK=64; " /* another type */
                        "FORM=red, XBLOCK=2, R0_BLOCK=32; FORM=red, XBLOCK=1, R0_BLOCK=32");
    assert_string_equal(place.session.warm_text,
                        "6 configurations of f at other shapes and on other devices");
    place_remove(&place);
}

static void test_how_many(void **state)
{
    struct place place = place_make();
    for (int i = 0; i < 12; i++)
        won(&place, "f(x: f32[64,2048])", place.session.setup.device, kernel_text,
            arena_printf(place.arena, "FORM=red, XBLOCK=%d, R0_BLOCK=%d", 1 << i % 4, 32 << i / 4));
    won(&place, "f(x: f32[64,2048])", place.session.setup.device, kernel_text,
        "FORM=red, XBLOCK=8, R0_BLOCK=128"); /* there already */
    won(&place, "f(x: f32[64,2048])", place.session.setup.device, kernel_text,
        "FORM=per, XBLOCK=1, R0_BLOCK=1024"); /* candidate 0 */
    taken(&place, UINT64_MAX);
    assert_int_equal(place.session.warm, 8);
    assert_string_equal(place.session.warm_text, "8 configurations of f at other shapes");
    taken(&place, 20);
    assert_int_equal(place.session.warm, 5);
    assert_string_equal(taken(&place, 3), "FORM=red, XBLOCK=8, R0_BLOCK=128");
    assert_string_equal(place.session.warm_text, "1 configuration of f at other shapes");
    place_remove(&place);
}

static void test_moved(void **state)
{
    struct place place = place_make();
    const struct device_info *here = place.session.setup.device;
    /* a persistent row stays persistent, at this row's length */
    won(&place, "f(x: f32[64,4096])", here, kernel_text, "FORM=per, XBLOCK=4, R0_BLOCK=4096");
    assert_string_equal(taken(&place, 100), "FORM=per, XBLOCK=4, R0_BLOCK=1024");
    assert_string_equal(place.session.warm_text,
                        "1 configuration of f at other shapes, 1 moved to the nearest values here");
    /* the size that is absent becomes the nearest; what this space lacks does not matter; what the
     * winner lacks is candidate 0's */
    won(&place, "f(x: f32[64,1000])", here, kernel_text, "FORM=red, R0_BLOCK=100, num_warps=4");
    assert_string_equal(taken(&place, 100),
                        "FORM=red, XBLOCK=1, R0_BLOCK=128; FORM=per, XBLOCK=4, R0_BLOCK=1024");
    /* nothing in common */
    won(&place, "f(x: f32[64,1024])", here, kernel_text, "block=32, R0_BLOCK=64");
    taken(&place, 100);
    assert_int_equal(place.session.warm, 2);
    place_remove(&place);
}

static void test_large_space(void **state)
{
    struct place place = place_make();
    int64_t values[100];
    for (int i = 0; i < 100; i++) values[i] = i + 1;
    struct space *space = space_create("large", place.arena);
    static const char *const names[] = {"A", "B", "C", "D"};
    for (int p = 0; p < 4; p++) OK(space_add_ints(space, names[p], values, 100));
    OK(space_add_constraint(space, "A + B + C + D <= 200"));
    OK(space_finish(space));
    place.session.setup.space = space;
    place.session.setup.candidates.config[0] = 0;
    won(&place, "f(x: f32[64,1000])", place.session.setup.device, kernel_text,
        "A=97, B=3, C=51, D=2");
    assert_string_equal(taken(&place, 100), "A=97, B=3, C=51, D=2");
    assert_null(strstr(place.session.warm_text, "moved"));
    place_remove(&place);
}

static void test_nothing_to_take(void **state)
{
    struct place place = place_make();
    const struct device_info *here = place.session.setup.device;
    const char *best = "FORM=red, XBLOCK=4, R0_BLOCK=32";
    assert_string_equal(taken(&place, 100), ""); /* an empty database */
    won(&place, "g(x: f32[64,1024])", here, kernel_text, best);
    won(&place, "f(x: f32[64,1024])", here, "kernel f(x: f32[64, 1024]) { return x + 2 }", best);
    won(&place, "f(x: f32[64,1024])", here, "", best); /* another tuner's */
    assert_string_equal(taken(&place, 100), "");
    won(&place, "f(x: f32[64,1024])", here, "kernel f(x: f32[8, 32]) { return x * 3 }", best);
    assert_string_equal(taken(&place, 100), best); /* the same but for numbers and comments */
    assert_string_equal(place.session.warm_text, "1 configuration of f from earlier runs");
    place.session.strategy = search_find("random");
    assert_string_equal(taken(&place, 100), "");
    place.session.strategy = search_find("auto");
    assert_int_equal(stax_set(place.session.tuner, "fresh", NULL), 0);
    assert_string_equal(taken(&place, 100), "");
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_first),   cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_moved),           cmocka_unit_test(test_large_space),
        cmocka_unit_test(test_nothing_to_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
