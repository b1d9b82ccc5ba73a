
extern "C" __global__ void __launch_bounds__(256)
stax_per_fused_0(const float *__restrict__ in_ptr0, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 256; // XBLOCK 1
    constexpr int r0_numel = 1000; // R0_BLOCK 1024
    const int xoffset = (int)blockIdx.x * 1;
    const int lane_b = (int)threadIdx.x;
    const int lane_x = 0;
    constexpr int r0_offset = 0;
    unsigned raw0[4];
    float _tmp1[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp1[e] = (-st_inf());
        }
    }
    {
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            const bool r0_mask = r0_index < r0_numel;
            st_clear(raw0);
            if (r0_mask) st_load_first(raw0, in_ptr0 + (r0_1 + 1000*x0));
        }
        {
            const int r0_index = r0_offset + lane_b * 4;
            const bool r0_mask = r0_index < r0_numel;
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                _tmp1[e] = r0_mask ? st_max(_tmp1[e], tmp0) : _tmp1[e];
            }
        }
    }
    float tmp1;
    {
        float v = _tmp1[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = st_max(v, _tmp1[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = st_max(v, __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 0))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 0) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 8; part++) v = st_max(v, p[part * 1]);
        tmp1 = v;
    }
    float tmp3[4];
    float _tmp4[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp4[e] = 0.0f;
        }
    }
    {
        {
            const int r0_index = r0_offset + lane_b * 4;
            const bool r0_mask = r0_index < r0_numel;
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp2 = (tmp0 - tmp1);
                tmp3[e] = st_exp(tmp2);
                _tmp4[e] = r0_mask ? (_tmp4[e] + tmp3[e]) : _tmp4[e];
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
        if (lane_b % 32 == 0) ((float *)(st_shared + 32))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 32) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 8; part++) v = (v + p[part * 1]);
        tmp4 = v;
    }
    {
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            const bool r0_mask = r0_index < r0_numel;
            unsigned out6[4];
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp5 = (tmp3[e] / tmp4);
                st_put_f32(out6, e, tmp5);
            }
            if (r0_mask) st_store_first(out_ptr0 + (r0_1 + 1000*x0), out6);
        }
    }
}
