/* Whole files: merging, compacting, repairing, and files of an older minor version. */
#include "tests/unit/db_random.h"

#include <sys/stat.h>
#include <unistd.h>

#include "results/db.h"

struct made {
    struct arena *arena;
    const char *folder;
    struct space *space;
    struct run_info info;
};

static struct made make(void)
{
    struct made made = {.arena = arena_create()};
    made.folder = folder_make(made.arena);
    made.space = random_space(made.arena);
    made.info = random_info(made.space, made.arena);
    return made;
}

static void unmake(struct made *made)
{
    folder_remove(made->folder);
    arena_destroy(made->arena);
}

static const char *path_of(struct made *made, const char *name)
{
    return arena_printf(made->arena, "%s/%s.h5", made->folder, name);
}

static void record(struct made *made, const char *path, uint64_t seed, int count)
{
    struct db *db;
    struct run *run;
    struct rng rng = rng_make(seed, 9);
    OK(db_open(path, true, made->arena, &db));
    made->info.seed = seed;
    OK(run_begin(db, &made->info, made->arena, &run));
    for (int i = 0; i < count; i++) {
        struct trial trial = random_trial(&rng, made->arena);
        OK(run_trial(run, space_sample(made->space, &rng), job_number(seed * 1000 + (uint64_t)i), 0,
                     &trial));
    }
    struct run_result result = {.complete = true};
    OK(run_end(run, &result));
    db_close(db);
}

/* Every trial of one run, packed: equal texts are equal runs. */
static struct text contents(struct made *made, const char *path, uint64_t seed)
{
    struct db *db;
    struct stored_run *runs;
    struct stored_trial *trials;
    uint64_t count, number = UINT64_MAX;
    struct text text = text_make(made->arena);
    OK(db_open(path, false, made->arena, &db));
    OK(db_runs(db, made->arena, &runs, &count));
    for (uint64_t i = 0; i < count; i++) {
        if (runs[i].info.seed == seed) number = i;
    }
    assert_true(number != UINT64_MAX);
    text_put_string(&text, runs[number].info.source);
    OK(db_trials(db, number, made->arena, &trials, &count));
    for (uint64_t i = 0; i < count; i++) {
        text_put_string(&text, trials[i].config_text);
        trial_put(&text, &trials[i].trial);
    }
    db_close(db);
    return text;
}

static void assert_same_run(struct made *made, const char *a, const char *b, uint64_t seed)
{
    struct text left = contents(made, a, seed), right = contents(made, b, seed);
    assert_int_equal(left.length, right.length);
    assert_memory_equal(left.bytes, right.bytes, left.length);
}

static uint64_t runs_of(struct made *made, const char *path)
{
    struct db *db;
    struct stored_run *runs;
    uint64_t count;
    OK(db_open(path, false, made->arena, &db));
    OK(db_runs(db, made->arena, &runs, &count));
    db_close(db);
    return count;
}

static void test_merge(void **state)
{
    struct made made = make();
    const char *a = path_of(&made, "a"), *b = path_of(&made, "b");
    struct db *db, *other;
    struct db_copied copied;
    struct run *live, *dead;
    struct arena *dying = arena_create();
    for (uint64_t seed = 1; seed <= 2; seed++) record(&made, a, seed, 20);
    for (uint64_t seed = 3; seed <= 5; seed++) record(&made, b, seed, 30);
    made.info.seed = 6;
    OK(db_open(b, false, dying, &other));
    OK(run_begin(other, &made.info, dying, &dead));
    arena_destroy(dying); /* its journal is folded when b is opened */
    OK(db_open(b, false, made.arena, &other));
    OK(run_begin(other, &made.info, made.arena, &live));
    OK(db_open(a, false, made.arena, &db));
    OK(db_merge(db, b, &copied));
    assert_int_equal(copied.copied, 4);
    assert_int_equal(copied.live, 1);
    OK(db_merge(db, b, &copied));
    assert_int_equal(copied.copied, 0);
    assert_int_equal(copied.present, 4);
    assert_int_equal(db_merge(db, a, &copied), STAX_USAGE);
    assert_int_equal(db_merge(db, path_of(&made, "absent"), &copied), STAX_NOTFOUND);
    db_close(db);
    assert_int_equal(runs_of(&made, a), 6);
    for (uint64_t seed = 3; seed <= 5; seed++) assert_same_run(&made, a, b, seed);
    struct h5file *file; /* the kernel and the space are the same in both */
    OK(h5_open(a, false, 0, &file));
    assert_int_equal(file->rows[TABLE_kernels], 1);
    assert_int_equal(file->rows[TABLE_params], space_params(made.space));
    OK(h5_close(file));
    unmake(&made);
}

static void test_compact(void **state)
{
    struct made made = make();
    const char *live = path_of(&made, "live"), *small = path_of(&made, "small");
    struct db_copied copied;
    struct stat before, after;
    for (uint64_t seed = 1; seed <= 3; seed++) record(&made, live, seed, 300);
    OK(db_compact(live, small, &copied));
    assert_int_equal(copied.copied, 3);
    assert_int_equal(stat(live, &before), 0);
    assert_int_equal(stat(small, &after), 0);
    assert_true(after.st_size * 3 < before.st_size);
    for (uint64_t seed = 1; seed <= 3; seed++) assert_same_run(&made, live, small, seed);
    assert_int_equal(db_compact(live, small, &copied), STAX_USAGE); /* never over anything */
    struct replay *replay;
    OK(replay_open(small, made.arena, &replay));
    record(&made, small, 4, 10); /* rewrites it first */
    assert_int_equal(runs_of(&made, small), 4);
    for (uint64_t seed = 1; seed <= 3; seed++) assert_same_run(&made, live, small, seed);
    unmake(&made);
}

/* One changed sample: the run that holds it fails its check, the others are saved. */
static void test_repair(void **state)
{
    struct made made = make();
    const char *path = path_of(&made, "hurt"), *saved = path_of(&made, "saved");
    struct db_copied copied;
    for (uint64_t seed = 1; seed <= 3; seed++) record(&made, path, seed, 20);
    struct db *db;
    struct stored_trial *trials;
    uint64_t count;
    struct h5file *file;
    OK(h5_open(path, true, 0, &file));
    struct runs_row run;
    OK(h5_read_rows(file, TABLE_runs, 1, 1, made.arena, &run));
    hid_t dataset = H5Dopen2(file->id, "/samples/span_ns", H5P_DEFAULT);
    hsize_t at = (hsize_t)run.samples, one = 1;
    double wrong = 1;
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &one, NULL);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &wrong) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    OK(h5_close(file));
    OK(db_open(path, false, made.arena, &db));
    OK(db_trials(db, 0, made.arena, &trials, &count));
    assert_int_equal(db_trials(db, 1, made.arena, &trials, &count), STAX_FORMAT);
    assert_non_null(strstr(status_message(), "checksum"));
    assert_int_equal(db_compact(path, saved, &copied), STAX_FORMAT);
    assert_int_equal(access(saved, F_OK), -1);
    OK(db_repair(path, saved, &copied));
    assert_int_equal(copied.copied, 2);
    assert_int_equal(copied.damaged, 1);
    assert_int_equal(runs_of(&made, saved), 2);
    assert_same_run(&made, path, saved, 1);
    assert_same_run(&made, path, saved, 3);
    unmake(&made);
}

/* Closes the file. */
static void set_schema(hid_t file, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Adelete(file, "stax_schema");
    hid_t attribute = H5Acreate2(file, "stax_schema", type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(scalar);
    H5Tclose(type);
    assert_true(H5Fclose(file) >= 0);
}

/* A file of a later minor version reads as far as it is known, and is not added to: the journal
 * waits. */
static void test_newer_minor(void **state)
{
    struct made made = make();
    const char *path = path_of(&made, "new");
    record(&made, path, 1, 10);
    struct text before = contents(&made, path, 1);
    set_schema(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), "1.99");
    struct text after = contents(&made, path, 1);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    record(&made, path, 2, 5);
    assert_int_equal(runs_of(&made, path), 2); /* from the file and from the journal */
    struct h5file *file;
    OK(h5_open(path, false, 0, &file));
    assert_int_equal(file->rows[TABLE_runs], 1);
    OK(h5_close(file));
    unmake(&made);
}

/* A file that lacks a column of this version: read with it missing, given it before the next
 * append. */
static void test_older_minor(void **state)
{
    struct made made = make();
    const char *path = path_of(&made, "old");
    record(&made, path, 1, 10);
    hid_t id = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(id, "/runs/check", H5P_DEFAULT) >= 0);
    assert_true(H5Ldelete(id, "/trials/clock_mhz", H5P_DEFAULT) >= 0);
    set_schema(id, "1.-1");
    struct db *db;
    struct stored_trial *trials;
    uint64_t count;
    OK(db_open(path, false, made.arena, &db));
    OK(db_trials(db, 0, made.arena, &trials, &count));
    assert_int_equal(count, 10);
    assert_true(isnan(trials[0].trial.clock_mhz));
    db_close(db);
    record(&made, path, 2, 10);
    assert_int_equal(runs_of(&made, path), 2);
    struct h5file *file;
    OK(h5_open(path, false, 0, &file));
    assert_int_equal(file->minor, RECORD_SCHEMA_MINOR);
    assert_true(H5Lexists(file->id, "/trials/clock_mhz", H5P_DEFAULT) > 0);
    OK(h5_close(file));
    unmake(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),       cmocka_unit_test(test_compact),
        cmocka_unit_test(test_repair),      cmocka_unit_test(test_older_minor),
        cmocka_unit_test(test_newer_minor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
