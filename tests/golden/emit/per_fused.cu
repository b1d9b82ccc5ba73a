
extern "C" __global__ void __launch_bounds__(64)
stax_per_fused_0(const float *__restrict__ in_ptr0, const float *__restrict__ in_ptr1, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 64; // XBLOCK 1
    constexpr int r0_numel = 128; // R0_BLOCK 128
    const int xoffset = (int)blockIdx.x * 1;
    const int lane_b = (int)threadIdx.x;
    const int lane_x = 0;
    constexpr int r0_offset = 0;
    float _tmp6[2];
    {
        #pragma unroll
        for (int e = 0; e < 2; e++) {
            _tmp6[e] = 0.0f;
        }
    }
    {
        unsigned raw0[2];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 2;
            const int r0_1 = r0_index;
            st_load_first(raw0, in_ptr0 + (r0_1 + 128*x0));
        }
        unsigned raw1[2];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 2;
            const int r0_1 = r0_index;
            st_load_first(raw1, in_ptr1 + (r0_1 + 128*x0));
        }
        {
            #pragma unroll
            for (int e = 0; e < 2; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp1 = st_get_f32(raw1, e);
                const float tmp2 = (tmp0 + tmp1);
                const float tmp3 = st_max(tmp2, 0.0f);
                const float tmp5 = (tmp3 * 2.0f);
                _tmp6[e] = (_tmp6[e] + tmp5);
            }
        }
    }
    float tmp6;
    {
        float v = _tmp6[0];
        #pragma unroll
        for (int e = 1; e < 2; e++) v = (v + _tmp6[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = (v + __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 0))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 0) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 2; part++) v = (v + p[part * 1]);
        tmp6 = v;
    }
    if (lane_b == 0) {
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            unsigned out7[1];
            st_put_f32(out7, 0, tmp6);
            st_drop<4>(out_ptr0 + (x0), out7, 0);
        }
    }
}
