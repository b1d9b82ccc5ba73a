
void stax_per_fused_0(void *const *args)
{
    const int32_t xnumel = 256; (void)xnumel;
    const int32_t r0_numel = 1000; (void)r0_numel;
    const float *const restrict in_ptr0 = *(const float *const *)args[0];
    float *const restrict out_ptr0 = *(float *const *)args[1];
    #pragma omp parallel for schedule(static) num_threads(16)
    for (int64_t tile = 0; tile < 16; tile++) {
        const int32_t xoffset = (int32_t)(tile % 16) * 16;
        const int32_t xend = xoffset + 16;
        for (int32_t xindex = xoffset; xindex < xend; xindex++) {
            const int32_t x0 = xindex;
            float _tmp1[64] __attribute__((aligned(64)));
            for (int e = 0; e < 64; e++) _tmp1[e] = (-st_inf());
            for (int32_t r0_offset = 0; r0_offset < 960; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                        _tmp1[j * 16 + e] = st_max(_tmp1[j * 16 + e], tmp0);
                    }
                }
            }
            for (int j = 0; j < 2; j++) {
                #pragma omp simd
                for (int e = 0; e < 16; e++) {
                    const int32_t r0_index = 960 + j * 16 + e;
                    const int32_t r0_1 = r0_index;
                    const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                    _tmp1[e] = st_max(_tmp1[e], tmp0);
                }
            }
            for (int e = 0; e < 8; e++) {
                const int32_t r0_index = 992 + e;
                const int32_t r0_1 = r0_index;
                const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                _tmp1[e] = st_max(_tmp1[e], tmp0);
            }
            for (int half = 32; half > 0; half /= 2)
                for (int e = 0; e < half; e++) _tmp1[e] = st_max(_tmp1[e], _tmp1[e + half]);
            const float tmp1 = _tmp1[0];
            float tmp3[1000] __attribute__((aligned(64)));
            float _tmp4[64] __attribute__((aligned(64)));
            for (int e = 0; e < 64; e++) _tmp4[e] = 0.0f;
            for (int32_t r0_offset = 0; r0_offset < 960; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                        const float tmp2 = (tmp0 - tmp1);
                        tmp3[r0_index] = st_exp(tmp2);
                        _tmp4[j * 16 + e] = (_tmp4[j * 16 + e] + tmp3[r0_index]);
                    }
                }
            }
            for (int j = 0; j < 2; j++) {
                #pragma omp simd
                for (int e = 0; e < 16; e++) {
                    const int32_t r0_index = 960 + j * 16 + e;
                    const int32_t r0_1 = r0_index;
                    const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                    const float tmp2 = (tmp0 - tmp1);
                    tmp3[r0_index] = st_exp(tmp2);
                    _tmp4[e] = (_tmp4[e] + tmp3[r0_index]);
                }
            }
            for (int e = 0; e < 8; e++) {
                const int32_t r0_index = 992 + e;
                const int32_t r0_1 = r0_index;
                const float tmp0 = st_get_f32(in_ptr0[r0_1 + 1000*x0]);
                const float tmp2 = (tmp0 - tmp1);
                tmp3[r0_index] = st_exp(tmp2);
                _tmp4[e] = (_tmp4[e] + tmp3[r0_index]);
            }
            for (int half = 32; half > 0; half /= 2)
                for (int e = 0; e < half; e++) _tmp4[e] = (_tmp4[e] + _tmp4[e + half]);
            const float tmp4 = _tmp4[0];
            for (int32_t r0_offset = 0; r0_offset < 960; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp5 = (tmp3[r0_index] / tmp4);
                        out_ptr0[r0_1 + 1000*x0] = st_put_f32(tmp5);
                    }
                }
            }
            for (int j = 0; j < 2; j++) {
                #pragma omp simd
                for (int e = 0; e < 16; e++) {
                    const int32_t r0_index = 960 + j * 16 + e;
                    const int32_t r0_1 = r0_index;
                    const float tmp5 = (tmp3[r0_index] / tmp4);
                    out_ptr0[r0_1 + 1000*x0] = st_put_f32(tmp5);
                }
            }
            for (int e = 0; e < 8; e++) {
                const int32_t r0_index = 992 + e;
                const int32_t r0_1 = r0_index;
                const float tmp5 = (tmp3[r0_index] / tmp4);
                out_ptr0[r0_1 + 1000*x0] = st_put_f32(tmp5);
            }
        }
    }
}
