/* The CUDA printer without a GPU: every case of codegen_run.c at chosen configurations, compiled as
 * C++ and run by cuda_emulate.hpp, a coroutine a thread, against the interpreter. Finds wrong
 * mappings, masks, folds, barriers, counters, addresses and alignments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "codegen/emit.h"
#include "tests/support/codegen_run.h"

enum {
    CONFIGS_A_CASE = 20,
    CONFIGS_AN_EXPRESSION = 8
}; /* 50 and more a catalogue kernel over its cases */

struct entry {
    const struct run_case *c;
    struct job *job;
    struct run_truth truth;
    const char *config;
    int part;
};

static char *read_text(const char *path, struct arena *arena)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) return NULL;
    struct text text = text_make(arena);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) text_add_n(&text, block, n);
    fclose(file);
    return (char *)(uintptr_t)text_string(&text);
}

static void add_emulator(struct run_library *library, struct arena *arena)
{
    const char *root = getenv("STAX_SOURCE_DIR");
    char *shim = read_text(
        arena_printf(arena, "%s/tests/support/cuda_emulate.hpp", root != NULL ? root : "."), arena);
    assert_non_null(shim);
    char *mark = strstr(shim, "@prelude_c@");
    assert_non_null(mark);
    text_add_n(&library->source, shim, (size_t)(mark - shim));
    text_add(&library->source, emit_embedded("templates/prelude_c.h"));
    text_add(&library->source, mark + strlen("@prelude_c@"));
    text_add(&library->source, "\n");
}

static void run_entry(const struct run_library *library, const struct entry *entry, int backwards)
{
    struct arena *scratch = arena_create();
    void **buffers = run_buffers(entry->job, &entry->truth, backwards ? 0x5a : 0xff, scratch);
    void (*launch)(const char *, void *, void *const *, int, const int64_t *, int, int64_t, int);
    void (*range_add)(const void *, size_t);
    void (*range_clear)(void);
    *(void **)&launch = run_library_symbol(library, "emu_launch");
    *(void **)&range_add = run_library_symbol(library, "emu_range_add");
    *(void **)&range_clear = run_library_symbol(library, "emu_range_clear");
    for (int l = 0; l < entry->job->program.launches; l++) {
        const struct job_launch *at = &entry->job->program.launch[l];
        void *args[12];
        assert_true(at->args <= 12);
        range_clear();
        for (int a = 0; a < at->args; a++) {
            const struct job_buffer *buffer = &entry->job->buffer[at->arg[a].buffer];
            args[a] = buffers[at->arg[a].buffer];
            range_add(args[a], (size_t)buffer->elements * (size_t)dtype_table[buffer->dtype].bytes);
        }
        launch(arena_printf(scratch, "%s at %s", at->entry, entry->config),
               run_library_entry(library, entry->part, at->entry), args, at->args, at->grid,
               at->block[0], at->shared_bytes, backwards);
    }
    const char *wrong = run_compare(entry->job, buffers, &entry->truth, 4, scratch);
    if (wrong != NULL)
        fail_msg("%s at %s: %s", run_case_text(entry->c, scratch), entry->config, wrong);
    arena_destroy(scratch);
}

static void every_case_equals_the_interpreter(void **state)
{
    struct arena *arena = arena_create();
    struct run_library library = run_library_make(arena);
    struct device_info device;
    assert_int_equal(cg_offline_device("sm_90a", arena, &device), STAX_OK);
    add_emulator(&library, arena);
    size_t prelude = strlen(emit_embedded("templates/prelude.cuh"));
    static struct entry entries[1024];
    int count = 0;
    for (const struct run_case *c = run_cases; c->kernel != NULL || c->expr != NULL; c++) {
        struct run_truth truth = run_truth_make(c, arena);
        struct space *space;
        struct cg_candidates candidates;
        uint64_t configs[CONFIGS_A_CASE];
        assert_int_equal(cg_space(truth.cg, &device, arena, &space), STAX_OK);
        assert_int_equal(cg_candidates(truth.cg, &device, space, &candidates), STAX_OK);
        int chosen = run_choose(space, &candidates, configs,
                                c->kernel != NULL ? CONFIGS_A_CASE : CONFIGS_AN_EXPRESSION);
        for (int i = 0; i < chosen; i++) {
            struct entry *entry = &entries[count++];
            *entry = (struct entry){
                .c = c, .truth = truth, .config = space_config_text(space, configs[i], arena)};
            assert_int_equal(cg_job(truth.cg, &device, space, configs[i], 1, arena, &entry->job),
                             STAX_OK);
            entry->part = run_library_add(&library, entry->job->program.source + prelude,
                                          &entry->job->program);
        }
    }
    run_library_load(&library, "cpp", "c++ -std=c++17 -O1 -w -shared -fPIC @i -o @o");
    for (int i = 0; i < count; i++)
        for (int backwards = 0; backwards < 2; backwards++)
            run_entry(&library, &entries[i], backwards);
    printf("%d configurations\n", count);
    arena_destroy(arena);
}

int main(void)
{
    if (system("c++ --version > /dev/null 2>&1") != 0)
        return 77; /* no C++ compiler: nothing to emulate with */
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_equals_the_interpreter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
