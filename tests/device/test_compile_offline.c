/* Every catalogue kernel at 50 configurations, the odd cases at 8, through NVRTC to cubins for
 * sm_80, sm_90a and sm_120, on a machine that needs no GPU. Configurations of one kernel are one
 * source, entries renamed, which costs a tenth of compiling them alone. Reads ptxas' remarks: the
 * first candidate and the one that surely fits may not spill (of the others ptxas now and then
 * gives up a few bytes for occupancy; they are then refused), and every entry must be there. Exits
 * 77 where NVRTC is absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/emit.h"
#include "tests/support/codegen_run.h"

enum { CONFIGS_A_KERNEL = 50, CONFIGS_ODD = 8 };

static struct nvrtc {
    int (*create)(void **program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(void *program, int options, const char *const *option);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *log);
    int (*cubin_size)(void *program, size_t *size);
    int (*destroy)(void **program);
} nvrtc;

static bool open_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    void *library = NULL;
    for (size_t i = 0; i < STAX_COUNT(names) && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (library == NULL) return false;
    *(void **)&nvrtc.create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&nvrtc.compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&nvrtc.log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&nvrtc.log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&nvrtc.cubin_size = dlsym(library, "nvrtcGetCUBINSize");
    *(void **)&nvrtc.destroy = dlsym(library, "nvrtcDestroyProgram");
    return nvrtc.create && nvrtc.compile && nvrtc.log_size && nvrtc.log && nvrtc.cubin_size &&
           nvrtc.destroy;
}

static const char *compile(const char *source, const char *arch, const char *what,
                           struct arena *arena)
{
    const char *options[] = {arena_printf(arena, "-arch=%s", arch), "-std=c++17",
                             "--ptxas-options=-v"};
    void *program;
    size_t size = 0;
    assert_int_equal(nvrtc.create(&program, source, "k.cu", 0, NULL, NULL), 0);
    int status = nvrtc.compile(program, (int)STAX_COUNT(options), options);
    assert_int_equal(nvrtc.log_size(program, &size), 0);
    char *log = arena_alloc(arena, size + 1);
    assert_int_equal(nvrtc.log(program, log), 0);
    if (status != 0) fail_msg("%s for %s does not compile:\n%.3000s", what, arch, log);
    assert_int_equal(nvrtc.cubin_size(program, &size), 0);
    assert_true(size > 0);
    nvrtc.destroy(&program);
    return log;
}

/* Bytes spilled by `entry` according to the log; fails when the log does not name it. */
static long spilled(const char *log, const char *entry, const char *what)
{
    char mark[256];
    snprintf(mark, sizeof mark, "Function properties for %s\n", entry);
    const char *at = strstr(log, mark);
    if (at == NULL) fail_msg("%s: no entry %s in the log", what, entry);
    const char *stores = strstr(at, " bytes spill stores");
    assert_non_null(stores);
    while (stores[-1] >= '0' && stores[-1] <= '9') stores--;
    return strtol(stores, NULL, 10);
}

static void compile_case(const struct run_case *c, const char *arch, int most,
                         int *configs_compiled, int *spills)
{
    struct arena *arena = arena_create();
    struct cg_kernel *cg = run_open(c, arena);
    struct device_info device;
    struct space *space;
    struct cg_candidates candidates;
    struct job *jobs[CONFIGS_A_KERNEL];
    uint64_t configs[CONFIGS_A_KERNEL];
    struct run_library library = run_library_make(arena);
    const char *prelude = emit_embedded("templates/prelude.cuh"), *what = run_case_text(c, arena);
    assert_int_equal(cg_offline_device(arch, arena, &device), STAX_OK);
    assert_int_equal(cg_space(cg, &device, arena, &space), STAX_OK);
    assert_int_equal(cg_candidates(cg, &device, space, &candidates), STAX_OK);
    int count = run_choose(space, &candidates, configs, most);
    text_add(&library.source, prelude);
    for (int i = 0; i < count; i++) {
        assert_int_equal(cg_job(cg, &device, space, configs[i], 1, arena, &jobs[i]), STAX_OK);
        run_library_add(&library, jobs[i]->program.source + strlen(prelude), &jobs[i]->program);
    }
    const char *log = compile(text_string(&library.source), arch, what, arena);
    assert_null(strstr(log, "warning"));
    for (int i = 0; i < count; i++)
        for (int l = 0; l < jobs[i]->program.launches; l++) {
            const char *entry = arena_printf(arena, "part%d_%s", i,
                                             jobs[i]->program.launch[l].entry);
            long bytes = spilled(log, entry, what);
            bool needed = candidates.config[0] == configs[i] || candidates.safe == configs[i];
            if (bytes > 0 && needed)
                fail_msg("%s at %s spills %ld bytes on %s", what,
                         space_config_text(space, configs[i], arena), bytes, arch);
            *spills += bytes > 0;
        }
    compile(jobs[0]->reference.source, arch, what, arena);
    *configs_compiled += count;
    arena_destroy(arena);
}

static void every_kernel_compiles(void **state)
{
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_120"};
    const struct cg_entry *entries;
    int kernels = cg_catalogue(&entries);
    for (size_t a = 0; a < STAX_COUNT(archs); a++) {
        int configs = 0, spills = 0;
        for (int k = 0; k < kernels; k++)
            compile_case(&(struct run_case){.kernel = entries[k].name}, archs[a], CONFIGS_A_KERNEL,
                         &configs, &spills);
        for (const struct run_case *c = run_cases; a == 1 && (c->kernel != NULL || c->expr != NULL);
             c++)
            compile_case(c, archs[a], CONFIGS_ODD, &configs, &spills); /* odd sizes on one target */
        printf("%s: %d configurations, %d spill\n", archs[a], configs, spills);
        assert_true(spills * 10 <= configs); /* the space would be badly drawn */
    }
}

int main(void)
{
    if (!open_nvrtc()) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_compiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
