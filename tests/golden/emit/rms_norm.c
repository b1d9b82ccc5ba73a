
void stax_red_fused_0(void *const *args)
{
    const int32_t xnumel = 1024; (void)xnumel;
    const int32_t r0_numel = 4096; (void)r0_numel;
    const float *const restrict in_ptr0 = *(const float *const *)args[0];
    const float *const restrict in_ptr1 = *(const float *const *)args[1];
    float *const restrict out_ptr0 = *(float *const *)args[2];
    #pragma omp parallel for schedule(static) num_threads(16)
    for (int64_t tile = 0; tile < 256; tile++) {
        const int32_t xoffset = (int32_t)(tile % 256) * 4;
        const int32_t xend = xoffset + 4;
        for (int32_t xindex = xoffset; xindex < xend; xindex++) {
            const int32_t x0 = xindex;
            float _tmp4[64] __attribute__((aligned(64)));
            for (int e = 0; e < 64; e++) _tmp4[e] = 0.0f;
            for (int32_t r0_offset = 0; r0_offset < 4096; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp0 = st_get_f32(in_ptr0[r0_1 + 4096*x0]);
                        const float tmp1 = (tmp0 * tmp0);
                        const float tmp3 = (tmp1 * 0.000244140625f);
                        _tmp4[j * 16 + e] = (_tmp4[j * 16 + e] + tmp3);
                    }
                }
            }
            for (int half = 32; half > 0; half /= 2)
                for (int e = 0; e < half; e++) _tmp4[e] = (_tmp4[e] + _tmp4[e + half]);
            const float tmp4 = _tmp4[0];
            const float tmp6 = (tmp4 + 9.99999997e-07f);
            const float tmp7 = st_rsqrt(tmp6);
            for (int32_t r0_offset = 0; r0_offset < 4096; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp0 = st_get_f32(in_ptr0[r0_1 + 4096*x0]);
                        const float tmp8 = (tmp0 * tmp7);
                        const float tmp9 = st_get_f32(in_ptr1[r0_1]);
                        const float tmp10 = (tmp8 * tmp9);
                        out_ptr0[r0_1 + 4096*x0] = st_put_f32(tmp10);
                    }
                }
            }
        }
    }
}
