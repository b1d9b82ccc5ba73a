/* CUPTI through dlopen; see activity.h.
 *
 * Of a kernel record only the prefix that all versions of the struct since CUPTI 9 share is read:
 * kind at 0, start at 16, end at 24, grid and block at 52, correlation at 92, name at 104
 * (cupti_activity.h, CUpti_ActivityKernel4 to 10; tests/unit/test_compile_types.c compares). */
#include "measure/activity.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "measure/library.h"

enum {
    KIND_KERNEL = 3,
    KIND_CONCURRENT_KERNEL = 10,
    ERROR_MAX_LIMIT_REACHED = 12,
    ERROR_MULTIPLE_SUBSCRIBERS = 39,
    FLUSH_FORCED = 1,
    BUFFER_BYTES = 4 << 20, /* chosen: 18000 records */
    BUFFERS = 8,
    FLUSHES = 20, /* chosen: 20 ms for late records before a batch is given up */
    MAX_RECORDS = 1 << 16,
};

struct subscriber_params {
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
};

static struct {
    int (*version)(uint32_t *);
    int (*subscribe2)(void **, void (*)(void *, int, uint32_t, const void *), void *,
                      struct subscriber_params *);
    int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
    int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
                              void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*enable)(int);
    int (*flush)(uint32_t);
    int (*next)(uint8_t *, size_t, uint8_t **);
    int (*dropped)(void *, uint32_t, size_t *);
    int (*text)(int, const char **);
} cupti;

static const struct {
    const char *name;
    bool optional;
    void *to;
} symbols[] = {
    {"cuptiGetVersion", false, &cupti.version},
    {"cuptiSubscribe_v2", true,
     &cupti.subscribe2}, /* since 12.9 tells who holds the subscription */
    {"cuptiSubscribe", false, &cupti.subscribe},
    {"cuptiActivityRegisterCallbacks", false, &cupti.register_callbacks},
    {"cuptiActivityEnable", false, &cupti.enable},
    {"cuptiActivityFlushAll", false, &cupti.flush},
    {"cuptiActivityGetNextRecord", false, &cupti.next},
    {"cuptiActivityGetNumDroppedRecords", false, &cupti.dropped},
    {"cuptiGetResultString", false, &cupti.text},
};

/* Shared with CUPTI's thread, under the lock. */
static struct {
    pthread_mutex_t lock;
    uint8_t *buffer[BUFFERS];
    bool lent[BUFFERS];
    struct activity_kernel kernel[MAX_RECORDS];
    int kernels;
    uint64_t come; /* records of this process, also those forgotten */
    size_t dropped, timeless;
} batch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *error_text(int error)
{
    const char *text = NULL;
    return cupti.text(error, &text) == 0 && text ? text : "unknown error";
}

static void lend_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = 0;
    *max_records = 0;
    pthread_mutex_lock(&batch.lock);
    for (int i = 0; i < BUFFERS; i++) {
        if (batch.lent[i]) continue;
        if (!batch.buffer[i]) {
            void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) break;
            batch.buffer[i] = memory;
        }
        batch.lent[i] = true;
        *buffer = batch.buffer[i];
        *size = BUFFER_BYTES;
        break;
    }
    pthread_mutex_unlock(&batch.lock);
}

static void read_record(const uint8_t *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (kind != KIND_KERNEL && kind != KIND_CONCURRENT_KERNEL) return;
    batch.come++;
    if (batch.kernels == MAX_RECORDS) return;
    struct activity_kernel *kernel = &batch.kernel[batch.kernels++];
    const char *name;
    memcpy(&kernel->start_ns, record + 16, sizeof kernel->start_ns);
    memcpy(&kernel->end_ns, record + 24, sizeof kernel->end_ns);
    memcpy(kernel->shape, record + 52, sizeof kernel->shape);
    memcpy(&kernel->correlation, record + 92, sizeof kernel->correlation);
    memcpy(&name, record + 104, sizeof name);
    kernel->name = name ? hash_string(name) : 0;
    if (kernel->start_ns == 0 || kernel->end_ns < kernel->start_ns) batch.timeless++;
}

/* Runs on a thread of CUPTI: walks and copies, nothing else. */
static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    pthread_mutex_lock(&batch.lock);
    uint8_t *record = NULL;
    while (valid > 0 && cupti.next(buffer, valid, &record) == 0) read_record(record);
    size_t dropped = 0;
    if (cupti.dropped(context, stream, &dropped) == 0) batch.dropped += dropped;
    for (int i = 0; i < BUFFERS; i++) {
        if (batch.buffer[i] == buffer) batch.lent[i] = false;
    }
    pthread_mutex_unlock(&batch.lock);
}

static void ignore_callback(void *data, int domain, uint32_t id, const void *info)
{
    (void)data, (void)domain, (void)id, (void)info;
}

/* From 13.3 on, who subscribes by the second function has to use the second set of activity
 * functions as well. */
enum { FIRST_WITH_OWN_SET = 130300 };

static enum stax_status subscribe(uint32_t version)
{
    static void *subscriber;
    char holder[64] = "";
    int error;
    if (cupti.subscribe2 && version < FIRST_WITH_OWN_SET) {
        struct subscriber_params params = {sizeof params, "stax-tune", holder, sizeof holder};
        error = cupti.subscribe2(&subscriber, ignore_callback, NULL, &params);
    } else {
        error = cupti.subscribe(&subscriber, ignore_callback, NULL);
    }
    holder[sizeof holder - 1] = '\0';
    if (error == ERROR_MULTIPLE_SUBSCRIBERS)
        STAX_RETURN(STAX_UNSUPPORTED, "CUPTI is in use by %s: end it to time with CUPTI",
                    holder[0] ? holder
                              : "another tool (a profiler or debugger round this process)");
    if (error != 0)
        STAX_RETURN(STAX_UNSUPPORTED, "CUPTI cannot be subscribed to: %s (%d)", error_text(error),
                    error);
    return STAX_OK;
}

static enum stax_status open_library(struct arena *arena, const char **path)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    const char *why;
    void *library = library_open(names, arena, path, &why);
    if (!library) STAX_RETURN(STAX_UNSUPPORTED, "no CUPTI: %s", why);
    for (size_t i = 0; i < STAX_COUNT(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol && !symbols[i].optional)
            STAX_RETURN(STAX_UNSUPPORTED, "CUPTI in %s lacks %s", *path, symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return STAX_OK;
}

/* KERNEL runs kernels one after another without touching their code, CONCURRENT_KERNEL adds code to
 * them at load. */
static int wanted_kind(void)
{
    const char *kind = getenv("STAX_CUPTI_KIND");
    return kind && strcmp(kind, "kernel") == 0 ? KIND_KERNEL : KIND_CONCURRENT_KERNEL;
}

enum stax_status activity_open(bool enable, struct arena *arena, const char **note)
{
    const char *path;
    uint32_t version = 0;
    STAX_TRY(open_library(arena, &path));
    if (cupti.version(&version) != 0) version = 0;
    STAX_TRY(subscribe(version));
    /* 130001 is 13.0 Update 1; before 13, plain counts (26 is 12.8). */
    *note = version >= 10000 ? arena_printf(arena, "CUPTI %u.%u.%u (%s)", version / 10000,
                                            version / 100 % 100, version % 100, path)
                             : arena_printf(arena, "CUPTI API %u (%s)", version, path);
    if (!enable) return STAX_OK;
    int error = cupti.register_callbacks(lend_buffer, take_buffer);
    if (error == 0) error = cupti.enable(wanted_kind());
    if (error != 0)
        STAX_RETURN(STAX_UNSUPPORTED, "CUPTI does not record kernels: %s (%d)%s", error_text(error),
                    error, error == 35 ? "; it needs more privileges here" : "");
    return STAX_OK;
}

/* Flushes until `wanted` records of this process have come, or gives up after some 20 ms. */
static void flush_until(uint64_t wanted)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < FLUSHES; i++) {
        int error = cupti.flush(i < FLUSHES / 2 ? 0 : FLUSH_FORCED);
        if (error != 0) log_write(LOG_DEBUG, "CUPTI flush: %s (%d)", error_text(error), error);
        pthread_mutex_lock(&batch.lock);
        bool enough = batch.come + batch.dropped >= wanted;
        pthread_mutex_unlock(&batch.lock);
        if (enough) return;
        nanosleep(&pause, NULL);
    }
}

void activity_begin(uint64_t launched)
{
    flush_until(launched);
    pthread_mutex_lock(&batch.lock);
    if (batch.come != launched)
        log_write(LOG_DEBUG, "CUPTI gave %llu records of %llu kernels so far",
                  (unsigned long long)batch.come, (unsigned long long)launched);
    batch.come = launched; /* what is lost is lost; what comes late fails the next batch */
    batch.kernels = 0;
    batch.dropped = batch.timeless = 0;
    pthread_mutex_unlock(&batch.lock);
}

static int by_launch(const void *a, const void *b)
{
    const struct activity_kernel *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

const struct activity_kernel *activity_take(int kernels, const char **why)
{
    STAX_CHECK(kernels < MAX_RECORDS);
    pthread_mutex_lock(&batch.lock);
    uint64_t wanted = batch.come - (uint64_t)batch.kernels + (uint64_t)kernels;
    pthread_mutex_unlock(&batch.lock);
    flush_until(wanted);
    bool good = false;
    pthread_mutex_lock(&batch.lock);
    if (batch.dropped)
        *why = "CUPTI dropped records";
    else if (batch.timeless)
        *why = "CUPTI gave a kernel no time";
    else if (batch.kernels != kernels)
        *why = "CUPTI gave another number of records than kernels were launched";
    else
        good = true;
    if (!good) log_write(LOG_DEBUG, "%s: %d of %d", *why, batch.kernels, kernels);
    qsort(batch.kernel, (size_t)batch.kernels, sizeof batch.kernel[0], by_launch);
    pthread_mutex_unlock(&batch.lock);
    return good ? batch.kernel : NULL;
}
