
extern "C" __global__ void __launch_bounds__(512)
stax_red_fused_0(const float *__restrict__ in_ptr0, const float *__restrict__ in_ptr1, const float *__restrict__ in_ptr2, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 1024; // XBLOCK 1
    constexpr int r0_numel = 4096; // R0_BLOCK 2048
    const int xoffset = (int)blockIdx.x * 1;
    const int lane_b = (int)threadIdx.x;
    const int lane_x = 0;
    float tmp1;
    unsigned raw1[1];
    {
        const int xindex = xoffset + lane_x;
        const int x0 = xindex;
        st_pick<4>(raw1, 0, in_ptr0 + (4096*x0));
    }
    {
        tmp1 = st_get_f32(raw1, 0);
    }
    float _tmp5[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp5[e] = 0.0f;
        }
    }
    float _tmp10[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp10[e] = (-st_inf());
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
                const float tmp2 = (tmp0 - tmp1);
                const float tmp4 = (tmp2 * 0.000244140625f);
                const float tmp9 = fabsf(tmp2);
                _tmp5[e] = (_tmp5[e] + tmp4);
                _tmp10[e] = st_max(_tmp10[e], tmp9);
            }
        }
    }
    float tmp5;
    {
        float v = _tmp5[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = (v + _tmp5[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = (v + __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 0))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    float tmp10;
    {
        float v = _tmp10[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = st_max(v, _tmp10[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = st_max(v, __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 64))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 0) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 16; part++) v = (v + p[part * 1]);
        tmp5 = v;
    }
    {
        const float *p = (const float *)(st_shared + 64) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 16; part++) v = st_max(v, p[part * 1]);
        tmp10 = v;
    }
    int tmp11;
    float tmp13;
    float tmp19;
    float tmp20;
    {
        tmp11 = (1.09951163e+12f < tmp10);
        tmp13 = (tmp11 ? 8.27180613e-25f : 1.0f);
        tmp19 = (9.99999975e-06f * tmp13);
        tmp20 = (tmp19 * tmp13);
    }
    float _tmp16[4];
    {
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            _tmp16[e] = 0.0f;
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
                const float tmp2 = (tmp0 - tmp1);
                const float tmp7 = (tmp2 - tmp5);
                const float tmp14 = (tmp7 * tmp13);
                const float tmp15 = (tmp14 * tmp14);
                _tmp16[e] = (_tmp16[e] + tmp15);
            }
        }
    }
    float tmp16;
    {
        float v = _tmp16[0];
        #pragma unroll
        for (int e = 1; e < 4; e++) v = (v + _tmp16[e]);
        #pragma unroll
        for (int d = 16; d >= 1; d /= 2) v = (v + __shfl_xor_sync(0xffffffffu, v, d));
        if (lane_b % 32 == 0) ((float *)(st_shared + 128))[lane_b / 32 * 1 + (lane_x)] = v;
    }
    __syncthreads();
    {
        const float *p = (const float *)(st_shared + 128) + (lane_x);
        float v = p[0];
        #pragma unroll
        for (int part = 1; part < 16; part++) v = (v + p[part * 1]);
        tmp16 = v;
    }
    float tmp17;
    float tmp21;
    float tmp22;
    {
        tmp17 = (tmp16 * 0.000244140625f);
        tmp21 = (tmp17 + tmp20);
        tmp22 = st_rsqrt(tmp21);
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
        unsigned raw24[4];
        {
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load(raw24, in_ptr1 + (r0_1));
        }
        unsigned raw26[4];
        {
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            st_load(raw26, in_ptr2 + (r0_1));
        }
        {
            const int xindex = xoffset + lane_x;
            const int x0 = xindex;
            const int r0_index = r0_offset + lane_b * 4;
            const int r0_1 = r0_index;
            unsigned out28[4];
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float tmp0 = st_get_f32(raw0, e);
                const float tmp2 = (tmp0 - tmp1);
                const float tmp7 = (tmp2 - tmp5);
                const float tmp14 = (tmp7 * tmp13);
                const float tmp23 = (tmp14 * tmp22);
                const float tmp24 = st_get_f32(raw24, e);
                const float tmp25 = (tmp23 * tmp24);
                const float tmp26 = st_get_f32(raw26, e);
                const float tmp27 = (tmp25 + tmp26);
                st_put_f32(out28, e, tmp27);
            }
            st_store_first(out_ptr0 + (r0_1 + 4096*x0), out28);
        }
    }
}
