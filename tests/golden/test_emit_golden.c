/* The emitted text of every catalogue kernel at its heuristic configuration, without the prelude,
 * and its candidates on each kind of device: a change of a printer or a rule shows here and is made
 * on purpose. STAX_UPDATE_GOLDEN=1 writes the files anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/emit.h"

static const char *read_text(const char *path, struct arena *arena)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    struct text text = text_make(arena);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) text_add_n(&text, block, n);
    fclose(file);
    return text_string(&text);
}

static void compare(const char *name, const char *got, struct arena *arena)
{
    const char *root = getenv("STAX_SOURCE_DIR");
    char *path = arena_printf(arena, "%s/tests/golden/emit/%s", root != NULL ? root : ".", name);
    if (getenv("STAX_UPDATE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(got, file);
        fclose(file);
    }
    const char *want = read_text(path, arena);
    if (want == NULL || strcmp(want, got) != 0)
        fail_msg("%s differs; STAX_UPDATE_GOLDEN=1 writes it. Now:\n%.2000s", path, got);
}

static void emitted(const char *kernel, const char *arch, struct text *candidates_text,
                    struct arena *arena)
{
    struct cg_request request = {.kernel = kernel};
    struct device_info device = {.kind = DEVICE_CPU,
                                 .spec = "cpu",
                                 .name = "cpu",
                                 .arch = "native",
                                 .processors = 16,
                                 .vector_bytes = 64};
    struct cg_kernel *cg;
    struct space *space;
    struct cg_candidates candidates;
    struct job *job;
    bool cuda = strcmp(arch, "cpu") != 0;
    if (cuda) assert_int_equal(cg_offline_device(arch, arena, &device), STAX_OK);
    assert_int_equal(cg_open(&request, arena, &cg), STAX_OK);
    assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
    assert_int_equal(cg_candidates(cg, &device, space, &candidates), STAX_OK);
    assert_int_equal(cg_job(cg, &device, space, candidates.config[0], 1, arena, &job), STAX_OK);
    text_printf(candidates_text, "%s on %s: %llu configurations\n", kernel, arch,
                (unsigned long long)space_count(space));
    for (int i = 0; i < candidates.count; i++)
        text_printf(candidates_text, "  %d %s\n", i,
                    space_config_text(space, candidates.config[i], arena));
    text_printf(candidates_text, "  safe %s\n", space_config_text(space, candidates.safe, arena));
    const char *prelude = emit_embedded(cuda ? "templates/prelude.cuh" : "templates/prelude_c.h");
    compare(arena_printf(arena, "%s.%s", kernel, cuda ? "cu" : "c"),
            job->program.source + strlen(prelude), arena);
}

static void catalogue(void **state)
{
    static const char *const archs[] = {"sm_90a", "cpu"};
    const struct cg_entry *entries;
    int count = cg_catalogue(&entries);
    struct arena *arena = arena_create();
    struct text candidates = text_make(arena);
    for (int i = 0; i < count; i++)
        for (size_t a = 0; a < STAX_COUNT(archs); a++)
            emitted(entries[i].name, archs[a], &candidates, arena);
    compare("candidates.txt", text_string(&candidates), arena);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(catalogue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
