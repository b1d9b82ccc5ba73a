// Stax Tune: the reference of a kernel in double (CUDA C).
#pragma nv_diag_suppress 177
#pragma nv_diag_suppress 550
#define SD_FN static __device__ __forceinline__
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)

SD_FN double st_ref_f32(float v) { return v; }
SD_FN double st_ref_bf16(unsigned short v) { return __uint_as_float((unsigned)v << 16); }
SD_FN double st_ref_f16(unsigned short v)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));
    return f;
}
SD_FN double st_ref_f64(double v) { return v; }
SD_FN double st_ref_i32(int v) { return v; }
SD_FN double st_ref_i64(long long v) { return (double)v; }
SD_FN double st_ref_i8(signed char v) { return v; }
SD_FN double st_ref_u8(unsigned char v) { return v; }
SD_FN double st_ref_bool(unsigned char v) { return v != 0; }
