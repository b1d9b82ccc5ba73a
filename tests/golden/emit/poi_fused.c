
void stax_poi_fused_0(void *const *args)
{
    const int32_t xnumel = 512; (void)xnumel;
    const int32_t ynumel = 256; (void)ynumel;
    const float *const restrict in_ptr0 = *(const float *const *)args[0];
    const float *const restrict in_ptr1 = *(const float *const *)args[1];
    float *const restrict out_ptr0 = *(float *const *)args[2];
    #pragma omp parallel for schedule(static) num_threads(16)
    for (int64_t tile = 0; tile < 32; tile++) {
        const int32_t xoffset = (int32_t)(tile % 8) * 64;
        const int32_t xend = xoffset + 64;
        const int32_t yoffset = (int32_t)(tile / 8 % 4) * 64;
        const int32_t yend = yoffset + 64;
        for (int32_t yindex = yoffset; yindex < yend; yindex++) {
            int first = 0;
            for (; first + 16 <= xend - xoffset; first += 16) {
                const int32_t y0 = yindex;
                #pragma omp simd
                for (int e = 0; e < 16; e++) {
                    const int column = first + e;
                    const int32_t xindex = xoffset + column;
                    const int32_t x1 = xindex;
                    const float tmp0 = st_get_f32(in_ptr0[256*x1 + y0]);
                    const float tmp1 = st_get_f32(in_ptr1[x1 + 512*y0]);
                    const float tmp2 = (tmp0 + tmp1);
                    out_ptr0[x1 + 512*y0] = st_put_f32(tmp2);
                }
            }
        }
    }
}
