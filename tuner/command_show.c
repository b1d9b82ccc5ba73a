/* show: what code generation makes of a kernel, at the heuristic configuration or a given one.
 * Needs no GPU. */
#include <string.h>

#include "tuner/tuner.h"

enum emit { EMIT_GRAPH, EMIT_IR, EMIT_CUDA, EMIT_C, EMIT_PTX, EMIT_SPACE, EMIT_COUNT };
static const char *const emit_names[EMIT_COUNT] = {"graph", "ir", "cuda", "c", "ptx", "space"};

/* An architecture without its GPU when there is none: what a user without one may look at. */
static const char *const fallback_arch = "sm_90a";

/* cuda text is for --arch, else the GPU found, else sm_90a (said); c text is for this host. */
static enum stax_status choose_device(stax_tuner *tuner, int what, struct arena *arena,
                                      struct device_info *device)
{
    struct measure_options options;
    STAX_TRY(setup_measure_options(tuner, &options));
    const char *arch = option_text(tuner, OPTION_ARCH);
    if (what == EMIT_C || (strcmp(options.device, "cpu") == 0 && what != EMIT_CUDA)) {
        if (arch)
            STAX_RETURN(STAX_USAGE,
                        "--arch names a GPU architecture; it goes with --emit cuda or ptx");
        options.device = "cpu";
        return measure_probe(&options, arena, device);
    }
    if (arch) return cg_offline_device(arch, arena, device);
    if (strncmp(options.device, "cuda", 4) != 0) options.device = "cuda";
    if (measure_probe(&options, arena, device) == STAX_OK) return STAX_OK;
    if (strncmp(option_text(tuner, OPTION_DEVICE), "cuda", 4) == 0) return STAX_DEVICE;
    say(tuner, 2, "no GPU here: shown for %s (choose with --arch)\n", fallback_arch);
    return cg_offline_device(fallback_arch, arena, device);
}

static enum stax_status show_assembly(stax_tuner *tuner, struct setup *setup, uint64_t config,
                                      const struct device_info *device, const char **text)
{
    struct measure_options options;
    struct job *job;
    STAX_TRY(setup_measure_options(tuner, &options));
    options.device = device->kind == DEVICE_CPU ? "cpu" : device->spec;
    options.recorded = device; /* compile only: no such device need be here */
    STAX_TRY(cg_job(setup->kernel, device, setup->space, config, setup->seed, setup->arena, &job));
    return measure_assembly(&options, job, setup->arena, text);
}

static enum stax_status show(stax_tuner *tuner, struct arena *arena)
{
    struct setup setup = {0};
    struct device_info *device = ARENA_NEW(arena, struct device_info);
    int what;
    STAX_TRY(option_choice(tuner, OPTION_EMIT, emit_names, EMIT_COUNT, EMIT_COUNT, &what));
    if (what == EMIT_COUNT)
        STAX_RETURN(STAX_USAGE, "say what to show: --emit graph, ir, cuda, c, ptx or space");
    STAX_TRY(setup_kernel(tuner, arena, &setup));
    STAX_TRY(choose_device(tuner, what, arena, device));
    setup.device = device;
    STAX_TRY(cg_space(setup.kernel, device, arena, (struct space **)&setup.space));
    STAX_TRY(cg_candidates(setup.kernel, device, setup.space, &setup.candidates));
    uint64_t config = setup.candidates.config[0];
    if (option_given(tuner, OPTION_CONFIG))
        STAX_TRY(
            space_parse_config(setup.space, option_text(tuner, OPTION_CONFIG), config, &config));
    const char *text;
    if (what == EMIT_PTX)
        STAX_TRY(show_assembly(tuner, &setup, config, device, &text));
    else
        STAX_TRY(
            cg_show(setup.kernel, device, setup.space, config, emit_names[what], arena, &text));
    say(tuner, 1, "%s", text);
    return STAX_OK;
}

enum stax_status command_show(stax_tuner *tuner, int count, const char *const *arguments,
                              int *exit_code)
{
    (void)exit_code;
    if (count)
        STAX_RETURN(STAX_USAGE, "unexpected argument %s; name the kernel with --kernel",
                    arguments[0]);
    struct arena *arena = arena_create();
    enum stax_status status = show(tuner, arena);
    arena_destroy(arena);
    return status;
}
