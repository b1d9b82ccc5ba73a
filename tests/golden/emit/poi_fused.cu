
extern "C" __global__ void __launch_bounds__(128)
stax_poi_fused_0(const float *__restrict__ in_ptr0, const float *__restrict__ in_ptr1, float *__restrict__ out_ptr0)
{
    extern __shared__ __align__(16) unsigned char st_shared[];
    constexpr int xnumel = 512; // XBLOCK 32
    constexpr int ynumel = 256; // YBLOCK 32
    const int xoffset = (int)blockIdx.x * 32;
    const int yoffset = (int)blockIdx.y * 32;
    const int lane_x = (int)threadIdx.x % 8;
    const int lane_b = (int)threadIdx.x / 8;
    {
        unsigned raw0[2][4];
        {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                const int tile_x = (int)threadIdx.x / 8 + 16 * i;
                const int tile_y = ((int)threadIdx.x % 8) * 4;
                const int xindex = xoffset + tile_x;
                const int yindex = yoffset + tile_y;
                const int x1 = xindex;
                const int y0 = yindex;
                st_load(raw0[i], in_ptr0 + (256*x1 + y0));
            }
        }
        unsigned raw1[2][4];
        {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                const int xindex = xoffset + lane_x * 4;
                const int x1 = xindex;
                const int yindex = yoffset + lane_b + 16 * j;
                const int y0 = yindex;
                st_load(raw1[j], in_ptr1 + (x1 + 512*y0));
            }
        }
        {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                const int tile_x = (int)threadIdx.x / 8 + 16 * i;
                const int tile_y = ((int)threadIdx.x % 8) * 4;
                #pragma unroll
                for (int e = 0; e < 4; e++) {
                    st_tile_put<4>(st_shared + 0, tile_x * 33 + tile_y + e, raw0[i], e);
                }
            }
        }
        __syncthreads();
        {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                const int xindex = xoffset + lane_x * 4;
                const int x1 = xindex;
                const int yindex = yoffset + lane_b + 16 * j;
                const int y0 = yindex;
                unsigned out3[4];
                #pragma unroll
                for (int e = 0; e < 4; e++) {
                    unsigned raw0[1];
                    st_tile_get<4>(raw0, st_shared + 0, (lane_x * 4 + e) * 33 + (lane_b + 16 * j));
                    const float tmp0 = st_get_f32(raw0, 0);
                    const float tmp1 = st_get_f32(raw1[j], e);
                    const float tmp2 = (tmp0 + tmp1);
                    st_put_f32(out3, e, tmp2);
                }
                st_store(out_ptr0 + (x1 + 512*y0), out3);
            }
        }
    }
}
