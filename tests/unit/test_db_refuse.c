/* What is no database of ours is refused with one line and stays as it was, byte for byte. */
#include "tests/unit/db_random.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/h5.h"

static size_t load(const char *path, char **bytes, struct arena *arena)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    size_t length = (size_t)ftell(stream);
    rewind(stream);
    *bytes = arena_alloc(arena, length);
    assert_int_equal(fread(*bytes, 1, length, stream), length);
    fclose(stream);
    return length;
}

static void store(const char *path, const void *bytes, size_t length)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

/* Refused with `part` in its message, one line, and nothing changed; both ways of opening. */
static void refuse(const char *path, enum stax_status want, const char *part)
{
    struct arena *arena = arena_create();
    char *before = NULL, *after = NULL;
    size_t length = load(path, &before, arena);
    for (int create = 0; create < 2; create++) {
        struct db *db;
        enum stax_status status = db_open(path, create, arena, &db);
        if (status != want || !strstr(status_message(), part)) {
            fail_msg("%s: got %s \"%s\", want \"%s\"", path, status_name(status), status_message(),
                     part);
        }
        assert_null(strchr(status_message(), '\n'));
        assert_int_equal(load(path, &after, arena), length);
        if (length) assert_memory_equal(after, before, length);
    }
    arena_destroy(arena);
}

static void test_foreign(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/f", folder);
    store(path, "Dear diary\n", 11);
    refuse(path, STAX_FORMAT, "not a stax-tune database");
    static const char begins_well[] = "\x89HDF\r\n\x1a\n and then nothing of the kind";
    store(path, begins_well, sizeof begins_well);
    refuse(path, STAX_FORMAT, "damaged");
    store(path, "", 0);
    refuse(path, STAX_FORMAT, "is empty");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    refuse(path, STAX_FORMAT, "is a folder");
    refuse("/dev/null", STAX_FORMAT, "not a stax-tune database");
    struct db *db;
    assert_int_equal(db_open(arena_printf(arena, "%s/absent.h5", folder), false, arena, &db),
                     STAX_NOTFOUND);
    assert_int_equal(access(arena_printf(arena, "%s/absent.h5", folder), F_OK), -1);
    assert_int_equal(db_open("", true, arena, &db), STAX_USAGE);
    folder_remove(folder);
    arena_destroy(arena);
}

static hid_t write_attribute(hid_t file, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(value) + 1);
    if (H5Aexists(file, name) > 0) H5Adelete(file, name);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return file;
}

static void test_other_hdf5(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/f.h5", folder);
    h5_quiet();
    H5Fclose(H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    refuse(path, STAX_FORMAT, "not a stax-tune database");
    H5Fclose(write_attribute(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), "stax_schema", "1.0"));
    refuse(path, STAX_IO, "cannot open /commit");
    const char *ours = arena_printf(arena, "%s/ours.h5", folder);
    OK(h5_create(ours, false));
    H5Fclose(write_attribute(H5Fopen(ours, H5F_ACC_RDWR, H5P_DEFAULT), "stax_schema", "2.0"));
    refuse(ours, STAX_FORMAT, "has schema 2.0");
    H5Fclose(write_attribute(H5Fopen(ours, H5F_ACC_RDWR, H5P_DEFAULT), "stax_schema", "one"));
    refuse(ours, STAX_FORMAT, "not a stax-tune database");
    folder_remove(folder);
    arena_destroy(arena);
}

static void test_truncated(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/f.h5", folder),
               *cut = arena_printf(arena, "%s/cut.h5", folder);
    char *bytes = NULL;
    struct db *db;
    OK(db_open(path, true, arena, &db));
    db_close(db);
    size_t length = load(path, &bytes, arena);
    for (int i = 1; i < 8; i++) {
        store(cut, bytes, length * (size_t)i / 8);
        refuse(cut, STAX_FORMAT, "damaged");
    }
    folder_remove(folder);
    arena_destroy(arena);
}

/* Somebody has the file open for writing elsewhere: said, after the wait, and nothing is touched.
 */
static void test_held_open(void **state)
{
    struct arena *arena = arena_create();
    const char *folder = folder_make(arena);
    const char *path = arena_printf(arena, "%s/f.h5", folder);
    h5_quiet();
    OK(h5_create(path, false));
    int other = open(path, O_RDWR); /* HDF5's own lock is flock on the file */
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    struct h5file *file;
    assert_int_equal(h5_open(path, false, 60, &file), STAX_IO);
    assert_non_null(strstr(status_message(), "held open by another program"));
    close(other);
    OK(h5_open(path, true, 0, &file));
    OK(h5_close(file));
    folder_remove(folder);
    arena_destroy(arena);
}

static void test_no_place(void **state)
{
    struct arena *arena = arena_create();
    struct db *db;
    /* nobody, root included, may create files there */
    if (access("/proc/self", F_OK) == 0) {
        assert_int_equal(db_open("/proc/self/results.h5", true, arena, &db), STAX_IO);
        assert_non_null(strstr(status_message(), "--db"));
        assert_int_equal(db_open("/proc/self/new/results.h5", true, arena, &db), STAX_IO);
        assert_non_null(strstr(status_message(), "cannot create the folder"));
    }
    const char *folder = folder_make(arena);
    const char *file = arena_printf(arena, "%s/file", folder);
    store(file, "x", 1);
    assert_int_equal(db_open(arena_printf(arena, "%s/results.h5", file), true, arena, &db),
                     STAX_IO);
    assert_non_null(strstr(status_message(), file));
    folder_remove(folder);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign),   cmocka_unit_test(test_other_hdf5),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_held_open),
        cmocka_unit_test(test_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
