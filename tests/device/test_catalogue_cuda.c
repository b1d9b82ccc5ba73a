/* Every catalogue kernel, also at awkward sizes, times 50 sampled configurations on a GPU against
 * the reference. Status 77 without a GPU, a failure if STAX_REQUIRE_GPU=1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/measure.h"
#include "tests/support/catalogue_run.h"

static void test_catalogue(void **state)
{
    (void)state;
    assert_int_equal(catalogue_run("cuda", 50), 0);
}

int main(void)
{
    const char *require = getenv("STAX_REQUIRE_GPU");
    struct arena *arena = arena_create();
    struct measure_options options = {.device = "cuda", .timer = TIMER_COUNT, .l2 = L2_COUNT};
    struct device_info info;
    enum stax_status status = measure_probe(&options, arena, &info);
    arena_destroy(arena);
    if (status != STAX_OK) {
        printf("no GPU: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_catalogue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
