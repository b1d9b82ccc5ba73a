/* The compilers: what they make, what they say of it, and what bad source gives. NVRTC needs no
 * GPU; where it is not installed its tests are left out by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/compile.h"
#include "measure/cuda_device.h"

static char folder[] = "/tmp/stax-compile-XXXXXX";
static struct arena *arena;

static struct compile_result compile(const struct compiler *compiler, const char *arch,
                                     const char *source, const char *options, bool assembly)
{
    struct compile_request request = {arch, source, options, "", assembly};
    struct compile_result result;
    if (compiler->compile(&request, folder, arena, &result) != STAX_OK)
        fail_msg("%s", status_message());
    return result;
}

static void test_read_ptxas(void **state)
{
    const char *log =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
        "ptxas info    : Function properties for a\n"
        "ptxas         .     24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 1 barriers, 24 bytes cumulative "
        "stack size, 512 bytes smem\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 0 barriers\n";
    struct compile_facts facts = {
        .registers = -1, .shared_bytes = -1, .spill_bytes = -1, .stack_bytes = -1};
    compile_read_ptxas(log, &facts);
    assert_int_equal(facts.registers, 40);
    assert_int_equal(facts.shared_bytes, 512);
    assert_int_equal(facts.spill_bytes, 12);
    assert_int_equal(facts.stack_bytes, 24);
    facts = (struct compile_facts){.registers = -1, .shared_bytes = -1};
    compile_read_ptxas("nothing of the kind\n", &facts);
    assert_int_equal(facts.registers, -1);
    assert_int_equal(facts.shared_bytes, -1);
}

static void test_first_error(void **state)
{
    assert_string_equal(compile_first_error("one\nx.c:3: error: bad  \nmore error\n", arena),
                        "x.c:3: error: bad");
    assert_string_equal(compile_first_error("only this", arena), "only this");
    assert_string_equal(compile_first_error("", arena), "");
}

static void test_cc(void **state)
{
    const char *identity, *arch;
    assert_int_equal(compile_cc.identify(arena, &identity, &arch), STAX_OK);
    assert_true(strlen(identity) > 8 && strlen(arch) > 2);
    const char *source = "int twice(int x) { return 2 * x; }\n";
    struct compile_result a = compile(&compile_cc, arch, source, "", false);
    struct compile_result b = compile(&compile_cc, arch, source, "", false);
    assert_int_equal(a.outcome, OUTCOME_OK);
    assert_true(a.length > 100 && a.length == b.length); /* the same source, the same bytes */
    assert_memory_equal(a.binary, b.binary, a.length);
    struct compile_result text = compile(&compile_cc, arch, source, "", true);
    assert_non_null(strstr((const char *)text.binary, "twice:"));
    struct compile_result bad = compile(&compile_cc, arch, "int x = ;\n", "", false);
    assert_int_equal(bad.outcome, OUTCOME_COMPILE);
    assert_non_null(strstr(bad.message, "error"));
    struct compile_result option = compile(&compile_cc, arch, "int x = LIMIT;\n", "-DLIMIT=3\n-O1",
                                           false);
    assert_int_equal(option.outcome, OUTCOME_OK);
}

/* A folder of programs in which cc says what it likes. */
static void test_no_compiler(void **state)
{
    const char *identity, *arch;
    char *path = arena_text(arena, getenv("PATH"));
    unsetenv("CC");
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(compile_cc.identify(arena, &identity, &arch), STAX_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "install gcc or clang"));
    setenv("PATH", path, 1);
    setenv("CC", "/nonexistent/cc", 1);
    assert_int_equal(compile_cc.identify(arena, &identity, &arch), STAX_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "$CC"));
    unsetenv("CC");
}

static bool have_nvrtc(void)
{
    const char *identity, *unused;
    if (compile_nvrtc.identify(arena, &identity, &unused) == STAX_OK) return true;
    print_message("left out: %s\n", status_message());
    return false;
}

static const char *const cuda_source =
    "extern \"C\" __global__ void scale(float *x, float f) { __shared__ float s[64]; "
    "s[threadIdx.x] = x[threadIdx.x];\n"
    " __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x] * f; }\n";

static void test_nvrtc(void **state)
{
    if (!have_nvrtc()) return;
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_120"};
    for (size_t i = 0; i < STAX_COUNT(targets); i++) {
        struct compile_result result = compile(&compile_nvrtc, targets[i], cuda_source, "", false);
        assert_int_equal(result.outcome, OUTCOME_OK);
        assert_memory_equal(result.binary, "\177ELF", 4);
        assert_in_range(result.facts.registers, 4, 64);
        assert_int_equal(result.facts.spill_bytes, 0);
        assert_true(result.facts.shared_bytes >= 256);
    }
    struct compile_result text = compile(&compile_nvrtc, "sm_90a", cuda_source, "", true);
    assert_non_null(strstr((const char *)text.binary, ".entry scale"));
    struct compile_result bad = compile(&compile_nvrtc, "sm_90a",
                                        "__global__ void f() { nonsense; }", "", false);
    assert_int_equal(bad.outcome, OUTCOME_COMPILE);
    assert_non_null(strstr(bad.message, "nonsense"));
    struct compile_result option = compile(&compile_nvrtc, "sm_90a", cuda_source,
                                           "--no-such-option", false);
    assert_int_equal(option.outcome, OUTCOME_COMPILE);
}

static void test_spills(void **state)
{
    if (!have_nvrtc()) return;
    /* 200 live values in 24 registers. */
    const char *source =
        "extern \"C\" __global__ void spill(float *x) { float v[200];\n"
        "#pragma unroll\n for (int i = 0; i < 200; i++) v[i] = x[i * 32 + threadIdx.x];\n"
        "__syncthreads();\n"
        "#pragma unroll\n for (int i = 0; i < 200; i++) x[i * 32 + threadIdx.x] = v[199 - i]; }\n";
    struct compile_result result = compile(&compile_nvrtc, "sm_90a", source, "--maxrregcount=24",
                                           false);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_true(result.facts.spill_bytes > 100);
    assert_true(result.facts.stack_bytes > 100);
    assert_true(result.log[0] != '\0'); /* the warning is kept */
}

static void test_own_kernels(void **state)
{
    if (!have_nvrtc()) return;
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_120a"};
    for (size_t i = 0; i < STAX_COUNT(targets); i++) {
        struct compile_result result = compile(&compile_nvrtc, targets[i], support_source(arena),
                                               "--fmad=false", false);
        if (result.outcome != OUTCOME_OK) fail_msg("%s", result.log);
        assert_int_equal(result.facts.spill_bytes, 0);
    }
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
        cmocka_unit_test(test_read_ptxas),  cmocka_unit_test(test_first_error),
        cmocka_unit_test(test_cc),          cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_nvrtc),       cmocka_unit_test(test_spills),
        cmocka_unit_test(test_own_kernels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
