/* The element rules of support_shared.cuh, compiled for the host; see fill_host.h. */
#include "measure/fill_host.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#define SUPPORT_FUNCTION static inline
#define SUPPORT_INF      ((double)INFINITY)
#define SUPPORT_NAN      ((double)NAN)
#include "measure/support_shared.cuh"

enum {
    MAX_THREADS = 256,
    GRAIN = 1 << 16
}; /* chosen: below 64 Ki elements a thread costs more than it gives */

int host_threads(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

struct range {
    void (*part)(void *data, int64_t from, int64_t to);
    void *data;
    int64_t from, to;
};

static void *run_range(void *data)
{
    const struct range *range = data;
    range->part(range->data, range->from, range->to);
    return NULL;
}

void host_parallel(int64_t count, int64_t grain, void (*part)(void *data, int64_t from, int64_t to),
                   void *data)
{
    int64_t parts = count / grain;
    int threads = host_threads();
    if (parts > threads) parts = threads;
    if (parts < 2) {
        part(data, 0, count);
        return;
    }
    struct range range[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    int started = 0;
    for (int i = 0; i < (int)parts; i++) {
        int64_t each = (count + parts - 1) / parts;
        int64_t from = i * each < count ? i * each : count;
        range[i] = (struct range){part, data, from, from + each < count ? from + each : count};
    }
    /* What no thread could be made for is done here. */
    while (started < (int)parts - 1 &&
           pthread_create(&thread[started], NULL, run_range, &range[started]) == 0)
        started++;
    for (int i = started; i < (int)parts; i++) run_range(&range[i]);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

struct fill_data {
    const struct job_buffer *buffer;
    void *to;
};

static void fill_part(void *data, int64_t from, int64_t to)
{
    const struct fill_data *fill = data;
    const struct job_buffer *buffer = fill->buffer;
    int is_float = dtype_is_float(buffer->dtype);
    for (int64_t i = from; i < to; i++)
        support_store((int)buffer->dtype, fill->to, i,
                      support_fill((int)buffer->fill, is_float, buffer->low, buffer->high,
                                   buffer->seed, (unsigned long long)i));
}

void host_fill(const struct job_buffer *buffer, void *to)
{
    struct fill_data data = {buffer, to};
    host_parallel(buffer->elements, GRAIN, fill_part, &data);
}

struct compare_data {
    enum dtype dtype;
    const void *out;
    const double *reference, *bound;
    pthread_mutex_t lock;
    struct comparison sum;
};

static void compare_part(void *data, int64_t from, int64_t to)
{
    struct compare_data *compare = data;
    struct comparison own = {.first = -1};
    for (int64_t i = from; i < to; i++) {
        double ratio = support_ratio((int)compare->dtype,
                                     support_load((int)compare->dtype, compare->out, i),
                                     compare->reference[i], compare->bound[i]);
        if (ratio > own.ratio && !isinf(ratio)) own.ratio = ratio;
        if (ratio <= 1.0) continue;
        if (own.first < 0) own.first = i;
        own.wrong++;
    }
    pthread_mutex_lock(&compare->lock);
    compare->sum.wrong += own.wrong;
    if (own.ratio > compare->sum.ratio) compare->sum.ratio = own.ratio;
    if (own.first >= 0 && (compare->sum.first < 0 || own.first < compare->sum.first))
        compare->sum.first = own.first;
    pthread_mutex_unlock(&compare->lock);
}

void host_compare(enum dtype dtype, int64_t elements, const void *out, const double *reference,
                  const double *bound, struct comparison *comparison)
{
    struct compare_data data = {.dtype = dtype, .out = out, .reference = reference, .bound = bound};
    pthread_mutex_init(&data.lock, NULL);
    data.sum.first = -1;
    host_parallel(elements, GRAIN, compare_part, &data);
    pthread_mutex_destroy(&data.lock);
    *comparison = data.sum;
    if (data.sum.first < 0) return;
    comparison->got = support_load((int)dtype, out, data.sum.first);
    comparison->want = reference[data.sum.first];
    comparison->bound = bound[data.sum.first];
}

double host_element(enum dtype dtype, const void *from)
{
    return support_load((int)dtype, from, 0);
}

int64_t host_find_other(const void *from, int byte, int64_t bytes)
{
    const unsigned char *at = from;
    /* All equal when each byte equals its successor and the first is right; memcmp does it at full
     * speed. */
    if (bytes == 0) return -1;
    if (at[0] == byte && memcmp(at, at + 1, (size_t)bytes - 1) == 0) return -1;
    int64_t i = 0;
    while (at[i] == byte) i++;
    return i;
}
