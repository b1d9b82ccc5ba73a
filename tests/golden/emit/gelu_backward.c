
void stax_poi_fused_0(void *const *args)
{
    const int32_t xnumel = 2048; (void)xnumel;
    const float *const restrict in_ptr0 = *(const float *const *)args[0];
    const float *const restrict in_ptr1 = *(const float *const *)args[1];
    float *const restrict out_ptr0 = *(float *const *)args[2];
    for (int64_t tile = 0; tile < 1; tile++) {
        const int32_t xoffset = (int32_t)(tile % 1) * 2048;
        const int32_t xend = xoffset + 2048;
        {
            int first = 0;
            for (; first + 16 <= xend - xoffset; first += 16) {
                #pragma omp simd
                for (int e = 0; e < 16; e++) {
                    const int column = first + e;
                    const int32_t xindex = xoffset + column;
                    const int32_t x0 = xindex;
                    const float tmp0 = st_get_f32(in_ptr0[0]);
                    const float tmp3 = st_get_f32(in_ptr1[x0]);
                    const float tmp5 = (tmp3 * 0.707106769f);
                    const float tmp6 = st_erf(tmp5);
                    const float tmp7 = (1.0f + tmp6);
                    const float tmp8 = (0.5f * tmp7);
                    const float tmp11 = (tmp3 * tmp3);
                    const float tmp12 = ((-0.5f) * tmp11);
                    const float tmp13 = st_exp(tmp12);
                    const float tmp14 = (0.398942292f * tmp13);
                    const float tmp15 = (tmp3 * tmp14);
                    const float tmp16 = (tmp8 + tmp15);
                    const float tmp17 = (tmp0 * tmp16);
                    out_ptr0[x0] = st_put_f32(tmp17);
                }
            }
        }
    }
}
