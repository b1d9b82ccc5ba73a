/* Compiling, calling and comparing of codegen_run.h. */
#include "tests/support/codegen_run.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"

/* 63 x 1000, 7 x 333, 1 x 100003, 1025 x 8: rows and lengths that blocks, vectors or both do not
 * divide. The column sum of 1025 rows is pytorch#195845. */
const struct run_case run_cases[] = {
    {.kernel = "per_fused"},
    {.kernel = "per_fused", .arg = {"x=f32[63,1000]", "y=f32[63,1000]"}},
    {.kernel = "per_fused", .arg = {"x=bf16[7,333]", "y=bf16[7,333]"}},
    {.kernel = "poi_fused", .arg = {"x=f32[80,48]", "y=f32[48,80]"}},
    {.kernel = "poi_fused", .arg = {"x=f32[77,131]", "y=f32[131,77]"}},
    {.kernel = "poi_fused", .arg = {"x=bf16[64,96]", "y=bf16[96,64]"}},
    {.kernel = "gelu_backward"},
    {.kernel = "gelu_backward", .arg = {"h=f32[1001]"}},
    {.kernel = "gelu_backward", .arg = {"g=bf16[]", "h=bf16[2504]"}},
    {.kernel = "red_fused", .arg = {"x=f32[6,8192]"}},
    {.kernel = "red_fused", .arg = {"x=f32[1,100003]"}},
    {.kernel = "red_fused", .arg = {"x=bf16[3,8200]"}},
    {.kernel = "softmax", .arg = {"x=f32[9,1000]"}},
    {.kernel = "softmax", .arg = {"x=f32[7,333]"}},
    {.kernel = "softmax", .arg = {"x=bf16[5,2048]"}},
    {.kernel = "layer_norm", .arg = {"x=f32[5,4096]"}},
    {.kernel = "layer_norm", .arg = {"x=f32[11,111]", "w=f32[111]", "b=f32[111]"}},
    {.kernel = "layer_norm", .arg = {"x=bf16[9,1000]", "w=bf16[1000]", "b=bf16[1000]"}},
    {.kernel = "rms_norm", .arg = {"x=f32[3,4096]"}},
    {.kernel = "rms_norm", .arg = {"x=f32[17,100]", "w=f32[100]"}},
    {.kernel = "rms_norm", .arg = {"x=bf16[6,1032]", "w=bf16[1032]"}},
    {.expr = "kernel columns(x: f32[1025, 8]) { return sum(2 * x + 0.25, axis=0) }"},
    {.expr = "kernel columns_wide(x: f32[300, 260]) { return max(x * x, axis=0) }"},
    {.expr = "kernel columns_odd(x: f32[1000, 37]) { return sum(x, axis=0) }"},
    {.expr = "kernel mean_columns(x: bf16[512, 128]) { return mean(x, axis=0) }"},
    {.expr =
         "kernel halves(x: f16[33, 104], y: f16[104]) -> f16 { return sum(relu(x) * y, axis=-1) }"},
    {.expr = "kernel halves_out(x: f16[40, 24], y: f16[24, 40]) -> f16 { return exp(x.T) + y }"},
    {.expr = "kernel doubles(x: f64[21, 260]) { return softmax(x, axis=-1) }"},
    {.expr = "kernel doubles_max(x: f64[130, 40]) { return max(where(x > 0.5, x, -x), axis=0) }"},
    {.expr = "kernel whole(x: i32[37, 300]) { return max(x * 3 - 7, axis=-1) }"},
    {.expr = "kernel longs(x: i64[37, 65]) { return sum(relu(x) * 3, axis=-1) }"},
    {.expr = "kernel small(x: i8[50, 66]) { return min(relu(x), axis=0) }"},
    {.expr = "kernel bytes(x: u8[19, 500], y: bool[500]) { return sum(where(y, f32(x), 0.0), "
             "axis=-1) }"},
    {.expr =
         "kernel wraps(x: u8[9, 70], y: i8[9, 70], z: i32[70]) { return -x, x * x - y, y * y + 3, "
         "max(-x, axis=0), sum(z * z, axis=0), z * 1500000000 + 1 }"},
    {.expr = "kernel casts(x: f32[9, 70], z: i64[70]) { return i8(x * 300), u8(x * 1000), "
             "i32(x * 7), i8(z), sum(u8(z)) }"},
    {.expr = "kernel products(x: f32[4, 400], y: i64[4, 400]) { return prod(x * 20, axis=1), "
             "prod(y, axis=1) }"},
    {.expr = "kernel past(x: i32[700]) { let y = x * 2147483; return y + 1 > y, y * 2 > y, y * y "
             ">= 0, -y }"},
    {.expr = "kernel beyond(x: f32[700]) { return where(x > 0, x, -1e39), minimum(x, 1e39) }"},
    {.expr = "kernel mixed(x: bf16[29, 64], w: f32[64]) -> bf16 { return tanh(x) * w + sin(w) }"},
    {.expr = "kernel two(x: f32[30, 120]) { return sum(x, axis=-1), max(x, axis=-1), x * 2 }"},
    {.expr = "kernel slice(x: f32[30, 120]) { return sum(x[:, 3:99:2], axis=-1) }"},
    {.expr = "kernel all(x: f32[300, 1000]) { return sum(x * x) }"},
    {.expr = "kernel shaped(x: f32[24, 90]) { return x.reshape(90, 24) + x.T }"},
    {.expr =
         "kernel turn3(x: f32[6, 10, 16], y: f32[16, 6, 10]) { return transpose(x, 2, 0, 1) + y }"},
    {.expr = "kernel middle(x: f32[5, 400, 24]) { return sum(x, axis=1) }"},
    {.expr = "kernel middle_odd(x: bf16[3, 501, 7]) { return max(x, axis=1) }"},
    {.expr = "kernel ends(x: f32[40, 6, 36]) { return sum(x * x, axis=(0, 2)) }"},
    {.expr = "kernel both(x: f32[64, 48], y: f32[48, 64]) { return sum(x.T + y, axis=-1) }"},
    {.expr = "kernel column_norm(x: f32[200, 64]) { return softmax(x, axis=0) }"},
    {.expr = "kernel broadcast(x: f32[40, 1, 64], y: f32[24, 64]) { return x * y }"},
    {.expr = "kernel lone(x: f32[12345]) { return sum(x), min(x) }"},
    {.expr = "kernel tall(x: f32[5003, 24]) { return sum(x, axis=0) }"},
    {.kernel = NULL},
};

const char *run_case_text(const struct run_case *c, struct arena *arena)
{
    struct text text = text_make(arena);
    text_add(&text, c->kernel != NULL ? c->kernel : c->expr);
    for (int i = 0; i < 4 && c->arg[i] != NULL; i++) text_printf(&text, " --arg %s", c->arg[i]);
    return text_string(&text);
}

static void stop(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, status_message());
    abort();
}

struct cg_kernel *run_open(const struct run_case *c, struct arena *arena)
{
    struct cg_request request = {.kernel = c->kernel, .expr = c->expr, .arg = c->arg};
    while (request.args < 4 && c->arg[request.args] != NULL) request.args++;
    struct cg_kernel *cg;
    if (cg_open(&request, arena, &cg) != STAX_OK) stop(run_case_text(c, arena));
    return cg;
}

struct device_info run_cpu_device(int vector_bytes)
{
    return (struct device_info){.kind = DEVICE_CPU,
                                .spec = "cpu",
                                .name = "cpu",
                                .uuid = "",
                                .arch = "native",
                                .processors = 2,
                                .warp_size = 1,
                                .vector_bytes = vector_bytes,
                                .driver = "",
                                .compiler = "",
                                .timer_note = ""};
}

/* ---- elements ---- */

static double half_value(unsigned bits)
{
    int exponent = bits >> 10 & 31;
    double significand = bits & 1023;
    double v = exponent == 31  ? (significand != 0 ? NAN : INFINITY)
               : exponent == 0 ? ldexp(significand, -24)
                               : ldexp(significand + 1024, exponent - 25);
    return bits >> 15 ? -v : v;
}

static double element(const void *storage, enum dtype dtype, int64_t i)
{
    switch (dtype) {
    case DTYPE_F32: return ((const float *)storage)[i];
    case DTYPE_F64: return ((const double *)storage)[i];
    case DTYPE_I32: return ((const int32_t *)storage)[i];
    case DTYPE_I64: return (double)((const int64_t *)storage)[i];
    case DTYPE_I8: return ((const int8_t *)storage)[i];
    case DTYPE_U8: return ((const uint8_t *)storage)[i];
    case DTYPE_BOOL: return ((const uint8_t *)storage)[i] != 0;
    case DTYPE_F16: return half_value(((const uint16_t *)storage)[i]);
    case DTYPE_BF16: {
        uint32_t bits = (uint32_t)((const uint16_t *)storage)[i] << 16;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
    default: abort();
    }
}

/* Nearest binary16 of a value below 65504, ties away (any rounding serves a fill). */
static uint16_t half_bits(double v)
{
    unsigned sign = v < 0 ? 0x8000 : 0;
    double a = fabs(v);
    int exponent = a < 0x1p-14 ? -14 : (int)floor(log2(a));
    unsigned scaled = (unsigned)(a * ldexp(1, 10 - exponent) +
                                 0.5); /* 1024 .. 2048, less when subnormal */
    unsigned bits = a < 0x1p-14 ? scaled : scaled + ((unsigned)(exponent + 14) << 10);
    return (uint16_t)(sign | bits);
}

static void set_element(void *storage, enum dtype dtype, int64_t i, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    switch (dtype) {
    case DTYPE_F32: ((float *)storage)[i] = f; break;
    case DTYPE_F64: ((double *)storage)[i] = v; break;
    case DTYPE_I32: ((int32_t *)storage)[i] = (int32_t)v; break;
    case DTYPE_I64: ((int64_t *)storage)[i] = (int64_t)v; break;
    case DTYPE_I8: ((int8_t *)storage)[i] = (int8_t)v; break;
    case DTYPE_U8: ((uint8_t *)storage)[i] = (uint8_t)v; break;
    case DTYPE_BOOL: ((uint8_t *)storage)[i] = v > 0; break;
    case DTYPE_F16: ((uint16_t *)storage)[i] = half_bits(v); break;
    case DTYPE_BF16:
        ((uint16_t *)storage)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    default: abort();
    }
}

static void fill_input(struct run_truth *truth, int b, double low, double high, struct arena *arena)
{
    const struct ir_buffer *buffer = &truth->cg->program.buffer[b];
    truth->storage[b] = arena_alloc(
        arena, (size_t)buffer->elements * (size_t)dtype_table[buffer->dtype].bytes + 64);
    for (int64_t i = 0; i < buffer->elements; i++) {
        double u = (double)(rng_mix((uint64_t)b ^ rng_mix((uint64_t)i)) >> 11) * 0x1p-53;
        set_element(truth->storage[b], buffer->dtype, i, low + (high - low) * u);
        truth->value[b][i] = element(truth->storage[b], buffer->dtype, i);
    }
}

struct run_truth run_truth_make(const struct run_case *c, struct arena *arena)
{
    struct run_truth truth = {.cg = run_open(c, arena)};
    const struct ir_program *program = &truth.cg->program;
    truth.storage = ARENA_ARRAY(arena, void *, program->buffers);
    truth.value = ARENA_ARRAY(arena, double *, program->buffers);
    truth.bound = ARENA_ARRAY(arena, double *, program->buffers);
    for (int b = 0; b < program->buffers; b++) {
        truth.value[b] = ARENA_ARRAY(arena, double, program->buffer[b].elements + 1);
        truth.bound[b] = ARENA_ARRAY(arena, double, program->buffer[b].elements + 1);
    }
    for (int i = 0; i < truth.cg->inputs; i++) {
        const struct cg_input *input = &truth.cg->input[i];
        fill_input(&truth, input->buffer, input->low, input->high, arena);
    }
    if (ir_eval(program, truth.value, truth.bound) != STAX_OK) stop(run_case_text(c, arena));
    return truth;
}

/* ---- libraries ---- */

struct run_library run_library_make(struct arena *arena)
{
    return (struct run_library){.arena = arena, .source = text_make(arena)};
}

int run_library_add(struct run_library *library, const char *source,
                    const struct job_program *program)
{
    for (int i = 0; i < program->launches; i++)
        text_printf(&library->source, "#define %s part%d_%s\n", program->launch[i].entry,
                    library->parts, program->launch[i].entry);
    text_add(&library->source, source);
    text_add(&library->source, "\n");
    for (int i = 0; i < program->launches; i++)
        text_printf(&library->source, "#undef %s\n", program->launch[i].entry);
    return library->parts++;
}

void run_library_load(struct run_library *library, const char *suffix, const char *command)
{
    char folder[] = "/tmp/stax-run-XXXXXX";
    if (mkdtemp(folder) == NULL) stop("mkdtemp");
    char *source = arena_printf(library->arena, "%s/k.%s", folder, suffix);
    char *output = arena_printf(library->arena, "%s/k.so", folder);
    FILE *file = fopen(source, "w");
    if (file == NULL || fputs(text_string(&library->source), file) < 0 || fclose(file) != 0)
        stop(source);
    struct text line = text_make(library->arena);
    for (const char *c = command; *c != '\0'; c++) {
        if (*c == '@')
            text_add(&line, *++c == 'i' ? source : output);
        else
            text_add_n(&line, c, 1);
    }
    if (system(text_string(&line)) != 0) {
        fprintf(stderr, "failed: %s\n", text_string(&line));
        abort();
    }
    library->handle = dlopen(output, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    unlink(source);
    unlink(output);
    rmdir(folder);
}

void *run_library_entry(const struct run_library *library, int part, const char *entry)
{
    void *symbol = dlsym(library->handle, arena_printf(library->arena, "part%d_%s", part, entry));
    if (symbol == NULL) {
        fprintf(stderr, "part %d has no %s\n", part, entry);
        abort();
    }
    return symbol;
}

void *run_library_symbol(const struct run_library *library, const char *name)
{
    void *symbol = dlsym(library->handle, name);
    if (symbol == NULL) {
        fprintf(stderr, "no symbol %s\n", name);
        abort();
    }
    return symbol;
}

/* ---- configurations ---- */

int run_choose(const struct space *space, const struct cg_candidates *candidates, uint64_t *out,
               int most)
{
    int count = 0;
    bool shown[32][32] = {{false}};
    int values[32];
    struct rng rng = rng_make(7, 0);
    STAX_CHECK(space_params(space) <= 32);
    for (int tries = 0; tries < 4000 && count < most; tries++) {
        uint64_t config = tries < candidates->count    ? candidates->config[tries]
                          : tries == candidates->count ? candidates->safe
                                                       : space_sample(space, &rng);
        bool fresh = tries <= candidates->count || tries >= 2000, known = false;
        space_unrank(space, config, values);
        for (int p = 0; p < space_params(space); p++) fresh |= !shown[p][values[p]];
        for (int i = 0; i < count; i++) known |= out[i] == config;
        if (!fresh || known) continue;
        for (int p = 0; p < space_params(space); p++) shown[p][values[p]] = true;
        out[count++] = config;
    }
    return count;
}

/* ---- buffers and comparison ---- */

void **run_buffers(const struct job *job, const struct run_truth *truth, unsigned char poison,
                   struct arena *arena)
{
    void **buffers = ARENA_ARRAY(arena, void *, job->buffers);
    for (int b = 0; b < job->buffers; b++) {
        const struct job_buffer *buffer = &job->buffer[b];
        size_t bytes = (size_t)buffer->elements * (size_t)dtype_table[buffer->dtype].bytes;
        char *memory = arena_alloc(arena, bytes + 128);
        memory += 64 - (uintptr_t)memory % 64;
        buffers[b] = memory;
        if (buffer->role == JOB_INPUT)
            memcpy(memory, truth->storage[b],
                   bytes); /* inputs come first, in the program's order */
        else if (buffer->role != JOB_COUNTER)
            memset(memory, poison, bytes);
    }
    return buffers;
}

const char *run_compare(const struct job *job, void *const *buffers, const struct run_truth *truth,
                        double safety, struct arena *arena)
{
    for (int b = 0; b < job->buffers; b++) {
        const struct job_buffer *buffer = &job->buffer[b];
        if (buffer->role == JOB_COUNTER)
            for (int64_t i = 0; i < buffer->elements; i++)
                if (((const int32_t *)buffers[b])[i] != 0)
                    return "a counter is left at another value than zero";
        if (buffer->role != JOB_OUTPUT) continue;
        for (int64_t i = 0; i < buffer->elements; i++) {
            double out = element(buffers[b], buffer->dtype, i), right = truth->value[b][i];
            double away = fabs(out - right), allowed = safety * truth->bound[b][i];
            if (!(away <= allowed) && !(out != out && right != right) && out != right)
                return arena_printf(arena, "%s[%lld] is %.9g, not %.9g +- %.3g", buffer->name,
                                    (long long)i, out, right, allowed);
        }
    }
    return NULL;
}
