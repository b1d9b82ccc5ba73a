/* kill -9 of a recording process at random moments, several writers at once, full disks: the file
 * stays readable and every trial that was acknowledged is there, once. */
#include "tests/unit/db_random.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "results/db.h"

enum { KILLS = 24, FOLD_KILLS = 24, FOLD_TRIALS = 60 };

static struct trial numbered(uint64_t number, double *span)
{
    *span = (double)number;
    return (struct trial){.outcome = OUTCOME_OK,
                          .message = "",
                          .log = "",
                          .samples = 1,
                          .span_ns = span,
                          .sum_ns = span};
}

static void record_one(struct run *run, uint64_t number)
{
    double span;
    struct trial trial = numbered(number, &span);
    if (run_start(run, number % 7, job_number(number)) != STAX_OK ||
        run_trial(run, number % 7, job_number(number), 1, &trial) != STAX_OK) {
        _exit(2);
    }
}

static struct run *begin(struct db *db, struct arena *arena)
{
    struct run_info info = random_info(random_space(arena), arena);
    struct run *run;
    if (run_begin(db, &info, arena, &run) != STAX_OK) _exit(3);
    return run;
}

/* Records numbers from `first` on for ever, acknowledging each through the pipe. */
static void child_appends(const char *path, uint64_t first, int acks)
{
    struct arena *arena = arena_create();
    struct db *db;
    if (db_open(path, true, arena, &db) != STAX_OK) _exit(4);
    struct run *run = begin(db, arena);
    for (uint64_t number = first;; number++) {
        record_one(run, number);
        if (write(acks, &number, sizeof number) != (ssize_t)sizeof number) _exit(5);
    }
}

static void wait_us(uint64_t us)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

static void kill_child(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_found(struct db *db, uint64_t number, struct arena *arena)
{
    struct device_info *device = random_device(arena);
    struct run_info info = random_info(NULL, arena);
    struct trial trial;
    bool found;
    OK(db_find_trial(db, job_number(number), device, info.protocol, info.seed, 1, arena, &trial,
                     &found));
    if (!found) fail_msg("acknowledged trial %llu is lost", (unsigned long long)number);
    assert_true(trial.span_ns[0] == (double)number);
}

static int files_with(const char *folder, const char *part)
{
    int count = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open_folder));) {
        count += strstr(entry->d_name, part) != NULL;
    }
    closedir(open_folder);
    return count;
}

/* Journals that wait to be folded. A run killed while it began leaves a .new, one killed inside a
 * write() that crossed a page a .torn with half a record that nobody was told of. */
static int journals(const char *folder)
{
    return files_with(folder, ".journal.") - files_with(folder, ".new") -
           files_with(folder, ".torn");
}

static void test_kill_while_appending(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    struct rng rng = rng_make(11, 1);
    uint64_t *acked = ARENA_ARRAY(arena, uint64_t, 1 << 20);
    uint64_t count = 0;
    for (int round = 0; round < KILLS; round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            child_appends(path, (uint64_t)round * 1000000, ends[1]);
        }
        close(ends[1]);
        uint64_t before = rng_below(&rng, 20), number; /* some die before their first trial */
        for (uint64_t i = 0;
             i < before && read(ends[0], &number, sizeof number) == (ssize_t)sizeof number; i++) {
            acked[count++] = number;
        }
        wait_us(rng_below(&rng, 3000));
        kill_child(child);
        while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
            acked[count++] = number;
        close(ends[0]);
    }
    struct db *db;
    OK(db_open(path, true, arena, &db));
    assert_int_equal(journals(folder), 0);
    struct arena *scratch = arena_create();
    uint64_t step = count / 500 + 1;
    for (uint64_t i = 0; i < count; i += step, arena_reset(scratch))
        assert_found(db, acked[i], scratch);
    struct stored_trial *trials;
    uint64_t stored;
    OK(db_trials(db, UINT64_MAX, arena, &trials, &stored));
    assert_true(count > 100 && stored >= count &&
                stored <= count + KILLS); /* one may be recorded and not acknowledged */
    arena_destroy(scratch);
    folder_remove(folder);
    arena_destroy(arena);
}

static void child_folds(const char *path, uint64_t first, int ready)
{
    struct arena *arena = arena_create();
    struct db *db;
    if (db_open(path, true, arena, &db) != STAX_OK) _exit(4);
    struct run *run = begin(db, arena);
    for (uint64_t i = 0; i < FOLD_TRIALS; i++) record_one(run, first + i);
    if (write(ready, "", 1) != 1) _exit(5);
    struct run_result result = {.complete = true};
    _exit(run_end(run, &result) == STAX_OK ? 0 : 6);
}

/* The fold takes some milliseconds: kills spread over them. */
static void test_kill_while_folding(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    struct rng rng = rng_make(12, 1);
    for (int round = 0; round < FOLD_KILLS; round++) {
        int ends[2];
        char byte;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            child_folds(path, (uint64_t)round * 1000, ends[1]);
        }
        close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        wait_us(rng_below(&rng, 45000));
        kill_child(child);
        close(ends[0]);
    }
    struct db *db;
    struct stored_run *runs;
    struct stored_trial *trials;
    uint64_t count, stored;
    OK(db_open(path, false, arena, &db));
    assert_int_equal(journals(folder), 0);
    OK(db_runs(db, arena, &runs, &count));
    assert_int_equal(count, FOLD_KILLS);
    OK(db_trials(db, UINT64_MAX, arena, &trials, &stored));
    assert_int_equal(stored, FOLD_KILLS * FOLD_TRIALS);
    bool seen[FOLD_KILLS * FOLD_TRIALS] = {false};
    for (uint64_t i = 0; i < stored; i++) {
        uint64_t number = (uint64_t)trials[i].trial.span_ns[0];
        uint64_t place = number / 1000 * FOLD_TRIALS + number % 1000;
        assert_true(place < STAX_COUNT(seen) && !seen[place]);
        seen[place] = true;
    }
    folder_remove(folder);
    arena_destroy(arena);
}

static void child_writes(const char *path, uint64_t first)
{
    for (uint64_t part = 0; part < 3; part++) {
        struct arena *arena = arena_create();
        struct db *db;
        if (db_open(path, true, arena, &db) != STAX_OK) _exit(4);
        struct run *run = begin(db, arena);
        for (uint64_t i = 0; i < 50; i++) record_one(run, first + part * 100 + i);
        struct run_result result = {.complete = true};
        if (run_end(run, &result) != STAX_OK) _exit(6);
        arena_destroy(arena);
    }
    _exit(0);
}

static void test_writers_at_once(void **state)
{
    enum { WRITERS = 4 };
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++) { /* the first of them to come creates the file */
        child[i] = fork();
        if (child[i] == 0) child_writes(path, (uint64_t)i * 1000);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("a writer ended with %x", status);
    }
    struct db *db;
    struct stored_run *runs;
    uint64_t count;
    OK(db_open(path, false, arena, &db));
    OK(db_runs(db, arena, &runs, &count));
    assert_int_equal(count, WRITERS * 3);
    for (int i = 0; i < WRITERS; i++) {
        for (uint64_t n = 0; n < 50; n += 7) assert_found(db, (uint64_t)i * 1000 + 200 + n, arena);
    }
    assert_int_equal(journals(folder), 0);
    folder_remove(folder);
    arena_destroy(arena);
}

/* A file size limit stands for a full disk: the write fails with a message, what was recorded
 * before stays. */
static void child_runs_full(const char *path)
{
    struct arena *arena = arena_create();
    struct db *db;
    double span;
    signal(SIGXFSZ, SIG_IGN);
    if (db_open(path, true, arena, &db) != STAX_OK) _exit(4);
    struct run *run = begin(db, arena);
    for (uint64_t i = 0; i < 10; i++) record_one(run, i);
    struct rlimit limit = {12000, 12000}; /* the opening of a journal takes about 6 kB */
    setrlimit(RLIMIT_FSIZE, &limit);
    enum stax_status status = STAX_OK;
    uint64_t number = 10;
    for (; status == STAX_OK && number < 1000; number++) {
        struct trial trial = numbered(number, &span);
        status = run_trial(run, 0, job_number(number), 1, &trial);
    }
    bool good = status == STAX_IO && strstr(status_message(), "free space") &&
                !strchr(status_message(), '\n');
    struct run_result result = {.complete = true};
    good = good && run_end(run, &result) != STAX_OK;
    _exit(good ? (int)number : 1); /* `number` trials, less the failed one */
}

static void test_full_disk_for_journal(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    int status;
    pid_t child = fork();
    if (child == 0) child_runs_full(path);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 10);
    struct db *db;
    struct stored_trial *trials;
    uint64_t count;
    OK(db_open(path, false, arena, &db));
    OK(db_trials(db, 0, arena, &trials, &count));
    assert_int_equal(count, WEXITSTATUS(status) - 1);
    assert_int_equal(files_with(folder, ".torn"), 0);
    folder_remove(folder);
    arena_destroy(arena);
}

static void child_folds_full(const char *path)
{
    struct arena *arena = arena_create();
    struct db *db;
    struct stat info;
    signal(SIGXFSZ, SIG_IGN);
    if (db_open(path, true, arena, &db) != STAX_OK) _exit(4);
    struct run *run = begin(db, arena);
    for (uint64_t i = 0; i < 10; i++) record_one(run, i);
    if (stat(path, &info) != 0) _exit(5);
    struct rlimit limit = {(rlim_t)info.st_size + 4096, (rlim_t)info.st_size + 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct run_result result = {.complete = true};
    enum stax_status status = run_end(run, &result);
    _exit(status == STAX_IO && strstr(status_message(), "free space") ? 0 : 1);
}

static void test_full_disk_for_file(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    int status;
    OK(h5_create(path, false));
    assert_int_equal(system(arena_printf(arena, "cp %s %s.before", path, path)), 0);
    pid_t child = fork();
    if (child == 0) child_folds_full(path);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(system(arena_printf(arena, "cmp %s %s.before", path, path)), 0);
    assert_int_equal(journals(folder), 1);
    struct db *db;
    OK(db_open(path, false, arena, &db));
    assert_int_equal(journals(folder), 0);
    for (uint64_t i = 0; i < 10; i++) assert_found(db, i, arena);
    folder_remove(folder);
    arena_destroy(arena);
}

/* Returns 0 when all is well, 77 when this process may not mount. */
static int fill_a_disk(const char *folder, int kib)
{
    struct arena *arena = arena_create();
    const char *path = arena_printf(arena, "%s/results.h5", folder);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, arena_printf(arena, "size=%dk", kib)) != 0) {
        return 77;
    }
    struct db *db;
    uint64_t number = 0;
    if (db_open(path, true, arena, &db) == STAX_OK) {
        struct run *run;
        struct run_info info = random_info(random_space(arena), arena);
        enum stax_status status = run_begin(db, &info, arena, &run);
        bool begun = status == STAX_OK;
        double span;
        for (; status == STAX_OK && number < 200; number++) {
            struct trial trial = numbered(number, &span);
            status = run_trial(run, 0, job_number(number), 1, &trial);
        }
        if (status != STAX_OK && number > 0) number--;
        struct run_result result = {.complete = true};
        if (begun && run_end(run, &result) != STAX_OK && status == STAX_OK) status = STAX_IO;
        if (status != STAX_OK && (status != STAX_IO || !strstr(status_message(), "space")))
            return 1;
        db_close(db);
    } else if (!strstr(status_message(), "space")) {
        return 2;
    }
    if (mount("none", folder, "tmpfs", MS_REMOUNT, "size=16m") != 0) return 3;
    struct stored_trial *trials;
    uint64_t count;
    if (db_open(path, true, arena, &db) != STAX_OK) return 4;
    if (db_trials(db, UINT64_MAX, arena, &trials, &count) != STAX_OK || count != number) return 5;
    for (uint64_t i = 0; i < count; i++) {
        if (trials[i].trial.span_ns[0] != (double)i) return 6;
    }
    return journals(folder) == 0 && files_with(folder, ".new") == 0 ? 0 : 7;
}

/* Disks of every size from too small for anything to enough, each full at another moment; then
 * given more room. */
static void test_disks_that_fill_up(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    int ran = 0;
    for (int kib = 8; kib < 4000; kib = kib * 5 / 4) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(fill_a_disk(folder, kib));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) break;
        if (status != 0) fail_msg("a disk of %d KiB: wait status %x", kib, status);
        ran++;
    }
    folder_remove(folder);
    arena_destroy(arena);
    if (ran == 0) print_message("not run: this user may not mount\n");
    if (ran == 0) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_while_appending), cmocka_unit_test(test_kill_while_folding),
        cmocka_unit_test(test_writers_at_once),      cmocka_unit_test(test_full_disk_for_journal),
        cmocka_unit_test(test_full_disk_for_file),   cmocka_unit_test(test_disks_that_fill_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
