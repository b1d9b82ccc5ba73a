/* The loop IR of every catalogue kernel, as text: a change of lowering or scheduling shows here and
 * is made on purpose.
 *
 * STAX_UPDATE_GOLDEN=1 writes the files anew. red_fused is split into 2 parts first, as on a device
 * of 132 processors (listing 9.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/program.h"

enum { PROCESSORS = 132 };

static const char *print_kernel(const char *name, struct arena *arena)
{
    struct cg_request request = {.kernel = name};
    struct cg_kernel *kernel;
    if (cg_open(&request, arena, &kernel) != STAX_OK) {
        fail_msg("%s", status_message());
    }
    struct ir_program program = kernel->program;
    for (int k = program.kernels - 1; k >= 0; k--) {
        int64_t parts = ir_split_parts(&program.kernel[k], PROCESSORS);
        if (parts > 1) {
            assert_int_equal(ir_split(&program, k, parts, arena), STAX_OK);
        }
    }
    assert_int_equal(ir_check(&program), STAX_OK);
    struct text text = text_make(arena);
    ir_print(&text, &program);
    return text_string(&text);
}

static char *read_text(const char *path, struct arena *arena)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    char *bytes = arena_alloc(arena, 1 << 16);
    size_t length = fread(bytes, 1, (1 << 16) - 1, file);
    bytes[length] = '\0';
    fclose(file);
    return bytes;
}

static void test_catalogue(void **state)
{
    const char *root = getenv("STAX_SOURCE_DIR");
    const struct cg_entry *entry;
    int count = cg_catalogue(&entry);
    for (int i = 0; i < count; i++) {
        struct arena *arena = arena_create();
        char *path = arena_printf(arena, "%s/tests/golden/ir/%s.txt", root ? root : ".",
                                  entry[i].name);
        const char *got = print_kernel(entry[i].name, arena);
        if (getenv("STAX_UPDATE_GOLDEN")) {
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            fputs(got, file);
            fclose(file);
        }
        const char *want = read_text(path, arena);
        if (!want || strcmp(want, got) != 0) {
            fail_msg("%s differs; STAX_UPDATE_GOLDEN=1 writes it. Now:\n%s", path, got);
        }
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_catalogue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
