/* The worker's own kernels, compiled by NVRTC once for this device and cached; see cuda_device.h.
 */
#include <string.h>

#include "base/embed.h"
#include "base/hash.h"
#include "measure/compile.h"
#include "measure/cuda_device.h"
#include "measure/fill_host.h"

enum {
    BLOCK = 256,
    BLOCKS_SM = 8
}; /* 2048 threads an SM, all of a Hopper's; grids are strided loops */

static const char *const names[SUPPORT_COUNT] = {
    "stax_support_fill", "stax_support_compare", "stax_support_all",  "stax_support_digest",
    "stax_support_read", "stax_support_write",   "stax_support_copy", "stax_support_clock",
};

uint64_t support_name(enum support_kernel kernel)
{
    return hash_string(names[kernel]);
}

static const char *embedded(const char *name)
{
    for (size_t i = 0; i < measure_texts_count; i++) {
        if (strcmp(measure_texts[i].name, name) == 0) return (const char *)measure_texts[i].text;
    }
    STAX_CHECK(!"an embedded source is missing");
    return "";
}

const char *support_source(struct arena *arena)
{
    struct text text = text_make(arena);
#define DTYPE(id, name, bytes, kind, bits, cuda, c) \
    text_printf(&text, "#define DTYPE_%s %d\n", #id, DTYPE_##id);
#include "base/dtype.def"
#undef DTYPE
    text_printf(
        &text,
        "#define JOB_FILL_CONSTANT %d\n#define JOB_FILL_ADVERSE %d\n#define JOB_FILL_INDEX %d\n",
        JOB_FILL_CONSTANT, JOB_FILL_ADVERSE, JOB_FILL_INDEX);
    text_add(&text, "#define SUPPORT_FUNCTION static __device__ inline\n"
                    "#define SUPPORT_INF __longlong_as_double(0x7ff0000000000000ll)\n"
                    "#define SUPPORT_NAN __longlong_as_double(0x7ff8000000000000ll)\n");
    text_add(&text, embedded("support_shared.cuh"));
    text_add(&text, embedded("support.cu"));
    return text_string(&text);
}

/* The artifact of our kernels: from the cache, or compiled now. */
static enum stax_status get_artifact(struct backend *backend, const struct backend_options *options,
                                     struct arena *arena, struct artifact *artifact)
{
    struct compile_request request = {
        .arch = backend->info->arch, .source = support_source(arena), .options = "--fmad=false"};
    struct hash128 key = cache_program_key(request.source, request.options, request.arch,
                                           backend->info->compiler);
    const char *folder = options->cache_folder[0]
                             ? arena_printf(arena, "%s/compiled", options->cache_folder)
                             : options->temp_folder;
    const char *path = cache_path(arena, folder, key, ".cubin");
    if (artifact_read(path, arena, artifact) == STAX_OK) return STAX_OK;
    struct compile_result result;
    STAX_TRY(compile_nvrtc.compile(&request, options->temp_folder, arena, &result));
    if (result.outcome != OUTCOME_OK)
        STAX_RETURN(STAX_INTERNAL, "our own kernels do not compile for %s: %s", request.arch,
                    result.message);
    *artifact = (struct artifact){result.binary, result.length, result.facts, ""};
    if (cache_make_folder(folder) == STAX_OK)
        artifact_write(path, artifact); /* a failure costs a second, no more */
    return STAX_OK;
}

enum stax_status support_load(struct backend *backend, const struct backend_options *options)
{
    const struct cuda_driver *cu = backend->cu;
    struct arena *scratch = arena_create();
    struct artifact artifact;
    char text[128];
    void *module = NULL;
    enum stax_status status = get_artifact(backend, options, scratch, &artifact);
    int error = 0;
    if (status == STAX_OK) error = cu->cuModuleLoadData(&module, artifact.binary);
    arena_destroy(scratch);
    if (status != STAX_OK) return status;
    for (int i = 0; i < SUPPORT_COUNT && error == 0; i++)
        error = cu->cuModuleGetFunction(&backend->support[i], module, names[i]);
    if (error == 0) error = cu->cuMemAlloc(&backend->result, sizeof(struct support_result));
    if (error != 0)
        STAX_RETURN(STAX_DEVICE, "our own kernels do not load: %s", cuda_error(cu, error, text));
    return STAX_OK;
}

static bool launch(struct backend *backend, enum support_kernel kernel, int blocks_sm,
                   unsigned int block, void **params, struct verdict *verdict)
{
    unsigned int grid = (unsigned int)(backend->info->processors * blocks_sm);
    int error = backend->cu->cuLaunchKernel(backend->support[kernel], grid, 1, 1, block, 1, 1, 0,
                                            backend->stream, params, NULL);
    backend->launched += error == 0;
    return cuda_verdict(backend->cu, error, names[kernel], verdict);
}

bool support_launch(struct backend *backend, enum support_kernel kernel, void **params,
                    struct verdict *verdict)
{
    return launch(backend, kernel, BLOCKS_SM, BLOCK, params, verdict);
}

static bool clear_result(struct backend *backend, struct verdict *verdict)
{
    struct support_result clear = {.first = UINT64_MAX};
    int error = backend->cu->cuMemcpyHtoD(backend->result, &clear, sizeof clear);
    return cuda_verdict(backend->cu, error, "preparing a check", verdict);
}

static bool read_result(struct backend *backend, struct support_result *result,
                        struct verdict *verdict)
{
    int error = backend->cu->cuStreamSynchronize(backend->stream);
    if (error == 0) error = backend->cu->cuMemcpyDtoH(result, backend->result, sizeof *result);
    return cuda_verdict(backend->cu, error, "checking", verdict);
}

bool support_fill(struct backend *backend, const struct job_buffer *buffer, uint64_t address,
                  struct verdict *verdict)
{
    int dtype = (int)buffer->dtype, fill = (int)buffer->fill,
        is_float = dtype_is_float(buffer->dtype);
    int64_t elements = buffer->elements;
    double low = buffer->low, high = buffer->high;
    uint64_t seed = buffer->seed;
    void *params[] = {&dtype, &address, &elements, &fill, &is_float, &low, &high, &seed};
    return support_launch(backend, SUPPORT_FILL, params, verdict);
}

bool support_all(struct backend *backend, uint64_t address, int byte, int64_t bytes, int64_t *first,
                 struct verdict *verdict)
{
    struct support_result result;
    void *params[] = {&address, &byte, &bytes, &backend->result};
    if (!clear_result(backend, verdict) || !support_launch(backend, SUPPORT_ALL, params, verdict) ||
        !read_result(backend, &result, verdict))
        return false;
    *first = result.first == UINT64_MAX ? -1 : (int64_t)result.first;
    return true;
}

bool support_digest(struct backend *backend, uint64_t address, int64_t bytes, uint64_t *digest,
                    struct verdict *verdict)
{
    struct support_result result;
    void *params[] = {&address, &bytes, &backend->result};
    if (!clear_result(backend, verdict) ||
        !support_launch(backend, SUPPORT_DIGEST, params, verdict) ||
        !read_result(backend, &result, verdict))
        return false;
    *digest = result.wrong;
    return true;
}

static bool read_elements(struct backend *backend, enum dtype dtype, uint64_t out,
                          uint64_t reference, uint64_t bound, struct comparison *comparison,
                          struct verdict *verdict)
{
    unsigned char raw[8];
    int64_t bytes = dtype_table[dtype].bytes;
    uint64_t index = (uint64_t)comparison->first;
    int error = backend->cu->cuMemcpyDtoH(raw, out + index * (uint64_t)bytes, (size_t)bytes);
    if (error == 0) error = backend->cu->cuMemcpyDtoH(&comparison->want, reference + index * 8, 8);
    if (error == 0) error = backend->cu->cuMemcpyDtoH(&comparison->bound, bound + index * 8, 8);
    comparison->got = host_element(dtype, raw);
    return cuda_verdict(backend->cu, error, "reading a wrong element", verdict);
}

bool support_compare(struct backend *backend, enum dtype dtype, int64_t elements, uint64_t out,
                     uint64_t reference, uint64_t bound, struct comparison *comparison,
                     struct verdict *verdict)
{
    struct support_result result;
    int code = (int)dtype;
    void *params[] = {&code, &out, &reference, &bound, &elements, &backend->result};
    if (!clear_result(backend, verdict) ||
        !support_launch(backend, SUPPORT_COMPARE, params, verdict) ||
        !read_result(backend, &result, verdict))
        return false;
    *comparison = (struct comparison){.wrong = (int64_t)result.wrong, .first = -1};
    memcpy(&comparison->ratio, &result.ratio, sizeof comparison->ratio);
    if (result.wrong == 0) return true;
    comparison->first = (int64_t)result.first;
    return read_elements(backend, dtype, out, reference, bound, comparison, verdict);
}

bool support_clock(struct backend *backend, int turns, double *mhz, struct verdict *verdict)
{
    struct support_result result;
    void *params[] = {&turns, &backend->result};
    /* One warp an SM: every SM runs, and a turn takes its latency. */
    if (!launch(backend, SUPPORT_CLOCK, 1, 32, params, verdict) ||
        !read_result(backend, &result, verdict))
        return false;
    *mhz = result.first ? 1e3 * (double)result.wrong / (double)result.first : 0;
    return true;
}
