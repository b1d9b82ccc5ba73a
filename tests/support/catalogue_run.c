/* Samples configurations and has them verified; see catalogue_run.h. */
#include "tests/support/catalogue_run.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "codegen/codegen.h"
#include "measure/measure.h"

/* The catalogue's own sizes, then sizes that no block divides, one row, one column, long rows, half
 * types. */
static const struct catalogue_case cases[] = {
    {"per_fused", {0}},
    {"poi_fused", {0}},
    {"gelu_backward", {0}},
    {"red_fused", {0}},
    {"softmax", {0}},
    {"layer_norm", {0}},
    {"rms_norm", {0}},
    {"per_fused", {"x=f32[63,127]", "y=f32[63,127]"}},
    {"per_fused", {"x=bf16[65,129]", "y=bf16[65,129]"}},
    {"poi_fused", {"x=f32[509,251]", "y=f32[251,509]"}},
    {"poi_fused", {"x=bf16[1,77]", "y=bf16[77,1]"}},
    {"gelu_backward", {"h=f32[100003]"}},
    {"gelu_backward", {"h=bf16[1]"}},
    {"red_fused", {"x=f32[7,100003]"}},
    {"red_fused", {"x=bf16[3,65536]"}},
    {"red_fused", {"x=f32[1,1]"}},
    {"softmax", {"x=f32[33,1]"}},
    {"softmax", {"x=bf16[129,4095]"}},
    {"softmax", {"x=f32[5,33]"}},
    {"layer_norm", {"x=f32[13,4093]", "w=f32[4093]", "b=f32[4093]"}},
    {"layer_norm", {"x=bf16[17,768]", "w=bf16[768]", "b=bf16[768]"}},
};

enum { MOST = 256 };

struct sample {
    uint64_t config[MOST];
    int count;
};

static void add(struct sample *sample, uint64_t config, int most)
{
    for (int i = 0; i < sample->count; i++)
        if (sample->config[i] == config) return;
    if (sample->count < most) sample->config[sample->count++] = config;
}

/* One configuration for each value of each parameter, found by drawing, then random ones up to
 * `most`. */
static void choose(const struct space *space, struct rng *rng, int most, struct sample *sample)
{
    enum { DRAWS = 400 };
    sample->count = 0;
    for (int p = 0; p < space_params(space); p++) {
        for (int v = 0; v < space_param(space, p)->count; v++) {
            for (int i = 0; i < DRAWS; i++) {
                uint64_t config = space_sample(space, rng);
                if (!value_equal(space_value(space, config, p), &space_param(space, p)->values[v]))
                    continue;
                add(sample, config, most);
                break;
            }
        }
    }
    for (int i = 0; i < DRAWS && sample->count < most; i++)
        add(sample, space_sample(space, rng), most);
}

/* Too many registers or too much shared memory are a device's limits; everything else is our fault.
 */
static bool acceptable(enum outcome outcome)
{
    return outcome == OUTCOME_OK || outcome == OUTCOME_SPILL || outcome == OUTCOME_RESOURCE;
}

static int collect(struct measure *measure, const struct space *space, const struct sample *sample,
                   int *ok)
{
    int bad = 0;
    for (int done = 0; done < sample->count;) {
        struct arena *scratch = arena_create();
        struct trial trial;
        uint64_t ticket = UINT64_MAX;
        enum stax_status status = measure_next(measure, 1, scratch, &ticket, &trial);
        if (status != STAX_OK) {
            printf("    %s\n", status_message());
            arena_destroy(scratch);
            return bad + sample->count - done;
        }
        if (ticket != UINT64_MAX) {
            done++;
            *ok += trial.outcome == OUTCOME_OK && trial.verified && trial.adverse_verified;
            bool good = acceptable(trial.outcome) &&
                        (trial.outcome != OUTCOME_OK || trial.verified);
            if (!good) {
                bad++;
                printf("    %s: %s: %s\n",
                       space_config_text(space, sample->config[ticket % MOST], scratch),
                       outcome_table[trial.outcome].name, trial.message);
            }
        }
        arena_destroy(scratch);
    }
    return bad;
}

static enum stax_status run_case(struct measure *measure, const struct catalogue_case *c,
                                 int configs, struct rng *rng, struct arena *arena,
                                 uint64_t *tickets, int *bad)
{
    struct cg_request request = {.kernel = c->kernel, .arg = c->arg};
    while (request.args < 3 && c->arg[request.args]) request.args++;
    struct cg_kernel *kernel;
    struct space *space;
    struct sample sample;
    const struct device_info *device = measure_device(measure);
    STAX_TRY(cg_open(&request, arena, &kernel));
    STAX_TRY(cg_space(kernel, device, arena, &space));
    choose(space, rng, configs < MOST ? configs : MOST, &sample);
    for (int i = 0; i < sample.count; i++) {
        struct arena *scratch = arena_create();
        struct job *job;
        struct measure_plan plan = {.samples = 1,
                                    .verify = true,
                                    .adverse = true,
                                    .config = space_config_hash(space, sample.config[i])};
        enum stax_status status = cg_job(kernel, device, space, sample.config[i], 1, scratch, &job);
        if (status == STAX_OK)
            status = measure_submit(measure, *tickets * MOST + (uint64_t)i, job, &plan);
        arena_destroy(scratch);
        if (status != STAX_OK) return status;
    }
    int ok = 0;
    *bad += collect(measure, space, &sample, &ok);
    printf("%-60s %3d of %llu configurations, %3d verified\n", cg_problem(kernel), sample.count,
           (unsigned long long)space_count(space), ok);
    fflush(stdout);
    if (ok == 0) ++*bad; /* a case in which nothing runs proves nothing */
    ++*tickets;
    return STAX_OK;
}

int catalogue_run(const char *device, int configs)
{
    struct arena *arena = arena_create();
    struct measure_options options = {.device = device, .timer = TIMER_COUNT, .l2 = L2_WARM};
    struct measure *measure;
    struct rng rng = rng_make(20, 4);
    uint64_t tickets = 0;
    int bad = 0;
    enum stax_status status = measure_open(&options, arena, &measure);
    for (size_t i = 0; i < STAX_COUNT(cases) && status == STAX_OK; i++)
        status = run_case(measure, &cases[i], configs, &rng, arena, &tickets, &bad);
    if (status != STAX_OK) {
        printf("%s\n", status_message());
        bad++;
    } else {
        measure_close(measure);
    }
    arena_destroy(arena);
    return bad;
}
