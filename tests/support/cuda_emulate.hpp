// Runs kernels of the CUDA printer on this machine: what their prelude and CUDA give, in C++, one coroutine a thread. A block's threads
// run until they meet a barrier or a shuffle; a wrong address, a misaligned vector or a barrier that some thread never reaches stops the
// program. The marker below is replaced by the C prelude, whose functions of one value serve here too.
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <ucontext.h>

namespace host {
@prelude_c@
}
using host::st_inf; using host::st_nan; using host::st_max; using host::st_min; using host::st_exp; using host::st_exp2;
using host::st_log; using host::st_rsqrt; using host::st_tanh; using host::st_erf; using host::st_sin; using host::st_cos;
using host::sd_max; using host::sd_min; using host::st_round_bf16; using host::st_round_f16;
#undef ST_FN
#define ST_FN static inline
#undef st_imax
#undef st_imin
#undef st_iabs
template <class T, class U> ST_FN T st_imax(T a, U b) { return a > b ? a : (T)b; }
template <class T, class U> ST_FN T st_imin(T a, U b) { return a < b ? a : (T)b; }
template <class T> ST_FN T st_iabs(T a) { return a < 0 ? (T)-a : a; }

#define __global__
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __restrict__

struct emu_index { unsigned x, y, z; };
static emu_index threadIdx, blockIdx, gridDim;
alignas(16) unsigned char st_shared[256 * 1024];

enum emu_state { EMU_READY, EMU_BARRIER, EMU_SHUFFLE, EMU_DONE };
struct emu_thread {
    emu_state state;
    bool started;
    int turn;               // which of the two deposits is in use
    unsigned long long deposit[2];
    jmp_buf at;
    ucontext_t context;
};
static emu_thread emu_threads[1024];
static int emu_count, emu_now;
static jmp_buf emu_scheduler;
static char *emu_stacks;
enum { EMU_STACK = 128 * 1024 };
struct emu_range { const char *first, *past; };
static emu_range emu_ranges[64];
static int emu_range_count;
static const char *emu_entry;

[[noreturn]] static void emu_fail(const char *what)
{
    fprintf(stderr, "%s, block %u %u thread %d: %s\n", emu_entry, blockIdx.x, blockIdx.y, emu_now, what);
    abort();
}
static void emu_touch(const void *p, size_t bytes, size_t align)
{
    const char *c = (const char *)p;
    if ((uintptr_t)c % align != 0) emu_fail("misaligned address");
    for (int i = 0; i < emu_range_count; i++)
        if (c >= emu_ranges[i].first && c + bytes <= emu_ranges[i].past) return;
    emu_fail("address outside every buffer");
}
static void emu_yield(emu_state state)
{
    emu_threads[emu_now].state = state;
    if (_setjmp(emu_threads[emu_now].at) == 0) _longjmp(emu_scheduler, 1);
}
static void __syncthreads() { emu_yield(EMU_BARRIER); }
template <class T> static T emu_exchange(T value, int lane)
{
    emu_thread &me = emu_threads[emu_now];
    int turn = me.turn ^= 1, warp = emu_now / 32 * 32;
    memcpy(&me.deposit[turn], &value, sizeof value);
    emu_yield(EMU_SHUFFLE);
    memcpy(&value, &emu_threads[warp + lane].deposit[turn], sizeof value);
    return value;
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int d) { return emu_exchange(value, (emu_now % 32) ^ d); }
template <class T> static T __shfl_sync(unsigned, T value, int lane) { return emu_exchange(value, lane); }
static unsigned st_ticket(unsigned *counter)
{
    emu_touch(counter, 4, 4);
    return (*counter)++;
}

typedef void (*emu_function)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);
static emu_function emu_fn;
static void *emu_args[12];
static void emu_main()
{
    emu_fn(emu_args[0], emu_args[1], emu_args[2], emu_args[3], emu_args[4], emu_args[5], emu_args[6], emu_args[7],
           emu_args[8], emu_args[9], emu_args[10], emu_args[11]);
    emu_threads[emu_now].state = EMU_DONE;
    _longjmp(emu_scheduler, 1);
}
static void emu_resume(int t)
{
    emu_now = t;
    threadIdx.x = (unsigned)t;
    if (_setjmp(emu_scheduler) != 0) return;
    emu_thread &thread = emu_threads[t];
    if (thread.started) _longjmp(thread.at, 1);
    thread.started = true;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = emu_stacks + (size_t)t * EMU_STACK;
    thread.context.uc_stack.ss_size = EMU_STACK;
    makecontext(&thread.context, emu_main, 0);
    setcontext(&thread.context);
}
static void emu_block()
{
    for (int t = 0; t < emu_count; t++) emu_threads[t] = emu_thread();
    for (;;) {
        bool ran = false, done = true;
        for (int t = 0; t < emu_count; t++)
            if (emu_threads[t].state == EMU_READY) emu_resume(t), ran = true;
        int live = 0, waiting = 0;
        for (int warp = 0; warp < emu_count; warp += 32) {
            int lanes = 0, shuffling = 0;
            for (int t = warp; t < warp + 32 && t < emu_count; t++) {
                lanes += emu_threads[t].state != EMU_DONE;
                shuffling += emu_threads[t].state == EMU_SHUFFLE;
                waiting += emu_threads[t].state == EMU_BARRIER;
            }
            live += lanes;
            if (lanes == 32 && shuffling == 32)
                for (int t = warp; t < warp + 32; t++) emu_threads[t].state = EMU_READY, ran = true;
        }
        if (live > 0 && waiting == live)
            for (int t = 0; t < emu_count; t++)
                if (emu_threads[t].state == EMU_BARRIER) emu_threads[t].state = EMU_READY, ran = true;
        for (int t = 0; t < emu_count; t++) done &= emu_threads[t].state == EMU_DONE;
        if (done) return;
        if (!ran) emu_fail("deadlock: threads wait for others that never come");
    }
}
extern "C" void emu_range_add(const void *first, size_t bytes)
{
    emu_ranges[emu_range_count++] = {(const char *)first, (const char *)first + bytes};
}
extern "C" void emu_range_clear() { emu_range_count = 0; }
extern "C" void emu_launch(const char *entry, void *fn, void *const *args, int count, const int64_t *grid, int block,
                           int64_t shared, int backwards)
{
    if (emu_stacks == nullptr) emu_stacks = (char *)malloc((size_t)1024 * EMU_STACK);
    emu_entry = entry;
    emu_fn = (emu_function)fn;
    for (int i = 0; i < 12; i++) emu_args[i] = i < count ? args[i] : nullptr;
    emu_count = block;
    gridDim = {(unsigned)grid[0], (unsigned)grid[1], 1};
    int64_t blocks = grid[0] * grid[1];
    for (int64_t i = 0; i < blocks; i++) {
        int64_t b = backwards ? blocks - 1 - i : i;
        memset(st_shared, 0xff, sizeof st_shared); // NaN: a word used before it is written shows
        blockIdx = {(unsigned)(b % grid[0]), (unsigned)(b / grid[0]), 0};
        emu_block();
        for (size_t at = (size_t)shared; at < (size_t)shared + 64; at++)
            if (st_shared[at] != 0xff) emu_fail("shared memory written beyond its size");
    }
}

// ---- the prelude's functions on words ----
template <int n> ST_FN void st_load(unsigned (&w)[n], const void *p)
{
    emu_touch(p, sizeof w, sizeof w < 16 ? sizeof w : 16);
    memcpy(w, p, sizeof w);
}
template <int n> ST_FN void st_load_first(unsigned (&w)[n], const void *p) { st_load(w, p); }
template <int n> ST_FN void st_load_l2(unsigned (&w)[n], const void *p) { st_load(w, p); }
template <int n> ST_FN void st_store(void *p, const unsigned (&w)[n])
{
    emu_touch(p, sizeof w, sizeof w < 16 ? sizeof w : 16);
    memcpy(p, w, sizeof w);
}
template <int n> ST_FN void st_store_first(void *p, const unsigned (&w)[n]) { st_store(p, w); }
template <int bytes, int n> ST_FN void st_pick(unsigned (&w)[n], int e, const void *p)
{
    emu_touch(p, bytes, bytes);
    if ((e + 1) * bytes > n * 4) emu_fail("element outside its words");
    if (bytes < 4) { // the words must have been cleared
        unsigned char was[bytes], zero[bytes] = {0};
        memcpy(was, (char *)w + e * bytes, bytes);
        if (memcmp(was, zero, bytes) != 0) emu_fail("a partial word is put in twice or not cleared");
    }
    memcpy((char *)w + e * bytes, p, bytes);
}
template <int bytes, int n> ST_FN void st_pick_l2(unsigned (&w)[n], int e, const void *p) { st_pick<bytes>(w, e, p); }
template <int bytes, int n> ST_FN void st_drop(void *p, const unsigned (&w)[n], int e)
{
    emu_touch(p, bytes, bytes);
    memcpy(p, (const char *)w + e * bytes, bytes);
}
template <int n> ST_FN void st_clear(unsigned (&w)[n]) { memset(w, 0, sizeof w); }
template <int bytes, int n> ST_FN void st_tile_put(void *tile, int at, const unsigned (&w)[n], int e)
{
    memcpy((char *)tile + at * bytes, (const char *)w + e * bytes, bytes);
}
template <int bytes, int n> ST_FN void st_tile_get(unsigned (&w)[n], const void *tile, int at)
{
    memset(w, 0, sizeof w);
    memcpy(w, (const char *)tile + at * bytes, bytes);
}
template <class T, int n> ST_FN T emu_get(const unsigned (&w)[n], int e)
{
    T v;
    if ((size_t)(e + 1) * sizeof v > sizeof w) emu_fail("element outside its words");
    memcpy(&v, (const char *)w + e * sizeof v, sizeof v);
    return v;
}
template <class T, int n> ST_FN void emu_put(unsigned (&w)[n], int e, T v)
{
    if ((size_t)(e + 1) * sizeof v > sizeof w) emu_fail("element outside its words");
    memcpy((char *)w + e * sizeof v, &v, sizeof v);
}
#define EMU_TYPE(name, stored, value, from, to)                                                                  \
    template <int n> ST_FN value st_get_##name(const unsigned (&w)[n], int e) { return from(emu_get<stored>(w, e)); } \
    template <int n> ST_FN void st_put_##name(unsigned (&w)[n], int e, value v) { emu_put<stored>(w, e, to(v)); }
#define EMU_SAME(v) (v)
#define EMU_TRUTH(v) ((v) != 0)
EMU_TYPE(f32, float, float, EMU_SAME, EMU_SAME)
EMU_TYPE(bf16, uint16_t, float, host::st_from_bf16, host::st_to_bf16)
EMU_TYPE(f16, uint16_t, float, host::st_from_f16, host::st_to_f16)
EMU_TYPE(f64, double, double, EMU_SAME, EMU_SAME)
EMU_TYPE(i32, int, int, EMU_SAME, EMU_SAME)
EMU_TYPE(i64, long long, long long, EMU_SAME, EMU_SAME)
EMU_TYPE(i8, signed char, int, EMU_SAME, (signed char))
EMU_TYPE(u8, unsigned char, int, EMU_SAME, (unsigned char))
EMU_TYPE(bool, unsigned char, int, EMU_TRUTH, EMU_TRUTH)
