/* The C printer against the interpreter: every case of codegen_run.c, candidates and sampled
 * configurations that together show each value of each parameter, compiled by the host compiler and
 * called. The reference program of each case runs too: its values are the interpreter's, its bounds
 * are the interpreter's times its stated safety. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
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
    int part, reference_part;
};

static const char *after_prelude(const char *source)
{
    size_t length = strlen(emit_embedded("templates/prelude_c.h"));
    assert_int_equal(strncmp(source, emit_embedded("templates/prelude_c.h"), length), 0);
    return source + length;
}

static void call(const struct run_library *library, int part, const struct job_program *program,
                 void **buffers)
{
    for (int i = 0; i < program->launches; i++) {
        const struct job_launch *launch = &program->launch[i];
        void *args[64];
        STAX_CHECK(launch->args <= 64);
        for (int a = 0; a < launch->args; a++) args[a] = &buffers[launch->arg[a].buffer];
        void (*entry)(void *const *args);
        *(void **)&entry = run_library_entry(library, part, launch->entry);
        entry(args);
    }
}

static void check_reference(const struct entry *entry, void *const *buffers, struct arena *arena)
{
    const struct job *job = entry->job;
    for (int b = 0; b < job->buffers; b++) {
        const struct job_buffer *buffer = &job->buffer[b];
        if (buffer->role != JOB_REF_OUT && buffer->role != JOB_REF_BOUND) continue;
        const double *got = buffers[b];
        const double *value = entry->truth.value[buffer->pair],
                     *bound = entry->truth.bound[buffer->pair];
        for (int64_t i = 0; i < buffer->elements; i++) {
            double right = buffer->role == JOB_REF_OUT ? value[i]
                                                       : 4 * bound[i]; /* REFERENCE_SAFETY */
            double allowed = buffer->role == JOB_REF_OUT ? 1e-9 * fabs(right) + 1e-3 * bound[i]
                                                         : 1e-6 * right;
            if (!(fabs(got[i] - right) <= allowed) && got[i] != right)
                fail_msg("%s: %s[%lld] is %.17g, not %.17g", run_case_text(entry->c, arena),
                         buffer->name, (long long)i, got[i], right);
        }
    }
}

static void every_case_equals_the_interpreter(void **state)
{
    struct arena *arena = arena_create();
    struct run_library tuned = run_library_make(arena), reference = run_library_make(arena);
    text_add(&tuned.source, emit_embedded("templates/prelude_c.h"));
    text_add(&reference.source, emit_embedded("templates/reference_c.h"));
    text_add(&reference.source, emit_embedded("reference_math.h"));
    size_t reference_prelude = reference.source.length;
    static struct entry entries[1024];
    int count = 0;
    for (const struct run_case *c = run_cases; c->kernel != NULL || c->expr != NULL; c++) {
        struct run_truth truth = run_truth_make(c, arena);
        struct device_info device = run_cpu_device(64);
        struct space *space;
        struct cg_candidates candidates;
        uint64_t configs[CONFIGS_A_CASE];
        assert_int_equal(cg_space(truth.cg, &device, arena, &space), STAX_OK);
        assert_int_equal(cg_candidates(truth.cg, &device, space, &candidates), STAX_OK);
        int chosen = run_choose(space, &candidates, configs,
                                c->kernel != NULL ? CONFIGS_A_CASE : CONFIGS_AN_EXPRESSION);
        for (int i = 0; i < chosen; i++) {
            struct entry *entry = &entries[count++];
            *entry = (struct entry){.c = c,
                                    .truth = truth,
                                    .config = space_config_text(space, configs[i], arena),
                                    .reference_part = -1};
            assert_int_equal(cg_job(truth.cg, &device, space, configs[i], 1, arena, &entry->job),
                             STAX_OK);
            entry->part = run_library_add(&tuned, after_prelude(entry->job->program.source),
                                          &entry->job->program);
            if (i == 0)
                entry->reference_part = run_library_add(
                    &reference, entry->job->reference.source + reference_prelude,
                    &entry->job->reference);
        }
    }
    run_library_load(&tuned, "c",
                     "cc -std=gnu11 -O1 -march=native -fopenmp -fno-math-errno "
                     "-fno-trapping-math -ffp-contract=fast -Wall -Wno-unused-function -Werror "
                     "-shared -fPIC @i -o @o -lm");
    run_library_load(&reference, "c", "cc -std=gnu11 -O1 -fopenmp -shared -fPIC @i -o @o -lm");
    for (int i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        for (int poison = 0; poison < 2; poison++) {
            struct arena *scratch = arena_create();
            void **buffers = run_buffers(entry->job, &entry->truth, poison ? 0x5a : 0xff, scratch);
            call(&tuned, entry->part, &entry->job->program, buffers);
            const char *wrong = run_compare(entry->job, buffers, &entry->truth, 4, scratch);
            if (wrong != NULL)
                fail_msg("%s at %s: %s", run_case_text(entry->c, arena), entry->config, wrong);
            if (entry->reference_part >= 0 && poison == 0) {
                call(&reference, entry->reference_part, &entry->job->reference, buffers);
                check_reference(entry, buffers, arena);
            }
            arena_destroy(scratch);
        }
    }
    printf("%d configurations\n", count);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_equals_the_interpreter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
