
extern "C" __global__ void __launch_bounds__(512)
stax_red_fused_0(const float *__restrict__ in_ptr0, const float *__restrict__ in_ptr1, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 1024; // XBLOCK 1
    constexpr int r0_numel = 4096; // R0_BLOCK 2048
    const int xoffset = (int)blockIdx.x * 1;
    const int lane_b = (int)threadIdx.x;
    const int lane_x = 0;
    float _tmp4[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp4[e] = 0.0f;
        }
    }
    for (int r0_offset = 0; r0_offset < r0_numel; r0_offset += 2048) {
        unsigned raw0[4];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load(raw0, in_ptr0 + (r0_1 + 4096*x0));
        }
        {
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp1 = (tmp0 * tmp0);
                const float tmp3 = (tmp1 * 0.000244140625f);
                _tmp4[e] = (_tmp4[e] + tmp3);
            }
        }
    }
    float tmp4;
    {
        float v = _tmp4[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = (v + _tmp4[e]);
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
        tmp4 = v;
    }
    float tmp6;
    float tmp7;
    {
        tmp6 = (tmp4 + 9.99999997e-07f);
        tmp7 = st_rsqrt(tmp6);
    }
    for (int r0_offset = 0; r0_offset < r0_numel; r0_offset += 2048) {
        unsigned raw0[4];
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load(raw0, in_ptr0 + (r0_1 + 4096*x0));
        }
        unsigned raw9[4];
        {
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load(raw9, in_ptr1 + (r0_1));
        }
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            unsigned out11[4];
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp8 = (tmp0 * tmp7);
                const float tmp9 = st_get_f32(raw9, e);
                const float tmp10 = (tmp8 * tmp9);
                st_put_f32(out11, e, tmp10);
            }
            st_store_first(out_ptr0 + (r0_1 + 4096*x0), out11);
        }
    }
}
