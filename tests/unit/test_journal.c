/* Journals: everything before the first bad byte is read, the rest is said, and nothing crashes. */
#include "tests/unit/db_random.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "results/journal.h"

struct file {
    unsigned char *bytes;
    size_t length;
};

static struct file load(const char *path, struct arena *arena)
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

static void store(const char *path, const void *bytes, size_t length)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static void put_rows(struct text *text)
{
    struct runs_row run;
    struct kernels_row kernel;
    struct params_row param;
    record_clear(TABLE_runs, &run);
    record_clear(TABLE_kernels, &kernel);
    record_clear(TABLE_params, &param);
    run.uuid = (struct hash128){1, 2};
    run.strategy = "exhaustive";
    kernel.name = "k";
    param.name = "A";
    record_pack(text, TABLE_runs, &run);
    record_pack(text, TABLE_kernels, &kernel);
    record_pack(text, TABLE_params, &param);
}

static void put_trial(struct text *text, int samples, uint64_t job)
{
    struct trials_row trial;
    struct config_values_row value;
    record_clear(TABLE_trials, &trial);
    record_clear(TABLE_config_values, &value);
    trial.job_hash = job_number(job);
    trial.message = "m";
    value.param = 0;
    value.value_text = "8";
    record_pack(text, TABLE_trials, &trial);
    record_pack(text, TABLE_config_values, &value);
    for (int i = 0; i < samples; i++) {
        struct samples_row sample = {0, 100 + i, 100 + i};
        record_pack(text, TABLE_samples, &sample);
    }
}

/* A small journal of `trials` trials, the last one started and not finished. */
static const char *small(const char *folder, int trials, struct arena *arena)
{
    const char *path = arena_printf(arena, "%s/small", folder);
    struct text text = text_make(arena);
    struct journal journal;
    put_rows(&text);
    OK(journal_create(path, &text, &journal));
    for (int i = 0; i <= trials; i++) {
        struct text start = text_make(arena);
        struct hash128 job = job_number((uint64_t)i);
        text_put_string(&start, arena_printf(arena, "A=%d", i));
        text_put_u64(&start, job.low);
        text_put_u64(&start, job.high);
        text_put_u64(&start, 0);
        OK(journal_append(&journal, JOURNAL_START, &start, false));
        if (i == trials) break;
        struct text trial = text_make(arena);
        put_trial(&trial, i + 1, (uint64_t)i);
        OK(journal_append(&journal, JOURNAL_TRIAL, &trial, false));
    }
    journal_close(&journal);
    return path;
}

static void test_round_trip(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = small(folder, 3, arena);
    struct batch batch;
    struct journal_report report;
    OK(journal_read(path, arena, &batch, &report));
    assert_null(report.torn);
    assert_int_equal(report.records, 2 + 3 + 4);
    assert_int_equal(batch.count[TABLE_trials], 3);
    assert_int_equal(batch.count[TABLE_samples], 1 + 2 + 3);
    struct runs_row *run = BATCH_ROWS(&batch, runs);
    assert_string_equal(run->strategy, "exhaustive");
    assert_string_equal(run->unfinished, "A=3");
    assert_int_equal(run->trials_count, 3);
    assert_int_equal(BATCH_ROWS(&batch, trials)[2].samples, 3);
    assert_int_equal(BATCH_ROWS(&batch, trials)[2].samples_count, 3);
    assert_int_equal(BATCH_ROWS(&batch, samples)[5].trial, 2);
    assert_int_equal(access(arena_printf(arena, "%s.new", path), F_OK), -1);
    folder_remove(folder);
    arena_destroy(arena);
}

/* Cut after every byte: exactly the whole records before the cut count, and a cut between records
 * is no damage. */
static void test_every_cut(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    struct file file = load(small(folder, 2, arena), arena);
    const char *cut_path = arena_printf(arena, "%s/cut", folder);
    struct arena *scratch = arena_create();
    uint64_t last = 0;
    int clean = 0;
    for (size_t cut = 0; cut <= file.length; cut++, arena_reset(scratch)) {
        struct batch batch;
        struct journal_report report;
        store(cut_path, file.bytes, cut);
        OK(journal_read(cut_path, scratch, &batch, &report));
        assert_int_equal(report.file_bytes, cut);
        assert_true(report.valid_bytes <= cut && report.records >= last);
        assert_true((report.torn == NULL) == (report.valid_bytes == cut && cut > 0));
        if (!report.torn) clean++;
        if (batch.count[TABLE_runs]) assert_true(report.records >= 2);
        last = report.records;
    }
    assert_int_equal(last, 2 + 2 + 3);
    assert_int_equal(clean, 1 + 7); /* the header alone, and after each record */
    arena_destroy(scratch);
    folder_remove(folder);
    arena_destroy(arena);
}

/* A flipped bit ends the reading at its record; what stands before is whole. */
static void test_every_flip(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    struct file file = load(small(folder, 2, arena), arena);
    const char *path = arena_printf(arena, "%s/flipped", folder);
    struct arena *scratch = arena_create();
    struct rng rng = rng_make(1, 1);
    for (size_t i = 0; i < file.length; i += 1 + rng_below(&rng, 5), arena_reset(scratch)) {
        struct batch batch;
        struct journal_report report;
        unsigned char mask = (unsigned char)(1u << rng_below(&rng, 8));
        file.bytes[i] ^= mask;
        store(path, file.bytes, file.length);
        OK(journal_read(path, scratch, &batch, &report));
        assert_non_null(report.torn);
        assert_true(report.valid_bytes <= i);
        file.bytes[i] ^= mask;
    }
    arena_destroy(scratch);
    folder_remove(folder);
    arena_destroy(arena);
}

/* Records whose checksum holds but whose contents are random: whatever a bug of another version
 * might write. */
static void test_nonsense_with_good_checksums(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    struct rng rng = rng_make(2, 1);
    for (int round = 0; round < 300; round++) {
        struct arena *scratch = arena_create();
        const char *path = arena_printf(scratch, "%s/%d", folder, round);
        struct text rows = text_make(scratch), junk = text_make(scratch);
        struct journal journal;
        put_rows(&rows);
        OK(journal_create(path, &rows, &journal));
        put_trial(&junk, 3, 1);
        size_t length = rng_below(&rng, junk.length + 1);
        for (int i = 0; i < 4; i++) junk.bytes[rng_below(&rng, junk.length)] = (char)rng_u64(&rng);
        junk.length = rng_below(&rng, 2) ? length : junk.length;
        OK(journal_append(&journal, (enum journal_kind)(1 + rng_below(&rng, 8)), &junk, false));
        journal_close(&journal);
        struct batch batch;
        struct journal_report report;
        OK(journal_read(path, scratch, &batch, &report));
        assert_int_equal(batch.count[TABLE_runs], 1);
        rec_batch_check(&batch);
        unlink(path);
        arena_destroy(scratch);
    }
    folder_remove(folder);
    arena_destroy(arena);
}

/* A writer of another version: unknown columns and kinds are passed over, missing ones are missing.
 */
static void test_other_layout(void **state)
{
    struct arena *arena = arena_create();
    struct text layout = text_make(arena), row = text_make(arena);
    text_put_u32(&layout, 2);
    text_put_string(&layout, "inventions");
    text_put_u32(&layout, 1);
    text_put_string(&layout, "x");
    text_put_u32(&layout, KIND_TEXT);
    text_put_string(&layout, "samples");
    text_put_u32(&layout, 2);
    text_put_string(&layout, "colour");
    text_put_u32(&layout, KIND_TEXT);
    text_put_string(&layout, "span_ns");
    text_put_u32(&layout, KIND_F64);
    text_put_u32(&row, 0);
    text_put_string(&row, "new");
    text_put_u32(&row, 1);
    text_put_string(&row, "blue");
    text_put_f64(&row, 42);
    struct reader reader = {.bytes = (const unsigned char *)layout.bytes, .length = layout.length};
    struct record_layout read;
    OK(record_layout_get(&reader, arena, &read));
    struct batch batch = rec_batch_make(arena);
    reader = (struct reader){.bytes = (const unsigned char *)row.bytes, .length = row.length};
    enum record_table table;
    assert_null(record_unpack(&reader, &read, &batch, &table));
    assert_int_equal(reader.bad, 0);
    assert_int_equal(table, TABLE_COUNT);
    struct samples_row *sample = record_unpack(&reader, &read, &batch, &table);
    assert_non_null(sample);
    assert_int_equal(table, TABLE_samples);
    assert_true(sample->span_ns == 42);
    assert_true(isnan(sample->sum_ns));
    assert_int_equal(sample->trial, -1);
    arena_destroy(arena);
}

static void test_locked_while_open(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    struct text rows = text_make(arena);
    struct journal journal;
    put_rows(&rows);
    const char *path = arena_printf(arena, "%s/live", folder);
    OK(journal_create(path, &rows, &journal));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    journal_close(&journal);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    folder_remove(folder);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_every_flip),   cmocka_unit_test(test_nonsense_with_good_checksums),
        cmocka_unit_test(test_other_layout), cmocka_unit_test(test_locked_while_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
