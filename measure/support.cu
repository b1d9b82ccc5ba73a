/* Kernels of the measure worker itself: fill, compare, digest, look for foreign bytes, treat the cache, copy, tell the clock.
 * NVRTC reads support_shared.cuh before this. Their names are known to the timer, which leaves them out. */

#define LOOP(i, n)                                                                         \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (n);          \
         i += (long long)gridDim.x * blockDim.x)

struct support_result {
    unsigned long long wrong, first, ratio; /* ratio: bits of a non-negative double, which order as integers do */
};

extern "C" __global__ void stax_support_fill(int dtype, void *to, long long n, int fill, int is_float, double low, double high,
                                             unsigned long long seed)
{
    LOOP(i, n) support_store(dtype, to, i, support_fill(fill, is_float, low, high, seed, (unsigned long long)i));
}

extern "C" __global__ void stax_support_compare(int dtype, const void *out, const double *reference, const double *bound,
                                                long long n, support_result *result)
{
    unsigned long long wrong = 0, first = ~0ull;
    double worst = 0.0;
    LOOP(i, n)
    {
        double ratio = support_ratio(dtype, support_load(dtype, out, i), reference[i], bound[i]);
        if (ratio > worst && ratio < SUPPORT_INF) worst = ratio;
        if (ratio <= 1.0) continue;
        wrong++;
        if ((unsigned long long)i < first) first = (unsigned long long)i;
    }
    if (wrong) {
        atomicAdd(&result->wrong, wrong);
        atomicMin(&result->first, first);
    }
    if (worst > 0.0) atomicMax(&result->ratio, (unsigned long long)__double_as_longlong(worst));
}

extern "C" __global__ void stax_support_all(const unsigned char *from, int byte, long long n, support_result *result)
{
    unsigned long long first = ~0ull;
    LOOP(i, n)
    {
        if (from[i] != (unsigned char)byte && (unsigned long long)i < first) first = (unsigned long long)i;
    }
    if (first != ~0ull) atomicMin(&result->first, first);
}

/* The sum of mixed words and places, in any order. The buffer is aligned; its last words may be bytes. */
extern "C" __global__ void stax_support_digest(const unsigned char *from, long long n, support_result *result)
{
    const unsigned long long *words = (const unsigned long long *)from;
    unsigned long long sum = 0;
    LOOP(i, n / 8) sum += support_mix(words[i] ^ support_mix((unsigned long long)i));
    LOOP(i, n % 8) sum += support_mix(from[n / 8 * 8 + i] ^ support_mix(~(unsigned long long)i));
    atomicAdd(&result->wrong, sum);
}

extern "C" __global__ void stax_support_read(const uint4 *from, long long n, unsigned int *sink)
{
    unsigned int sum = 0;
    long long step = (long long)gridDim.x * blockDim.x, i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
        sum += (a.x ^ a.y ^ a.z ^ a.w) + (b.x ^ b.y ^ b.z ^ b.w) + (c.x ^ c.y ^ c.z ^ c.w) + (d.x ^ d.y ^ d.z ^ d.w);
    }
    for (; i < n; i += step) sum += from[i].x ^ from[i].y ^ from[i].z ^ from[i].w;
    if (sum == 0x5a17c0deu) *sink = sum; /* the buffer holds zeros, so this never happens */
}

extern "C" __global__ void stax_support_write(uint4 *to, long long n)
{
    LOOP(i, n) to[i] = make_uint4(0, 0, 0, 0);
}

/* Blocks walk over chunks of four vectors a thread: contiguous to a block, four loads in flight. */
#define CHUNKS(c, n)                                                                        \
    for (long long c = (long long)blockIdx.x * 4 * blockDim.x + threadIdx.x; c < (n);       \
         c += (long long)gridDim.x * 4 * blockDim.x)

extern "C" __global__ void stax_support_copy(uint4 *to, const uint4 *from, long long n)
{
    long long step = blockDim.x;
    CHUNKS(i, n)
    {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * step < n) v[k] = __ldcs(from + i + k * step);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * step < n) __stcs(to + i + k * step, v[k]);
    }
}

/* Cycles and nanoseconds of a fixed spell of work on one SM: their ratio is the clock, without NVML and privileges. */
extern "C" __global__ void stax_support_clock(int turns, support_result *result)
{
    unsigned long long before, after;
    long long start = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    float x = (float)threadIdx.x;
    for (int i = 0; i < turns; i++) x = x * 1.0000001f + 0.5f;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    long long end = clock64();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result->wrong = (unsigned long long)(end - start);
        result->first = after - before;
        result->ratio = (unsigned long long)__float_as_int(x);
    }
}
