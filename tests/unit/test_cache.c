/* Artifacts on disk: whole or not there; every damaged byte and every cut is noticed; the least
 * used go first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/cache.h"

static char folder[] = "/tmp/stax-cache-XXXXXX";
static struct arena *arena;

static const struct artifact sample = {.binary = (const unsigned char *)"ELF and so on",
                                       .length = 13,
                                       .log = "remark",
                                       .facts = {.seconds = 1.5,
                                                 .registers = 40,
                                                 .shared_bytes = 1024,
                                                 .spill_bytes = 0,
                                                 .stack_bytes = 8,
                                                 .binary = {1, 2}}};

static const char *path_of(const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

static void test_round(void **state)
{
    const char *path = path_of("a");
    struct artifact back;
    assert_int_equal(artifact_read(path, arena, &back), STAX_NOTFOUND);
    assert_int_equal(artifact_write(path, &sample), STAX_OK);
    assert_int_equal(artifact_read(path, arena, &back), STAX_OK);
    assert_int_equal(back.length, 13);
    assert_memory_equal(back.binary, sample.binary, 13);
    assert_string_equal(back.log, "remark");
    assert_int_equal(back.facts.registers, 40);
    assert_true(back.facts.seconds == 1.5 && back.facts.binary.high == 2);
    /* Empty ones too. */
    struct artifact empty = {.binary = (const unsigned char *)"", .log = ""};
    assert_int_equal(artifact_write(path, &empty), STAX_OK);
    assert_int_equal(artifact_read(path, arena, &back), STAX_OK);
    assert_int_equal(back.length, 0);
}

static void write_raw(const char *path, const unsigned char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (int)length);
    close(fd);
}

static void test_damage(void **state)
{
    const char *path = path_of("b"), *other = path_of("c");
    unsigned char bytes[512];
    struct artifact back;
    assert_int_equal(artifact_write(path, &sample), STAX_OK);
    int fd = open(path, O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(length > 60 && length < (ssize_t)sizeof bytes);
    for (ssize_t i = 0; i < length; i++) {
        bytes[i] ^= 1;
        write_raw(other, bytes, (size_t)length);
        assert_int_equal(artifact_read(other, arena, &back), STAX_FORMAT);
        bytes[i] ^= 1;
        write_raw(other, bytes, (size_t)i);
        assert_int_equal(artifact_read(other, arena, &back), STAX_FORMAT);
    }
    /* A good frame round too little is still no artifact. */
    assert_int_equal(cache_write(other, "abc", 3), STAX_OK);
    assert_int_equal(artifact_read(other, arena, &back), STAX_FORMAT);
}

static void test_keys(void **state)
{
    struct hash128 a = cache_program_key("s", "o", "arch", "cc 1");
    assert_true(hash128_equal(a, cache_program_key("s", "o", "arch", "cc 1")));
    assert_false(hash128_equal(
        a, cache_program_key("so", "", "arch", "cc 1"))); /* no text slides into the next */
    assert_false(hash128_equal(a, cache_program_key("s", "o", "arch", "cc 2")));
    assert_false(hash128_equal(a, cache_program_key("s", "o", "arc", "hcc 1")));
}

static void test_prune(void **state)
{
    const char *inner = path_of("prune/deep");
    assert_int_equal(cache_make_folder(inner), STAX_OK);
    assert_int_equal(cache_make_folder(inner), STAX_OK);
    char text[1000] = "";
    const char *path[4];
    for (int i = 0; i < 4; i++) {
        path[i] = arena_printf(arena, "%s/%d", inner, i);
        assert_int_equal(cache_write(path[i], text, sizeof text), STAX_OK);
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        assert_int_equal(utimensat(AT_FDCWD, path[i], times, 0), 0);
    }
    const void *bytes;
    size_t length;
    assert_int_equal(cache_read(path[0], arena, &bytes, &length),
                     STAX_OK); /* used now: the youngest */
    cache_prune(inner, 2500);
    assert_int_equal(access(path[0], F_OK), 0);
    assert_int_not_equal(access(path[1], F_OK), 0);
    assert_int_not_equal(access(path[2], F_OK), 0);
    assert_int_equal(access(path[3], F_OK), 0);
}

static void test_unwritable(void **state)
{
    assert_int_equal(artifact_write("/nonexistent/folder/a", &sample), STAX_IO);
    assert_non_null(strstr(status_message(), "/nonexistent/folder/a"));
    assert_int_equal(cache_make_folder("/proc/nonexistent/a"), STAX_IO);
    struct artifact back;
    assert_int_equal(artifact_read(folder, arena, &back),
                     STAX_FORMAT); /* a folder is no artifact */
}

static int set_up(void **state)
{
    arena = arena_create();
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    arena_destroy(arena);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round),      cmocka_unit_test(test_damage),
        cmocka_unit_test(test_keys),       cmocka_unit_test(test_prune),
        cmocka_unit_test(test_unwritable),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
