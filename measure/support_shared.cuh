/* Element rules that the host and the device must agree on bit for bit: filling, conversion, comparison.
 *
 * Read twice: by fill_host.c as C11, and by NVRTC in front of support.cu. So it holds what both languages share, and
 * includes nothing. SUPPORT_FUNCTION, SUPPORT_INF, SUPPORT_NAN and DTYPE_* / JOB_FILL_* come from who reads it.
 * NVRTC compiles it without contraction, as the host does (base/job.h fixes the values of inputs). */

SUPPORT_FUNCTION unsigned long long support_mix(unsigned long long z)
{
    z += 0x9e3779b97f4a7c15ull; /* splitmix64, base/rng.h */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

SUPPORT_FUNCTION unsigned int support_float_bits(float value)
{
    union {
        float f;
        unsigned int u;
    } both;
    both.f = value;
    return both.u;
}

SUPPORT_FUNCTION float support_bits_float(unsigned int bits)
{
    union {
        float f;
        unsigned int u;
    } both;
    both.u = bits;
    return both.f;
}

/* Round to nearest even, through f32. */
SUPPORT_FUNCTION unsigned short support_to_bf16(float value)
{
    unsigned int bits = support_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)((bits >> 16) | 0x40u);
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

SUPPORT_FUNCTION unsigned short support_to_f16(float value)
{
    unsigned int bits = support_float_bits(value);
    unsigned int sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (rest >= 0x47800000u) return (unsigned short)(sign | 0x7c00u); /* 65536 and more */
    if (rest < 0x38800000u) {                                        /* below 2^-14: subnormal */
        /* Adding 0.5 aligns the last place to 2^-24 and rounds to even in the addition. */
        float shifted = support_bits_float(rest) + 0.5f;
        return (unsigned short)(sign | (support_float_bits(shifted) - 0x3f000000u));
    }
    unsigned int odd = (rest >> 13) & 1u;
    return (unsigned short)(sign | ((rest - 0x38000000u + 0xfffu + odd) >> 13));
}

SUPPORT_FUNCTION float support_from_f16(unsigned short half)
{
    unsigned int sign = (unsigned int)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return support_bits_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u) {
        float small = (float)rest * 5.9604644775390625e-8f; /* 2^-24 */
        return support_bits_float(sign | support_float_bits(small));
    }
    return support_bits_float(sign | ((rest << 13) + 0x38000000u));
}

/* Nearest integer, ties to even, kept within [low, high]; values are far below 2^52. */
SUPPORT_FUNCTION double support_integer(double value, double low, double high)
{
    if (!(value > low)) return low;
    if (value >= high) return high;
    if (value > 4503599627370496.0 || value < -4503599627370496.0) return value; /* 2^52: whole already */
    double shifted = value < 0 ? value - 4503599627370496.0 : value + 4503599627370496.0;
    return value < 0 ? shifted + 4503599627370496.0 : shifted - 4503599627370496.0;
}

SUPPORT_FUNCTION void support_store(int dtype, void *to, long long i, double value)
{
    switch (dtype) {
    case DTYPE_F32: ((float *)to)[i] = (float)value; break;
    case DTYPE_F64: ((double *)to)[i] = value; break;
    case DTYPE_BF16: ((unsigned short *)to)[i] = support_to_bf16((float)value); break;
    case DTYPE_F16: ((unsigned short *)to)[i] = support_to_f16((float)value); break;
    case DTYPE_I32:
        ((int *)to)[i] = (int)support_integer(value, -2147483648.0, 2147483647.0);
        break;
    case DTYPE_I64: /* the bounds are the greatest doubles whose conversion is defined */
        ((long long *)to)[i] =
            (long long)support_integer(value, -9223372036854775808.0, 9223372036854774784.0);
        break;
    case DTYPE_I8: ((signed char *)to)[i] = (signed char)support_integer(value, -128.0, 127.0); break;
    case DTYPE_U8:
        ((unsigned char *)to)[i] = (unsigned char)support_integer(value, 0.0, 255.0);
        break;
    case DTYPE_BOOL: ((unsigned char *)to)[i] = value >= 0.5 ? 1 : 0; break;
    default: break;
    }
}

SUPPORT_FUNCTION double support_load(int dtype, const void *from, long long i)
{
    switch (dtype) {
    case DTYPE_F32: return ((const float *)from)[i];
    case DTYPE_F64: return ((const double *)from)[i];
    case DTYPE_BF16:
        return support_bits_float((unsigned int)((const unsigned short *)from)[i] << 16);
    case DTYPE_F16: return support_from_f16(((const unsigned short *)from)[i]);
    case DTYPE_I32: return ((const int *)from)[i];
    case DTYPE_I64: return (double)((const long long *)from)[i];
    case DTYPE_I8: return ((const signed char *)from)[i];
    default: return ((const unsigned char *)from)[i]; /* u8, and bool: any byte but 0 and 1 is wrong */
    }
}

/* Greatest finite value of a float type; 0 for the others. */
SUPPORT_FUNCTION double support_greatest(int dtype)
{
    switch (dtype) {
    case DTYPE_F32: return 3.4028234663852886e38;
    case DTYPE_BF16: return 3.3895313892515355e38;
    case DTYPE_F16: return 65504.0;
    case DTYPE_F64: return 1.7976931348623157e308;
    default: return 0.0;
    }
}

/* ADVERSE: some stretches of 256 elements carry NaN, infinities, a large offset or ties, others stay plain, so that
 * not every row of a reduction is lost to one NaN. Of every 16384 elements beyond the first only half may. */
SUPPORT_FUNCTION double support_adverse(double plain, double low, double high,
                                        unsigned long long seed, unsigned long long i)
{
    unsigned long long region = support_mix(seed ^ support_mix(~(i >> 14)));
    if (i >> 14 && region & 1) return plain;
    unsigned long long stretch = support_mix(seed + support_mix(i >> 8));
    unsigned long long own = support_mix(support_mix(seed ^ support_mix(i)));
    switch (stretch & 15) {
    case 0: return (own & 63) == 0 ? SUPPORT_NAN : plain;
    case 1: return (own & 63) == 0 ? SUPPORT_INF : plain;
    case 2: return (own & 63) == 0 ? -SUPPORT_INF : plain;
    case 3: return (own & 63) == 0 ? SUPPORT_INF : (own & 63) == 1 ? -SUPPORT_INF : plain;
    case 4:
    case 5: return plain + 1024.0 * (high - low); /* large beside its spread: cancellation shows */
    case 6:
    case 7: return low + (high - low) * 0.5; /* ties */
    default: return plain;
    }
}

SUPPORT_FUNCTION double support_fill(int fill, int is_float, double low, double high,
                                     unsigned long long seed, unsigned long long i)
{
    if (fill == JOB_FILL_CONSTANT) return low;
    if (fill == JOB_FILL_INDEX) return low + high * (double)i;
    unsigned long long hash = support_mix(seed ^ support_mix(i));
    double unit = (double)(hash >> 11) * 1.1102230246251565e-16; /* 2^-53 */
    double plain = low + (high - low) * unit;
    if (fill != JOB_FILL_ADVERSE || !is_float) return plain;
    return support_adverse(plain, low, high, seed, i);
}

/* How far `out` lies from the reference in units of its bound: at most 1 is right, SUPPORT_INF is wrong for certain.
 * NaN answers NaN; an infinity answers the same one, also where the reference is finite but beyond the type.
 * An infinite bound says that rounding decides, be it to NaN: the root of what cancels to about zero. */
SUPPORT_FUNCTION double support_ratio(int dtype, double out, double reference, double bound)
{
    double greatest = support_greatest(dtype);
    if (reference != reference) return out != out ? 0.0 : SUPPORT_INF;
    if (out != out) return bound > 1.7976931348623157e308 ? 0.0 : SUPPORT_INF;
    if (out == reference) return 0.0;
    if (greatest > 0.0 && (out > greatest || out < -greatest)) {
        double toward = out > 0 ? reference : -reference;
        return toward + bound >= greatest ? 0.0 : SUPPORT_INF;
    }
    if (reference > 1.7976931348623157e308 || reference < -1.7976931348623157e308) return SUPPORT_INF;
    double error = out > reference ? out - reference : reference - out;
    if (!(bound >= 0.0)) return SUPPORT_INF; /* a bound that is no number excuses nothing */
    if (bound == 0.0) return SUPPORT_INF;
    return error <= bound ? error / bound : error / bound > 1.0 ? error / bound : 2.0;
}
