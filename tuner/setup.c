/* What tune, show and bench open: kernel, device, space, heuristic set. */
#include <string.h>

#include "base/log.h"
#include "tuner/tuner.h"

enum stax_status setup_kernel(stax_tuner *tuner, struct arena *arena, struct setup *setup)
{
    const struct option_values *args = &tuner->option[OPTION_ARG];
    const struct option_values *dims = &tuner->option[OPTION_DIM];
    struct cg_request request = {.kernel = option_text(tuner, OPTION_KERNEL),
                                 .expr = option_text(tuner, OPTION_EXPR),
                                 .args = args->count,
                                 .arg = args->text,
                                 .dims = dims->count,
                                 .dim = dims->text};
    if (!request.kernel && !request.expr)
        STAX_RETURN(STAX_USAGE, "name a kernel: --kernel NAME (see `stax-tune list kernels`), "
                                "--kernel FILE.stax or --expr TEXT");
    if (request.kernel && request.expr)
        STAX_RETURN(STAX_USAGE, "give either --kernel or --expr, not both");
    STAX_TRY(cg_open(&request, arena, &setup->kernel));
    setup->arena = arena;
    setup->name = cg_name(setup->kernel);
    setup->problem = cg_problem(setup->kernel);
    setup->source = cg_source(setup->kernel);
    setup->bytes = cg_bytes(setup->kernel);
    setup->flop = cg_flop(setup->kernel);
    int64_t seed;
    STAX_TRY(option_int(tuner, OPTION_SEED, 0, INT64_MAX, &seed));
    setup->seed = (uint64_t)seed;
    return STAX_OK;
}

enum stax_status setup_measure_options(stax_tuner *tuner, struct measure_options *options)
{
    int timer, l2;
    int64_t spill, workers;
    double limit;
    STAX_TRY(option_choice(tuner, OPTION_TIMER, timer_names, TIMER_HOST + 1, TIMER_COUNT, &timer));
    STAX_TRY(option_choice(tuner, OPTION_L2, l2_names, L2_COUNT, L2_COUNT, &l2));
    STAX_TRY(option_int(tuner, OPTION_SPILL_LIMIT, 0, INT32_MAX, &spill));
    STAX_TRY(option_int(tuner, OPTION_WORKERS, 0, 1024, &workers));
    STAX_TRY(option_real(tuner, OPTION_TIME_LIMIT, 0.05, 86400, &limit));
    *options = (struct measure_options){.device = option_text(tuner, OPTION_DEVICE),
                                        .compile_workers = (int)workers,
                                        .timer = (enum timer)timer,
                                        .l2 = (enum l2_mode)l2,
                                        .spill_limit = spill,
                                        .time_limit_s = limit};
    return STAX_OK;
}

static enum stax_status replay_lookup(void *data, const struct hash128 *config, int fidelity,
                                      uint64_t repeat, struct arena *arena, struct trial *trial)
{
    return replay_trial(data, config, fidelity, repeat, arena, trial);
}

static const char replay_prefix[] = "replay:";

bool setup_foreign(const stax_tuner *tuner)
{
    const char *device = option_text(tuner, OPTION_DEVICE);
    return strncmp(device, replay_prefix, sizeof replay_prefix - 1) == 0 &&
           !option_given(tuner, OPTION_KERNEL) && !option_given(tuner, OPTION_EXPR);
}

/* The kernel is whatever was recorded; nothing is known of it but its name. */
static enum stax_status setup_recorded(stax_tuner *tuner, struct arena *arena, struct setup *setup)
{
    int64_t seed;
    STAX_TRY(option_int(tuner, OPTION_SEED, 0, INT64_MAX, &seed));
    setup->arena = arena;
    setup->seed = (uint64_t)seed;
    setup->name = setup->problem = setup->source = "";
    return STAX_OK;
}

void warn_of_recording(const char *path, const struct recording *recording)
{
    if (!recording) return;
    if (recording->cut_off)
        log_write(LOG_WARNING, "%s ends early: only the configurations that were complete are read",
                  path);
    for (int i = 0; i < recording->warnings; i++)
        log_write(LOG_WARNING, "%s: %s", path, recording->warning[i]);
}

/* A replay measures nothing: its space is what was recorded, its device that of the recording. */
static enum stax_status open_replay(struct setup *setup, const char *path,
                                    struct measure_options *options)
{
    STAX_TRY(replay_open(path, setup->arena, &setup->replay));
    warn_of_recording(path, replay_recording(setup->replay));
    options->lookup = replay_lookup;
    options->recorded = replay_device(setup->replay);
    options->data = setup->replay;
    return STAX_OK;
}

/* The heuristic set among recorded configurations: those of the kernel's own set that were
 * recorded, else the first. */
static void replay_candidates(struct setup *setup)
{
    struct cg_candidates own = {0}, *out = &setup->candidates;
    const struct space *space;
    if (setup->kernel &&
        cg_space(setup->kernel, setup->device, setup->arena, (struct space **)&space) == STAX_OK &&
        cg_candidates(setup->kernel, setup->device, space, &own) == STAX_OK) {
        for (int i = 0; i < own.count; i++)
            if (space_translate(space, own.config[i], setup->space, &out->config[out->count]))
                out->count++;
    }
    if (out->count == 0) out->count = 1; /* rank 0 */
    out->safe = out->config[0];
}

enum stax_status setup_open(stax_tuner *tuner, struct arena *arena,
                            void (*starting)(void *, uint64_t), void *data, struct setup *setup)
{
    struct measure_options options;
    STAX_TRY(setup_foreign(tuner) ? setup_recorded(tuner, arena, setup)
                                  : setup_kernel(tuner, arena, setup));
    STAX_TRY(setup_measure_options(tuner, &options));
    if (strncmp(options.device, replay_prefix, sizeof replay_prefix - 1) == 0) {
        STAX_TRY(open_replay(setup, options.device + sizeof replay_prefix - 1, &options));
    } else {
        options.starting = starting;
        options.data = data;
    }
    STAX_TRY(measure_open(&options, arena, &setup->measure));
    setup->device = measure_device(setup->measure);
    if (setup->replay) {
        setup->space = replay_space(setup->replay);
        if (!setup->kernel)
            setup->name = setup->problem = replay_kernel(setup->replay);
        else if (strcmp(replay_kernel(setup->replay), setup->problem) != 0)
            STAX_RETURN(STAX_USAGE, "the recording is of %s, not of %s; name its kernel and shapes",
                        replay_kernel(setup->replay), setup->problem);
        replay_candidates(setup);
        return STAX_OK;
    }
    STAX_TRY(cg_space(setup->kernel, setup->device, arena, (struct space **)&setup->space));
    if (space_warning(setup->space)) log_write(LOG_WARNING, "%s", space_warning(setup->space));
    if (space_count(setup->space) == 0)
        STAX_RETURN(STAX_UNSUPPORTED, "%s has no configuration that fits %s", setup->problem,
                    setup->device->name);
    return cg_candidates(setup->kernel, setup->device, setup->space, &setup->candidates);
}

enum stax_status setup_reopen(stax_tuner *tuner, struct setup *setup)
{
    struct measure_options options;
    STAX_CHECK(!setup->replay);
    STAX_TRY(setup_measure_options(tuner, &options));
    options.device = setup->device->spec;
    measure_close(setup->measure);
    setup->measure = NULL;
    STAX_TRY(measure_open(&options, setup->arena, &setup->measure));
    setup->device = measure_device(setup->measure);
    return STAX_OK;
}

/* A recorded configuration has no source here: its text stands for it, so that identities stay
 * distinct. */
static struct job *replay_job(const struct setup *setup, uint64_t config, struct arena *arena)
{
    struct job *job = ARENA_NEW(arena, struct job);
    job->kernel = setup->problem;
    job->device = setup->device->kind;
    job->arch = setup->device->arch;
    job->program = (struct job_program){.source = space_config_text(setup->space, config, arena),
                                        .options = ""};
    job->reference = (struct job_program){.source = "", .options = ""};
    job->bytes = setup->bytes;
    job->flop = setup->flop;
    return job;
}

enum stax_status setup_job(const struct setup *setup, uint64_t config, struct arena *arena,
                           struct job **job)
{
    if (!setup->replay)
        return cg_job(setup->kernel, setup->device, setup->space, config, setup->seed, arena, job);
    *job = replay_job(setup, config, arena);
    return STAX_OK;
}

void setup_close(struct setup *setup)
{
    measure_close(setup->measure);
    setup->measure = NULL;
}
