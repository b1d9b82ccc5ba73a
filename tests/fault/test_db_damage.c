/* Bits that flip in the file: an error or the right data, never wrong data, never a crash. Torn
 * journals end with all that was whole in the database and the damaged file kept. */
#include "tests/unit/db_random.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/db.h"

enum { FLIPS = 25, TRIALS = 12 };
enum verdict { SAME, REFUSED, DIFFERENT, BROKEN, CRASHED, VERDICTS };

static struct file {
    unsigned char *bytes;
    size_t length;
} load(const char *path, struct arena *arena)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    struct file file = {.length = (size_t)ftell(stream)};
    rewind(stream);
    file.bytes = arena_alloc(arena, file.length);
    assert_int_equal(fread(file.bytes, 1, file.length, stream), file.length);
    fclose(stream);
    return file;
}

static void store(const char *path, const struct file *file)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->bytes, 1, file->length, stream), file->length);
    assert_int_equal(fclose(stream), 0);
}

/* All that a reader can get: runs, trials, the space, the CSV. */
static enum stax_status read_all(const char *path, struct arena *arena, struct text *out)
{
    struct db *db;
    struct stored_run *runs;
    struct stored_trial *trials;
    struct space *space;
    uint64_t count;
    const char *csv;
    STAX_TRY(db_open(path, false, arena, &db));
    STAX_TRY(db_runs(db, arena, &runs, &count));
    uint64_t run_count = count;
    text_put_u64(out, count);
    for (uint64_t r = 0; r < run_count; r++) {
        text_put_string(out, runs[r].info.kernel);
        text_put_string(out, runs[r].info.key);
        text_put_string(out, runs[r].result.best_text);
        device_info_put(out, runs[r].info.device);
        STAX_TRY(db_trials(db, r, arena, &trials, &count));
        text_put_u64(out, count);
        for (uint64_t i = 0; i < count; i++) {
            text_put_string(out, trials[i].config_text);
            trial_put(out, &trials[i].trial);
        }
        STAX_TRY(db_space(db, r, arena, &space));
        text_put_u64(out, space_count(space));
    }
    STAX_TRY(db_csv(db, UINT64_MAX, arena, &csv));
    text_add(out, csv);
    db_close(db);
    return STAX_OK;
}

static void record(const char *path, uint64_t seed, int count, bool end, struct arena *arena)
{
    struct arena *own = arena_create();
    struct db *db;
    struct run *run;
    struct run_info info = random_info(random_space(own), own);
    struct rng rng = rng_make(seed, 5);
    OK(db_open(path, true, own, &db));
    OK(run_begin(db, &info, own, &run));
    for (int i = 0; i < count; i++) {
        struct trial trial = random_trial(&rng, own);
        OK(run_trial(run, space_sample(info.space, &rng), job_number((uint64_t)i), 0, &trial));
    }
    struct run_result result = {.complete = true, .has_best = true, .best_text = "XBLOCK=1"};
    if (end) OK(run_end(run, &result));
    arena_destroy(own); /* without an end, as if it had been killed */
}

/* In a process of its own: HDF5 itself may not survive what it reads. */
static enum verdict try_file(const char *path, const struct text *want)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit memory = {2ull << 30, 2ull << 30};
        if (!getenv("ASAN_OPTIONS")) setrlimit(RLIMIT_AS, &memory);
        alarm(20);
        static const int signals[] = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL};
        /* cmocka would carry on with the tests in this process */
        for (size_t i = 0; i < STAX_COUNT(signals); i++) signal(signals[i], SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(BROKEN);
        struct arena *arena = arena_create();
        struct text got = text_make(arena);
        enum stax_status status = read_all(path, arena, &got);
        if (status != STAX_OK)
            _exit(status_message()[0] && !strchr(status_message(), '\n') ? REFUSED : BROKEN);
        _exit(got.length == want->length && !memcmp(got.bytes, want->bytes, got.length)
                  ? SAME
                  : DIFFERENT);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? (enum verdict)WEXITSTATUS(status) : CRASHED;
}

/* Where a flip may go. */
struct ranges {
    int count;
    struct {
        size_t at, length;
    } part[512];
};

static herr_t add_chunks(hid_t file, const char *name, const H5O_info_t *info, void *data)
{
    struct ranges *ranges = data;
    hsize_t chunks = 0;
    if (info->type != H5O_TYPE_DATASET) return 0;
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(dataset);
    hid_t plist = H5Dget_create_plist(dataset);
    if (H5Pget_layout(plist) == H5D_CHUNKED) H5Dget_num_chunks(dataset, space, &chunks);
    for (hsize_t i = 0; i < chunks; i++) {
        hsize_t offset, length;
        haddr_t at;
        unsigned filters;
        assert_true(H5Dget_chunk_info(dataset, space, i, &offset, &filters, &at, &length) >= 0);
        assert_true(ranges->count < (int)STAX_COUNT(ranges->part));
        ranges->part[ranges->count].at = (size_t)at;
        ranges->part[ranges->count++].length = (size_t)length;
    }
    H5Pclose(plist);
    H5Sclose(space);
    H5Dclose(dataset);
    return 0;
}

static struct ranges data_of(const char *path)
{
    struct ranges ranges = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(
        H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_chunks, &ranges, H5O_INFO_BASIC) >= 0);
    H5Fclose(file);
    assert_true(ranges.count > 50);
    return ranges;
}

/* Flips one bit at a time, in bytes that are not zero: most zeros are room for rows to come. */
static void flip(const char *folder, const char *path, const struct ranges *ranges, int *counts,
                 struct arena *arena)
{
    const char *bad = arena_printf(arena, "%s/bad.h5", folder);
    struct text want = text_make(arena);
    OK(read_all(path, arena, &want));
    struct file file = load(path, arena);
    struct rng rng = rng_make(77, 1);
    for (int i = 0; i < FLIPS; i++) {
        size_t at = 0;
        for (int tries = 0; tries == 0 || (file.bytes[at] == 0 && tries < 40); tries++) {
            int part = (int)rng_below(&rng, (uint64_t)ranges->count);
            at = ranges->part[part].at + rng_below(&rng, ranges->part[part].length);
        }
        unsigned char mask = (unsigned char)(1u << rng_below(&rng, 8));
        file.bytes[at] ^= mask;
        store(bad, &file);
        file.bytes[at] ^= mask;
        enum verdict verdict = try_file(bad, &want);
        counts[verdict]++;
        if (verdict >= DIFFERENT)
            print_message("byte %zu mask %02x: verdict %d\n", at, mask, verdict);
    }
    print_message("%d same, %d refused, %d crashed\n", counts[SAME], counts[REFUSED],
                  counts[CRASHED]);
    assert_int_equal(counts[DIFFERENT], 0);
    assert_int_equal(counts[BROKEN], 0);
    assert_true(counts[REFUSED] > 0);
}

static void test_flips_in_rows(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/good.h5", folder);
    int counts[VERDICTS] = {0};
    record(path, 1, TRIALS, true, arena);
    struct ranges rows = data_of(path);
    flip(folder, path, &rows, counts, arena);
    assert_int_equal(counts[CRASHED], 0);
    folder_remove(folder);
    arena_destroy(arena);
}

/* Anywhere. The compressed copy has checksums in HDF5's own structures; those of a live file have
 * none, and the library (1.10.8) itself crashes on about 1 of 500 such flips (H5F__accum_read):
 * there only wrong data is our fault. */
static void test_flips_anywhere(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *live = arena_printf(arena, "%s/good.h5", folder),
               *compact = arena_printf(arena, "%s/small.h5", folder);
    struct db_copied copied;
    record(live, 1, TRIALS, true, arena);
    OK(db_compact(live, compact, &copied));
    struct ranges all = {.count = 1};
    int counts[VERDICTS] = {0};
    all.part[0].length = load(live, arena).length;
    flip(folder, live, &all, counts, arena);
    int compact_counts[VERDICTS] = {0};
    all.part[0].length = load(compact, arena).length;
    flip(folder, compact, &all, compact_counts, arena);
    assert_int_equal(compact_counts[CRASHED], 0);
    folder_remove(folder);
    arena_destroy(arena);
}

static const char *find_file(const char *folder, const char *part, struct arena *arena)
{
    const char *found = NULL;
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open_folder));) {
        if (strstr(entry->d_name, part))
            found = arena_printf(arena, "%s/%s", folder, entry->d_name);
    }
    closedir(open_folder);
    return found;
}

/* Junk after the last record: the run is folded whole, the journal is kept under another name. */
static void test_torn_journal(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    record(path, 1, TRIALS, false, arena);
    const char *journal = find_file(folder, ".journal.", arena);
    assert_non_null(journal);
    FILE *stream = fopen(journal, "ab");
    fputs("half a rec", stream);
    fclose(stream);
    struct db *db;
    struct stored_trial *trials;
    uint64_t count;
    for (int opened = 0; opened < 2; opened++) {
        OK(db_open(path, false, arena, &db));
        OK(db_trials(db, UINT64_MAX, arena, &trials, &count));
        assert_int_equal(count, TRIALS);
        db_close(db);
    }
    const char *torn = find_file(folder, ".torn", arena);
    assert_non_null(torn);
    struct batch batch;
    struct journal_report report;
    OK(journal_read(torn, arena, &batch, &report));
    assert_int_equal(report.file_bytes - report.valid_bytes, strlen("half a rec"));
    folder_remove(folder);
    arena_destroy(arena);
}

/* A journal damaged in its middle keeps what stands before, and the rest is not thrown away. */
static void test_damaged_journal(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    record(path, 1, TRIALS, false, arena);
    const char *journal = find_file(folder, ".journal.", arena);
    struct file file = load(journal, arena);
    file.bytes[file.length / 2 + file.length / 4] ^= 4;
    store(journal, &file);
    struct db *db;
    struct stored_trial *trials;
    uint64_t count;
    OK(db_open(path, false, arena, &db));
    OK(db_trials(db, UINT64_MAX, arena, &trials, &count));
    assert_true(count > 0 && count < TRIALS);
    db_close(db);
    struct file kept = load(find_file(folder, ".torn", arena), arena);
    assert_int_equal(kept.length, file.length);
    assert_memory_equal(kept.bytes, file.bytes, kept.length);
    /* nothing readable at all */
    FILE *stream = fopen(arena_printf(arena, "%s.journal.%032d", path, 7), "wb");
    fputs("junk", stream);
    fclose(stream);
    OK(db_open(path, false, arena, &db));
    OK(db_trials(db, UINT64_MAX, arena, &trials, &count));
    db_close(db);
    assert_non_null(find_file(folder, "0000007.torn", arena));
    folder_remove(folder);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips_in_rows),
        cmocka_unit_test(test_flips_anywhere),
        cmocka_unit_test(test_torn_journal),
        cmocka_unit_test(test_damaged_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
