/* Readers that know nothing of us: h5py in five lines, pandas, h5dump. Skipped, with the reason,
 * where they are absent. */
#include "tests/unit/db_random.h"

#include <sys/wait.h>
#include <unistd.h>

#include "results/db.h"

static char *folder;
static const char *path, *small;
static struct arena *arena;

static int run_script(const char *script)
{
    const char *file = arena_printf(arena, "%s/script.py", folder);
    FILE *stream = fopen(file, "w");
    fputs(script, stream);
    fclose(stream);
    int status = system(arena_printf(arena, "/usr/bin/python3 %s %s %s", file, path, small));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool can(const char *command)
{
    if (system(arena_printf(arena, "%s >/dev/null 2>&1", command)) == 0) return true;
    print_message("not run: `%s` fails here\n", command);
    return false;
}

static int make(void **state)
{
    arena = arena_create();
    folder = folder_make(arena);
    path = arena_printf(arena, "%s/results.h5", folder);
    small = arena_printf(arena, "%s/small.h5", folder);
    struct space *space = random_space(arena);
    struct run_info info = random_info(space, arena);
    struct db *db;
    struct run *run;
    OK(db_open(path, true, arena, &db));
    for (int r = 0; r < 2; r++) {
        OK(run_begin(db, &info, arena, &run));
        for (uint64_t i = 0; i < 30; i++) {
            double spans[3] = {1000.5 + (double)i, 1001 + (double)i, 1002 + (double)i};
            struct trial trial = {.outcome = i % 3 ? OUTCOME_OK : OUTCOME_COMPILE,
                                  .message = i % 3 ? "" : "no such thing",
                                  .log = "",
                                  .samples = i % 3 ? 3 : 0,
                                  .span_ns = spans,
                                  .sum_ns = spans,
                                  .verified = true,
                                  .temperature_c = NAN};
            OK(run_trial(run, i, job_number(i), 3, &trial));
        }
        struct run_result result = {.complete = r == 0, .best_ns = 1001};
        OK(run_end(run, &result));
    }
    db_close(db);
    struct db_copied copied;
    OK(db_compact(path, small, &copied));
    return 0;
}

static int unmake(void **state)
{
    folder_remove(folder);
    arena_destroy(arena);
    return 0;
}

/* The five lines of docs/database.md, then what they must have given. */
static void test_h5py(void **state)
{
    if (!can("/usr/bin/python3 -c 'import h5py'")) skip();
    assert_int_equal(
        run_script(
            "import sys, h5py\n"
            "for name in sys.argv[1:]:\n"
            "    f = h5py.File(name, 'r')\n"
            "    n = f['commit'][0]\n"
            "    t = {k: v[:n['trials']] for k, v in f['trials'].items()}\n"
            "    ok = h5py.check_enum_dtype(t['outcome'].dtype)['ok']\n"
            "    best = t['median_ns'][t['outcome'] == ok].min()\n"
            "    assert best == 1002, best\n"
            "    assert len(t['median_ns']) == 60 and n['runs'] == 2 and n['samples'] == 120\n"
            "    assert list(f['trials'])[:3] == ['run', 'config_hash', 'job_hash'], "
            "list(f['trials'])\n"
            "    assert t['verified'].dtype == bool and t['verified'].all()\n"
            "    assert f['trials/median_ns'].attrs['units'] == 'ns'\n"
            "    assert f.attrs['stax_schema'] == '1.1'\n"
            "    blob = f['texts/bytes'][:n['text_bytes']].tobytes()\n"
            "    text = lambda i: '' if i < 0 else "
            "blob[f['texts/offset'][i]:][:f['texts/length'][i]].decode()\n"
            "    assert text(f['kernels/name'][0]) == 'red_fused'\n"
            "    assert text(t['message'][0]) == 'no such thing' and text(t['message'][1]) == ''\n"
            "    first = t['samples'][1]\n"
            "    assert list(f['samples/span_ns'][first:first + t['samples_count'][1]]) == "
            "[1001.5, 1002, 1003]\n"
            "    v = slice(t['values'][1], t['values'][1] + t['values_count'][1])\n"
            "    names = [text(f['params/name'][p]) for p in f['config_values/param'][v]]\n"
            "    assert names == ['XBLOCK', 'num_warps', 'FORM', 'SCALE', 'FLAG'], names\n"
            "    import json\n"
            "    assert json.loads(text(f['params/values'][0])) == [1, 2, 4, 8, 16, 32, 64]\n"),
        0);
}

static void test_pandas(void **state)
{
    if (!can("/usr/bin/python3 -c 'import h5py, pandas'")) skip();
    assert_int_equal(run_script("import sys, h5py, pandas as pd\n"
                                "f = h5py.File(sys.argv[1], 'r')\n"
                                "n = f['commit'][0]['trials']\n"
                                "t = pd.DataFrame({k: v[:n] for k, v in f['trials'].items()})\n"
                                "assert len(t) == 60 and t.samples_count.sum() == 120\n"),
                     0);
}

static void test_h5dump(void **state)
{
    if (!can("h5dump --version")) skip();
    assert_int_equal(system(arena_printf(arena, "h5dump -d /trials/outcome -d /commit %s > %s/dump",
                                         path, folder)),
                     0);
    assert_int_equal(
        system(arena_printf(arena,
                            "grep -q '\"compile\"' %s/dump && grep -q 'compile, ok, ok' %s/dump",
                            folder, folder)),
        0);
    assert_int_equal(system(arena_printf(arena, "h5dump %s > %s/dump && h5dump %s > %s/dump", path,
                                         folder, small, folder)),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h5py),
        cmocka_unit_test(test_pandas),
        cmocka_unit_test(test_h5dump),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
