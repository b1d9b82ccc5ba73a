/* NVRTC: CUDA C without includes to a CUBIN of the exact architecture. Needs no GPU and no driver.
 *
 * ptxas tells registers, shared memory, stack and spills through the program's log, which is read
 * at every compile; remarks on serialised matrix instructions (C75xx) are kept, because such code
 * runs but is slow. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "measure/compile.h"
#include "measure/library.h"

struct nvrtc_program; /* NVRTC's own */

static struct {
    void *library;
    int (*version)(int *, int *);
    int (*create)(struct nvrtc_program **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*destroy)(struct nvrtc_program **);
    int (*compile)(struct nvrtc_program *, int, const char *const *);
    int (*log_size)(struct nvrtc_program *, size_t *);
    int (*log)(struct nvrtc_program *, char *);
    int (*cubin_size)(struct nvrtc_program *, size_t *);
    int (*cubin)(struct nvrtc_program *, char *);
    int (*ptx_size)(struct nvrtc_program *, size_t *);
    int (*ptx)(struct nvrtc_program *, char *);
    const char *(*error)(int);
} nvrtc;

static const struct {
    void *to;
    const char *name;
} symbols[] = {
    {&nvrtc.version, "nvrtcVersion"},
    {&nvrtc.create, "nvrtcCreateProgram"},
    {&nvrtc.destroy, "nvrtcDestroyProgram"},
    {&nvrtc.compile, "nvrtcCompileProgram"},
    {&nvrtc.log_size, "nvrtcGetProgramLogSize"},
    {&nvrtc.log, "nvrtcGetProgramLog"},
    {&nvrtc.cubin_size, "nvrtcGetCUBINSize"},
    {&nvrtc.cubin, "nvrtcGetCUBIN"},
    {&nvrtc.ptx_size, "nvrtcGetPTXSize"},
    {&nvrtc.ptx, "nvrtcGetPTX"},
    {&nvrtc.error, "nvrtcGetErrorString"},
};

enum { NVRTC_COMPILATION_ERROR = 6, MAX_OPTIONS = 64 }; /* nvrtc.h */

static enum stax_status open_nvrtc(struct arena *arena)
{
    if (nvrtc.library) return STAX_OK;
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
    const char *path, *why;
    void *library = library_open(names, arena, &path, &why);
    if (!library)
        STAX_RETURN(STAX_UNSUPPORTED,
                    "no NVRTC: %s (install the CUDA toolkit, or set CUDA_HOME or LD_LIBRARY_PATH)",
                    why);
    for (size_t i = 0; i < STAX_COUNT(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) STAX_RETURN(STAX_UNSUPPORTED, "NVRTC in %s lacks %s", path, symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    nvrtc.library = library;
    return STAX_OK;
}

static enum stax_status identify(struct arena *arena, const char **identity, const char **arch)
{
    (void)arch;
    STAX_TRY(open_nvrtc(arena));
    int major = 0, minor = 0;
    nvrtc.version(&major, &minor);
    const void *inside;
    memcpy(&inside, &nvrtc.version, sizeof inside);
    const char *build = library_build_id(inside, arena);
    *identity = arena_printf(arena, "NVRTC %d.%d%s%.16s", major, minor, build[0] ? " " : "", build);
    return STAX_OK;
}

static int put_options(const struct compile_request *request, const char **options,
                       struct arena *arena)
{
    int count = 0;
    options[count++] = arena_printf(arena, "--gpu-architecture=%s", request->arch);
    options[count++] = "--std=c++17";
    options[count++] =
        "--modify-stack-limit=false"; /* NVRTC would set the limit of this whole process */
    options[count++] = "--ptxas-options=-v";
    options[count++] = "--ptxas-options=--warn-on-spills";
    char *rest = NULL;
    for (char *line = strtok_r(arena_text(arena, request->options), "\n", &rest);
         line && count < MAX_OPTIONS; line = strtok_r(NULL, "\n", &rest))
        options[count++] = line;
    return count;
}

static const char *read_log(struct nvrtc_program *program, struct arena *arena)
{
    size_t size = 0;
    if (nvrtc.log_size(program, &size) != 0 || size == 0) return "";
    char *log = arena_alloc(arena, size + 1);
    if (nvrtc.log(program, log) != 0) return "";
    return log;
}

/* Is there more in the log of a success than the tables of ptxas -v? */
static bool worth_keeping(const char *log)
{
    return strstr(log, "C75") || strstr(log, "warning") || strstr(log, "Warning");
}

static enum stax_status take_output(struct nvrtc_program *program, bool assembly,
                                    struct arena *arena, struct compile_result *result)
{
    int (*size_of)(struct nvrtc_program *, size_t *) = assembly ? nvrtc.ptx_size : nvrtc.cubin_size;
    int (*get)(struct nvrtc_program *, char *) = assembly ? nvrtc.ptx : nvrtc.cubin;
    size_t size = 0;
    int error = size_of(program, &size);
    if (error != 0 || size == 0)
        STAX_RETURN(STAX_INTERNAL, "NVRTC made no %s: %s", assembly ? "PTX" : "CUBIN",
                    nvrtc.error(error));
    char *bytes = arena_alloc(arena, size + 1);
    error = get(program, bytes);
    if (error != 0) STAX_RETURN(STAX_INTERNAL, "NVRTC gave no output: %s", nvrtc.error(error));
    result->binary = (const unsigned char *)bytes;
    result->length = size;
    return STAX_OK;
}

static enum stax_status compile(const struct compile_request *request, const char *folder,
                                struct arena *arena, struct compile_result *result)
{
    (void)folder;
    STAX_TRY(open_nvrtc(arena));
    *result = (struct compile_result){.message = "", .log = ""};
    result->facts = (struct compile_facts){
        .registers = -1, .shared_bytes = -1, .spill_bytes = -1, .stack_bytes = -1};
    struct nvrtc_program *program = NULL;
    int error = nvrtc.create(&program, request->source, "kernel.cu", 0, NULL, NULL);
    if (error != 0) STAX_RETURN(STAX_INTERNAL, "NVRTC made no program: %s", nvrtc.error(error));
    const char *options[MAX_OPTIONS + 1];
    int count = put_options(request, options, arena);
    double start = measure_clock_s();
    error = nvrtc.compile(program, count, options);
    result->facts.seconds = measure_clock_s() - start;
    const char *log = read_log(program, arena);
    enum stax_status status = STAX_OK;
    if (error == 0) {
        compile_read_ptxas(log, &result->facts);
        if (worth_keeping(log)) result->log = log;
        status = take_output(program, request->assembly, arena, result);
    } else {
        result->outcome = OUTCOME_COMPILE;
        result->log = log;
        const char *line = compile_first_error(log, arena);
        result->message = line[0] ? line : arena_text(arena, nvrtc.error(error));
    }
    nvrtc.destroy(&program);
    return status;
}

const struct compiler compile_nvrtc = {DEVICE_CUDA, identify, compile};
