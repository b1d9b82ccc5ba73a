/* Every catalogue kernel, also at awkward sizes, through the whole measuring path of the cpu
 * device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/catalogue_run.h"

/* 4 a case: the compiler takes a third of a second each; test_cpu_codegen samples more, many to a
 * compilation. */
static void test_catalogue(void **state)
{
    (void)state;
    assert_int_equal(catalogue_run("cpu", 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_catalogue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
