// Stax Tune: helpers of every generated kernel. No header is included: NVRTC needs none for this (facts of CUDA 13.0).
// Values travel between memory and registers as 32-bit words, so that one load serves every data type; st_get_* takes element e
// out of the words of a vector and st_put_* puts one in. All loops over e unroll, so the words stay in registers.

#pragma nv_diag_suppress 177 // not every kernel uses every helper and constant
#define ST_FN static __device__ __forceinline__

ST_FN float st_inf() { return __int_as_float(0x7f800000); }
ST_FN float st_nan() { return __int_as_float(0x7fffffff); }

// ---- loads: plain; _first for data read once (not kept in L1, first out of L2); _l2 for what other blocks wrote ----
ST_FN void st_load(unsigned (&w)[1], const void *p) { w[0] = *(const unsigned *)p; }
ST_FN void st_load(unsigned (&w)[2], const void *p)
{
    const uint2 v = *(const uint2 *)p;
    w[0] = v.x, w[1] = v.y;
}
ST_FN void st_load(unsigned (&w)[4], const void *p)
{
    const uint4 v = *(const uint4 *)p;
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
}
ST_FN void st_load_first(unsigned (&w)[1], const void *p)
{
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w[0]) : "l"(p));
}
ST_FN void st_load_first(unsigned (&w)[2], const void *p)
{
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p));
}
ST_FN void st_load_first(unsigned (&w)[4], const void *p)
{
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
        : "l"(p));
}
ST_FN void st_load_l2(unsigned (&w)[1], const void *p) { w[0] = __ldcg((const unsigned *)p); }
ST_FN void st_load_l2(unsigned (&w)[2], const void *p)
{
    const uint2 v = __ldcg((const uint2 *)p);
    w[0] = v.x, w[1] = v.y;
}
ST_FN void st_load_l2(unsigned (&w)[4], const void *p)
{
    const uint4 v = __ldcg((const uint4 *)p);
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
}
// More than 16 bytes: several loads.
#define ST_LOAD_MORE(name)                                                           \
    template <int words> ST_FN void name(unsigned (&w)[words], const void *p)         \
    {                                                                                \
        _Pragma("unroll") for (int i = 0; i < words; i += 4)                          \
            name(*(unsigned (*)[4])(w + i), (const char *)p + 4 * i);                 \
    }
ST_LOAD_MORE(st_load)
ST_LOAD_MORE(st_load_first)
ST_LOAD_MORE(st_load_l2)

// Takes a ticket: releases what this thread, and through a barrier its block, wrote; acquires what earlier tickets released.
ST_FN unsigned st_ticket(unsigned *counter)
{
    unsigned ticket;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(counter) : "memory");
    return ticket;
}

// ---- stores: plain, and _first for data not read again here ----
ST_FN void st_store(void *p, const unsigned (&w)[1]) { *(unsigned *)p = w[0]; }
ST_FN void st_store(void *p, const unsigned (&w)[2]) { *(uint2 *)p = make_uint2(w[0], w[1]); }
ST_FN void st_store(void *p, const unsigned (&w)[4]) { *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]); }
ST_FN void st_store_first(void *p, const unsigned (&w)[1]) { __stcs((unsigned *)p, w[0]); }
ST_FN void st_store_first(void *p, const unsigned (&w)[2]) { __stcs((uint2 *)p, make_uint2(w[0], w[1])); }
ST_FN void st_store_first(void *p, const unsigned (&w)[4])
{
    __stcs((uint4 *)p, make_uint4(w[0], w[1], w[2], w[3]));
}
#define ST_STORE_MORE(name)                                                          \
    template <int words> ST_FN void name(void *p, const unsigned (&w)[words])         \
    {                                                                                \
        _Pragma("unroll") for (int i = 0; i < words; i += 4)                          \
            name((char *)p + 4 * i, *(const unsigned (*)[4])(w + i));                 \
    }
ST_STORE_MORE(st_store)
ST_STORE_MORE(st_store_first)

// ---- elements: raw bits in and out of words, by size ----
template <int bytes> struct st_bits;
template <> struct st_bits<1> { typedef unsigned char type; };
template <> struct st_bits<2> { typedef unsigned short type; };
template <> struct st_bits<4> { typedef unsigned type; };
template <> struct st_bits<8> { typedef unsigned long long type; };

template <int bytes, int words> ST_FN typename st_bits<bytes>::type st_raw(const unsigned (&w)[words], int e)
{
    if constexpr (bytes == 8)
        return w[2 * e] | (unsigned long long)w[2 * e + 1] << 32;
    else if constexpr (bytes == 4)
        return w[e];
    else
        return (typename st_bits<bytes>::type)(w[e * bytes / 4] >> 8 * (e * bytes % 4));
}
// The words must be zero before elements smaller than a word are put in.
template <int bytes, int words> ST_FN void st_set(unsigned (&w)[words], int e, typename st_bits<bytes>::type bits)
{
    if constexpr (bytes == 8)
        w[2 * e] = (unsigned)bits, w[2 * e + 1] = (unsigned)(bits >> 32);
    else if constexpr (bytes == 4)
        w[e] = bits;
    else
        w[e * bytes / 4] |= (unsigned)bits << 8 * (e * bytes % 4);
}
// One element from memory into element e of the words.
template <int bytes, int words> ST_FN void st_pick(unsigned (&w)[words], int e, const void *p)
{
    st_set<bytes>(w, e, *(const typename st_bits<bytes>::type *)p);
}
template <int bytes, int words> ST_FN void st_pick_l2(unsigned (&w)[words], int e, const void *p)
{
    st_set<bytes>(w, e, __ldcg((const typename st_bits<bytes>::type *)p));
}
template <int bytes, int words> ST_FN void st_drop(void *p, const unsigned (&w)[words], int e)
{
    *(typename st_bits<bytes>::type *)p = st_raw<bytes>(w, e);
}
// An element between words and a tile in shared memory.
template <int bytes, int words> ST_FN void st_tile_put(void *tile, int at, const unsigned (&w)[words], int e)
{
    ((typename st_bits<bytes>::type *)tile)[at] = st_raw<bytes>(w, e);
}
template <int bytes, int words> ST_FN void st_tile_get(unsigned (&w)[words], const void *tile, int at)
{
    if (bytes < 4) w[0] = 0;
    st_set<bytes>(w, 0, ((const typename st_bits<bytes>::type *)tile)[at]);
}
template <int words> ST_FN void st_clear(unsigned (&w)[words])
{
#pragma unroll
    for (int i = 0; i < words; i++) w[i] = 0;
}

// ---- data types ----
ST_FN float st_from_bf16(unsigned short h) { return __uint_as_float((unsigned)h << 16); }
ST_FN float st_from_f16(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
ST_FN unsigned short st_to_bf16(float f)
{
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
ST_FN unsigned short st_to_f16(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
ST_FN float st_round_bf16(float f) { return st_from_bf16(st_to_bf16(f)); }
ST_FN float st_round_f16(float f) { return st_from_f16(st_to_f16(f)); }
ST_FN long long st_to_i64(float f) { return (long long)f; }
ST_FN long long st_to_i64(double f) { return (long long)f; }

#define ST_GET(name, result, bytes, expression)                                      \
    template <int words> ST_FN result st_get_##name(const unsigned (&w)[words], int e) \
    {                                                                                \
        const typename st_bits<bytes>::type b = st_raw<bytes>(w, e);                  \
        return expression;                                                           \
    }
ST_GET(f32, float, 4, __uint_as_float(b))
ST_GET(bf16, float, 2, st_from_bf16(b))
ST_GET(f16, float, 2, st_from_f16(b))
ST_GET(f64, double, 8, __longlong_as_double((long long)b))
ST_GET(i32, int, 4, (int)b)
ST_GET(i64, long long, 8, (long long)b)
ST_GET(i8, signed char, 1, (signed char)b)
ST_GET(u8, unsigned char, 1, b)
ST_GET(bool, int, 1, b != 0)

#define ST_PUT(name, argument, bytes, expression)                                    \
    template <int words> ST_FN void st_put_##name(unsigned (&w)[words], int e, argument v) \
    {                                                                                \
        st_set<bytes>(w, e, expression);                                             \
    }
ST_PUT(f32, float, 4, __float_as_uint(v))
ST_PUT(bf16, float, 2, st_to_bf16(v))
ST_PUT(f16, float, 2, st_to_f16(v))
ST_PUT(f64, double, 8, (unsigned long long)__double_as_longlong(v))
ST_PUT(i32, int, 4, (unsigned)v)
ST_PUT(i64, long long, 8, (unsigned long long)v)
ST_PUT(i8, int, 1, (unsigned char)v)
ST_PUT(u8, int, 1, (unsigned char)v)
ST_PUT(bool, int, 1, (unsigned char)(v != 0))

// ---- ops (ops.def): NaN passes through max and min as in NumPy; library functions within 2 ulp (CUDA C++ guide) ----
ST_FN float st_max(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}
ST_FN float st_min(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return a != a ? a : b != b ? b : fminf(a, b);
#endif
}
ST_FN double sd_max(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }
ST_FN double sd_min(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b; }
template <class T, class U> ST_FN T st_imax(T a, U b) { return a > b ? a : (T)b; }
template <class T, class U> ST_FN T st_imin(T a, U b) { return a < b ? a : (T)b; }
template <class T> ST_FN T st_iabs(T a) { return a < 0 ? (T)-a : a; }
ST_FN float st_exp(float x) { return expf(x); }
ST_FN float st_exp2(float x) { return exp2f(x); }
ST_FN float st_log(float x) { return logf(x); }
ST_FN float st_rsqrt(float x) { return rsqrtf(x); }
ST_FN float st_tanh(float x) { return tanhf(x); }
ST_FN float st_erf(float x) { return erff(x); }
ST_FN float st_sin(float x) { return sinf(x); }
ST_FN float st_cos(float x) { return cosf(x); }
