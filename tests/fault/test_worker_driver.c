/* A driver that is missing, too old, without devices or without room: one clear line each, from the
 * command's side of a probe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/measure.h"

static char folder[] = "/tmp/stax-driver-XXXXXX";
static struct arena *arena;

static struct measure_options options_for(const char *device)
{
    return (struct measure_options){
        .device = device, .cache_dir = "", .timer = TIMER_COUNT, .l2 = L2_COUNT};
}

static void fails(const char *mode, const char *device, const char *part)
{
    struct measure_options options = options_for(device);
    struct device_info info;
    setenv("STAX_FAKE_CUDA", mode, 1);
    enum stax_status status = measure_probe(&options, arena, &info);
    if (status != STAX_DEVICE || !strstr(status_message(), part))
        fail_msg("%s: %s, not ...%s...", status_name(status), status_message(), part);
    assert_null(strchr(status_message(), '\n'));
}

static void test_driver(void **state)
{
    fails("noinit", "cuda", "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE (100)");
    fails("mismatch", "cuda", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
    fails("nodevice", "cuda", "sees no GPU");
    fails("old", "cuda", "lacks cuLaunchKernel: update the driver");
    fails("device", "cuda:7", "there is no cuda:7: the last GPU is cuda:0");
}

static void test_auto_falls_to_cpu(void **state)
{
    struct measure_options options = options_for("auto");
    struct device_info info;
    setenv("STAX_FAKE_CUDA", "noinit", 1);
    if (measure_probe(&options, arena, &info) != STAX_OK) fail_msg("%s", status_message());
    assert_int_equal(info.kind, DEVICE_CPU);
}

static void test_found(void **state)
{
    struct measure_options options = options_for("auto");
    struct device_info info;
    setenv("STAX_FAKE_CUDA", "device", 1);
    if (measure_probe(&options, arena, &info) != STAX_OK) fail_msg("%s", status_message());
    assert_int_equal(info.kind, DEVICE_CUDA);
    assert_string_equal(info.name, "Fake GPU");
    assert_string_equal(info.spec, "cuda:0");
    assert_string_equal(info.arch, "sm_90a");
    assert_string_equal(info.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_non_null(strstr(info.driver, "CUDA 13.0"));
}

/* A context that cannot be made fails the opening, with the driver's own word for it. */
static void test_no_room(void **state)
{
    struct measure_options options = options_for("cuda");
    struct measure *measure;
    setenv("STAX_FAKE_CUDA", "device", 1);
    options.timer = TIMER_EVENT;
    enum stax_status status = measure_open(&options, arena, &measure);
    assert_int_equal(status, STAX_DEVICE);
    assert_string_equal(status_message(), "making a context: CUDA_ERROR_OUT_OF_MEMORY (2)");
}

static void test_doctor(void **state)
{
    struct measure_options options = options_for("auto");
    const char *text;
    setenv("STAX_FAKE_CUDA", "noinit", 1);
    assert_int_equal(measure_doctor(&options, arena, &text), STAX_OK);
    assert_non_null(strstr(text, "CUDA_ERROR_NO_DEVICE (100)"));
    assert_non_null(strstr(text, "compiler"));
}

static int set_up(void **state)
{
    arena = arena_create();
    const char *tests = getenv("STAX_TEST_DIR");
    if (!tests || !mkdtemp(folder)) return -1;
    char *fake = arena_printf(arena, "%s/fake_cuda.so", tests);
    char *link = arena_printf(arena, "%s/libcuda.so.1", folder);
    const char *path = getenv("LD_LIBRARY_PATH");
    setenv("LD_LIBRARY_PATH",
           arena_printf(arena, "%s%s%s", folder, path ? ":" : "", path ? path : ""), 1);
    return symlink(fake, link);
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
        cmocka_unit_test(test_driver), cmocka_unit_test(test_auto_falls_to_cpu),
        cmocka_unit_test(test_found),  cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_doctor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
