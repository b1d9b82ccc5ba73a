
extern "C" __global__ void __launch_bounds__(512)
stax_red_fused_0(const float *__restrict__ in_ptr0, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 128; // XBLOCK 1
    constexpr int r0_numel = 8192; // R0_BLOCK 2048
    const int xoffset = (int)blockIdx.x * 1;
    const int lane_b = (int)threadIdx.x;
    const int lane_x = 0;
    float _tmp2[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp2[e] = 0.0f;
        }
    }
    for (int r0_offset = 0; r0_offset < r0_numel; r0_offset += 2048) {
        unsigned raw0[4];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load_first(raw0, in_ptr0 + (r0_1 + 8192*x0));
        }
        {
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp1 = (tmp0 * tmp0);
                _tmp2[e] = (_tmp2[e] + tmp1);
            }
        }
    }
    float tmp2;
    {
        float v = _tmp2[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = (v + _tmp2[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = (v + __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 0))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 0) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 16; part++) v = (v + p[part * 1]);
        tmp2 = v;
    }
    if (lane_b == 0) {
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            unsigned out3[1];
            st_put_f32(out3, 0, tmp2);
            st_drop<4>(out_ptr0 + (x0), out3, 0);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
stax_per_fused_1(const float *__restrict__ in_ptr0, float *__restrict__ out_ptr0)
{
    constexpr int xnumel = 64; // XBLOCK 64
    constexpr int r0_numel = 2; // R0_BLOCK 2
    const int xoffset = (int)blockIdx.x * 64;
    const int lane_b = 0;
    const int lane_x = (int)threadIdx.x / 1 % 64;
    constexpr int r0_offset = 0;
    float _tmp1[2];
    {
        #pragma unroll
        for (int e = 0; e < 2; e++) {
            _tmp1[e] = 0.0f;
        }
    }
    {
        unsigned raw0[2];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 2;
            const int r0_1 = r0_index;
            st_load(raw0, in_ptr0 + (r0_1 + 2*x0));
        }
        {
            #pragma unroll
            for (int e = 0; e < 2; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                _tmp1[e] = (_tmp1[e] + tmp0);
            }
        }
    }
    float tmp1;
    {
        float v = _tmp1[0];
        #pragma unroll
        for (int e = 1; e < 2; e++) v = (v + _tmp1[e]);
        tmp1 = v;
    }
    if ((int)threadIdx.x < 64) {
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            unsigned out2[1];
            st_put_f32(out2, 0, tmp1);
            st_drop<4>(out_ptr0 + (x0), out2, 0);
        }
    }
}
