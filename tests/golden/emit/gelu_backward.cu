
extern "C" __global__ void __launch_bounds__(128)
stax_poi_fused_0(const float *__restrict__ in_ptr0, const float *__restrict__ in_ptr1, float *__restrict__ out_ptr0)
{
    constexpr int xnumel = 2048; // XBLOCK 256
    const int xoffset = (int)blockIdx.x * 256;
    const int lane_x = (int)threadIdx.x;
    {
        unsigned raw0[1];
        {
            st_pick<4>(raw0, 0, in_ptr0 + (0));
        }
        unsigned raw3[2];
        {
            const int xindex = xoffset + lane_x * 2;
            const int x0 = xindex;
            st_load(raw3, in_ptr1 + (x0));
        }
        {
            const int xindex = xoffset + lane_x * 2;
            const int x0 = xindex;
            unsigned out18[2];
            #pragma unroll
            for (int e = 0; e < 2; e++) {
                const float tmp0 = st_get_f32(raw0, 0);
                const float tmp3 = st_get_f32(raw3, e);
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
                st_put_f32(out18, e, tmp17);
            }
            st_store(out_ptr0 + (x0), out18);
        }
    }
}
