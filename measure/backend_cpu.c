/* The host as a device: shared objects in this process, wall clock, pages without access round the
 * guard zones. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "measure/backend.h"
#include "measure/compile.h"
#include "measure/fill_host.h"

enum {
    PAGE = 4096,
    HUGE_PAGE = 2 << 20,
    DIRTY_BYTES = 256 << 20,   /* what nvbench and Triton write before a call */
    CEILING_BYTES = 128 << 20, /* chosen: copies in a few ms, twice most last-level caches */
    CEILING_ROUNDS = 5,
};

struct backend {
    const struct device_info *info;
    enum l2_mode l2;
    unsigned char *flush;
    int64_t flush_bytes;
};

struct backend_program {
    void *handle;
    const struct job_program *source;
    void (**entry)(void *const *); /* a launch */
    void ***args;                  /* a launch, an argument: where its value lies */
    uint64_t **values;
};

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static const char *read_name(struct arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    const char *name = "unknown processor";
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        name = arena_text_n(arena, colon + 2, strcspn(colon + 2, "\n"));
        break;
    }
    if (file) fclose(file);
    return name;
}

/* A host's identity: its machine id, or its name where there is none. */
static const char *read_uuid(const char *name, struct arena *arena)
{
    char id[256] = "";
    FILE *file = fopen("/etc/machine-id", "re");
    if (file && !fgets(id, sizeof id, file)) id[0] = '\0';
    if (file) fclose(file);
    if (!id[0]) gethostname(id, sizeof id - 1);
    struct text text = text_make(arena);
    text_printf(&text, "%s %s", id, name);
    return arena_printf(arena, "CPU-%016llx", (unsigned long long)hash_string(text_string(&text)));
}

static int vector_bytes(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return 64;
    if (__builtin_cpu_supports("avx2")) return 32;
#endif
    return 16; /* SSE2 and NEON */
}

static int64_t last_level_cache(void)
{
    static const int names[] = {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                _SC_LEVEL2_CACHE_SIZE};
    for (size_t i = 0; i < STAX_COUNT(names); i++) {
        long bytes = sysconf(names[i]);
        if (bytes > 0) return bytes;
    }
    return 1 << 20; /* chosen, where the host does not say */
}

static enum stax_status probe(const struct backend_options *options, struct arena *arena,
                              struct device_info *info, bool *timer_ok)
{
    (void)options;
    const char *identity, *arch;
    STAX_TRY(compile_cc.identify(arena, &identity, &arch));
    *timer_ok = true;
    const char *name = read_name(arena);
    *info = (struct device_info){
        .kind = DEVICE_CPU,
        .spec = "cpu",
        .name = name,
        .uuid = read_uuid(name, arena),
        .arch = arch,
        .processors = host_threads(),
        .warp_size = 1,
        .max_threads_block = 1,
        .max_threads_sm = 1,
        .l2_bytes = last_level_cache(),
        .memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
        .max_grid = {INT64_MAX, INT64_MAX, INT64_MAX},
        .vector_bytes = vector_bytes(),
        .driver = "",
        .compiler = identity,
        .timer_note = "CLOCK_MONOTONIC",
    };
    return STAX_OK;
}

static void describe(struct text *text, struct arena *arena)
{
    const struct backend_options options = {.spec = "cpu"};
    struct device_info info;
    bool timer_ok;
    if (probe(&options, arena, &info, &timer_ok) != STAX_OK) {
        text_printf(text, "cpu         %s\n", status_message());
        return;
    }
    text_printf(text, "cpu         %s, %d threads, %d-byte vectors, %.1f MB last-level cache\n",
                info.name, info.processors, info.vector_bytes, (double)info.l2_bytes / 1e6);
    text_printf(text, "compiler    %s\n", info.compiler);
}

static enum stax_status open_cpu(const struct backend_options *options, struct arena *arena,
                                 struct device_info *info, struct backend **backend)
{
    bool timer_ok;
    STAX_TRY(probe(options, arena, info, &timer_ok));
    *backend = ARENA_NEW(arena, struct backend);
    **backend = (struct backend){.info = info, .l2 = options->l2};
    return STAX_OK;
}

static void close_cpu(struct backend *backend)
{
    if (backend->flush) munmap(backend->flush, (size_t)backend->flush_bytes);
}

static size_t mapped_bytes(int64_t bytes)
{
    return ((size_t)bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
}

static bool allocate(struct backend *backend, int64_t bytes, uint64_t *address)
{
    if (bytes > backend->info->memory_bytes) return false;
    size_t mapped = mapped_bytes(bytes);
    unsigned char *base = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return false;
    if (mprotect(base + PAGE, mapped - 2 * PAGE, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, mapped);
        return false;
    }
    if (bytes >= HUGE_PAGE) madvise(base + PAGE, mapped - 2 * PAGE, MADV_HUGEPAGE);
    *address = (uint64_t)(uintptr_t)(base + PAGE);
    return true;
}

static void release(struct backend *backend, uint64_t address, int64_t bytes)
{
    (void)backend;
    munmap((unsigned char *)pointer(address) - PAGE, mapped_bytes(bytes));
}

static bool set(struct backend *backend, uint64_t address, int byte, int64_t bytes,
                struct verdict *verdict)
{
    (void)backend, (void)verdict;
    memset(pointer(address), byte, (size_t)bytes);
    return true;
}

static bool fill(struct backend *backend, const struct job_buffer *buffer, uint64_t address,
                 struct verdict *verdict)
{
    (void)backend, (void)verdict;
    host_fill(buffer, pointer(address));
    return true;
}

static bool all(struct backend *backend, uint64_t address, int byte, int64_t bytes, int64_t *first,
                struct verdict *verdict)
{
    (void)backend, (void)verdict;
    *first = host_find_other(pointer(address), byte, bytes);
    return true;
}

static bool digest(struct backend *backend, uint64_t address, int64_t bytes, uint64_t *result,
                   struct verdict *verdict)
{
    (void)backend, (void)verdict;
    *result = hash_bytes(pointer(address), (size_t)bytes, 0);
    return true;
}

static bool compare(struct backend *backend, enum dtype dtype, int64_t elements, uint64_t out,
                    uint64_t reference, uint64_t bound, struct comparison *comparison,
                    struct verdict *verdict)
{
    (void)backend, (void)verdict;
    host_compare(dtype, elements, pointer(out), pointer(reference), pointer(bound), comparison);
    return true;
}

static bool read_back(struct backend *backend, void *to, uint64_t from, int64_t bytes,
                      struct verdict *verdict)
{
    (void)backend, (void)verdict;
    memcpy(to, pointer(from), (size_t)bytes);
    return true;
}

static bool write_there(struct backend *backend, uint64_t to, const void *from, int64_t bytes,
                        struct verdict *verdict)
{
    (void)backend, (void)verdict;
    memcpy(pointer(to), from, (size_t)bytes);
    return true;
}

static void unload(void *data)
{
    struct backend_program *program = data;
    dlclose(program->handle);
}

/* OpenMP's threads outlive the object that started them, so its run-time library may never leave.
 */
static void pin_openmp(void)
{
    static const char *const names[] = {"libgomp.so.1", "libomp.so.5", "libomp.so"};
    for (size_t i = 0; i < STAX_COUNT(names); i++)
        dlopen(names[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool load(struct backend *backend, const char *path, const struct job_program *source,
                 struct arena *arena, struct backend_program **result, struct verdict *verdict)
{
    (void)backend;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return verdict_set(verdict, OUTCOME_LAUNCH, "does not load: %s", dlerror());
    pin_openmp();
    struct backend_program *program = ARENA_NEW(arena, struct backend_program);
    *program = (struct backend_program){.handle = handle, .source = source};
    arena_defer(arena, unload, program);
    program->entry = arena_array(arena, (size_t)source->launches, sizeof *program->entry);
    program->args = ARENA_ARRAY(arena, void **, source->launches);
    program->values = ARENA_ARRAY(arena, uint64_t *, source->launches);
    for (int i = 0; i < source->launches; i++) {
        const struct job_launch *launch = &source->launch[i];
        void *symbol = dlsym(handle, launch->entry);
        if (!symbol) return verdict_set(verdict, OUTCOME_LAUNCH, "has no entry %s", launch->entry);
        memcpy(&program->entry[i], &symbol, sizeof symbol);
        program->args[i] = ARENA_ARRAY(arena, void *, launch->args);
        program->values[i] = ARENA_ARRAY(arena, uint64_t, launch->args);
        for (int k = 0; k < launch->args; k++) program->args[i][k] = &program->values[i][k];
    }
    *result = program;
    return true;
}

static void bind(struct backend_program *program, const uint64_t *addresses)
{
    for (int i = 0; i < program->source->launches; i++) {
        const struct job_launch *launch = &program->source->launch[i];
        for (int k = 0; k < launch->args; k++)
            program->values[i][k] = backend_argument(&launch->arg[k], addresses);
    }
}

static bool run(struct backend *backend, struct backend_program *program, struct verdict *verdict)
{
    (void)backend, (void)verdict;
    for (int i = 0; i < program->source->launches; i++) program->entry[i](program->args[i]);
    return true;
}

static bool finish(struct backend *backend, struct verdict *verdict)
{
    (void)backend, (void)verdict;
    return true;
}

static void *make_flush(struct backend *backend)
{
    if (backend->flush) return backend->flush;
    backend->flush_bytes = backend->l2 == L2_DIRTY ? DIRTY_BYTES : 2 * backend->info->l2_bytes;
    void *memory = mmap(NULL, (size_t)backend->flush_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    memset(memory, 0, (size_t)backend->flush_bytes); /* own pages, not the one of zeros */
    return backend->flush = memory;
}

/* Reading: memchr for a byte that is not there, the C library's fastest read. */
static void read_part(void *data, int64_t from, int64_t to)
{
    unsigned char *bytes = data;
    if (memchr(bytes + from, 1, (size_t)(to - from))) bytes[from] = 0;
}

static void dirty_part(void *data, int64_t from, int64_t to)
{
    memset((unsigned char *)data + from, 0, (size_t)(to - from));
}

static bool time_slots(struct backend *backend, int slots, struct backend_slot *slot,
                       struct verdict *verdict)
{
    if (backend->l2 != L2_WARM && !make_flush(backend))
        return verdict_set(verdict, OUTCOME_RESOURCE, "no room to read %lld bytes between calls",
                           (long long)backend->flush_bytes);
    for (int i = 0; i < slots; i++) {
        if (backend->l2 != L2_WARM)
            host_parallel(backend->flush_bytes, 1 << 22,
                          backend->l2 == L2_DIRTY ? dirty_part : read_part, backend->flush);
        struct backend_program *program = slot[i].program;
        double first = measure_clock_s(), last = first, sum = 0;
        for (int k = 0; k < program->source->launches; k++) {
            double start = k ? measure_clock_s() : first;
            program->entry[k](program->args[k]);
            last = measure_clock_s();
            sum += last - start;
        }
        slot[i].span_ns = 1e9 * (last - first);
        slot[i].sum_ns = 1e9 * sum;
    }
    return true;
}

static bool settle(struct backend *backend, struct verdict *verdict)
{
    (void)backend, (void)verdict;
    return true;
}

static void state(struct backend *backend, struct backend_state *state)
{
    (void)backend;
    *state = (struct backend_state){NAN, NAN};
}

static bool worn(const struct backend *backend)
{
    (void)backend;
    return false;
}

struct copy_data {
    unsigned char *from, *to;
};

static void copy_part(void *data, int64_t from, int64_t to)
{
    struct copy_data *copy = data;
    memcpy(copy->to + from, copy->from + from, (size_t)(to - from));
}

/* Best of a few rounds over all threads: a ceiling is what can be reached. */
static double best_rate(void (*part)(void *, int64_t, int64_t), void *data, double bytes)
{
    double best = 0;
    for (int i = 0; i < CEILING_ROUNDS; i++) {
        double start = measure_clock_s();
        host_parallel(CEILING_BYTES, 1 << 20, part, data);
        double rate = bytes / (measure_clock_s() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static bool ceilings(struct backend *backend, double *copy_bytes_s, double *read_bytes_s,
                     struct verdict *verdict)
{
    uint64_t from, to;
    if (!allocate(backend, CEILING_BYTES, &from))
        return verdict_set(verdict, OUTCOME_RESOURCE, "no room");
    if (!allocate(backend, CEILING_BYTES, &to)) {
        release(backend, from, CEILING_BYTES);
        return verdict_set(verdict, OUTCOME_RESOURCE, "no room");
    }
    struct copy_data copy = {pointer(from), pointer(to)};
    host_parallel(CEILING_BYTES, 1 << 20, dirty_part, copy.from);
    host_parallel(CEILING_BYTES, 1 << 20, dirty_part, copy.to);
    *copy_bytes_s = best_rate(copy_part, &copy, 2.0 * CEILING_BYTES);
    *read_bytes_s = best_rate(read_part, copy.from, CEILING_BYTES);
    release(backend, from, CEILING_BYTES);
    release(backend, to, CEILING_BYTES);
    return true;
}

const struct backend_ops backend_cpu = {
    .kind = DEVICE_CPU,
    .resolution_ns = 100, /* two calls of clock_gettime take 40 to 60 ns */
    .probe = probe,
    .describe = describe,
    .open = open_cpu,
    .close = close_cpu,
    .allocate = allocate,
    .release = release,
    .set = set,
    .fill = fill,
    .all = all,
    .digest = digest,
    .compare = compare,
    .read = read_back,
    .write = write_there,
    .load = load,
    .bind = bind,
    .run = run,
    .finish = finish,
    .time = time_slots,
    .settle = settle,
    .state = state,
    .worn = worn,
    .ceilings = ceilings,
};
