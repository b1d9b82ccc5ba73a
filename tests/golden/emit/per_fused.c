
void stax_red_fused_0(void *const *args)
{
    const int32_t xnumel = 64; (void)xnumel;
    const int32_t r0_numel = 128; (void)r0_numel;
    const float *const restrict in_ptr0 = *(const float *const *)args[0];
    const float *const restrict in_ptr1 = *(const float *const *)args[1];
    float *const restrict out_ptr0 = *(float *const *)args[2];
    for (int64_t tile = 0; tile < 1; tile++) {
        const int32_t xoffset = (int32_t)(tile % 1) * 64;
        const int32_t xend = xoffset + 64;
        for (int32_t xindex = xoffset; xindex < xend; xindex++) {
            const int32_t x0 = xindex;
            float _tmp6[64] __attribute__((aligned(64)));
            for (int e = 0; e < 64; e++) _tmp6[e] = 0.0f;
            for (int32_t r0_offset = 0; r0_offset < 128; r0_offset += 64) {
                #pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    #pragma omp simd
                    for (int e = 0; e < 16; e++) {
                        const int32_t r0_index = r0_offset + j * 16 + e;
                        const int32_t r0_1 = r0_index;
                        const float tmp0 = st_get_f32(in_ptr0[r0_1 + 128*x0]);
                        const float tmp1 = st_get_f32(in_ptr1[r0_1 + 128*x0]);
                        const float tmp2 = (tmp0 + tmp1);
                        const float tmp3 = st_max(tmp2, 0.0f);
                        const float tmp5 = (tmp3 * 2.0f);
                        _tmp6[j * 16 + e] = (_tmp6[j * 16 + e] + tmp5);
                    }
                }
            }
            for (int half = 32; half > 0; half /= 2)
                for (int e = 0; e < half; e++) _tmp6[e] = (_tmp6[e] + _tmp6[e + half]);
            const float tmp6 = _tmp6[0];
            out_ptr0[x0] = st_put_f32(tmp6);
        }
    }
}
