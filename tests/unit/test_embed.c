/* The embedded tables hold the files of the source tree, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/embed.h"

static void check_table(const char *folder, const struct embedded_text *texts, size_t count)
{
    const char *root = getenv("STAX_SOURCE_DIR");
    assert_non_null(root);
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s/%s", root, folder, texts[i].name);
        FILE *file = fopen(path, "rb");
        if (!file) fail_msg("%s is embedded but not there", path);
        for (size_t at = 0; at < texts[i].length; at++) {
            if (fgetc(file) != texts[i].text[at]) fail_msg("%s differs at byte %zu", path, at);
        }
        assert_int_equal(fgetc(file), EOF);
        assert_int_equal(texts[i].text[texts[i].length], 0);
        if (i > 0) assert_true(strcmp(texts[i - 1].name, texts[i].name) < 0);
        fclose(file);
    }
    assert_null(texts[count].name);
}

static void test_codegen(void **state)
{
    assert_true(codegen_texts_count > 0); /* the catalogue of kernels */
    check_table("codegen", codegen_texts, codegen_texts_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codegen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
