/* Data types of tensors: one table, base/dtype.def. */
#ifndef STAX_BASE_DTYPE_H
#define STAX_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

enum dtype {
#define DTYPE(id, name, bytes, kind, bits, cuda, c) DTYPE_##id,
#include "base/dtype.def"
#undef DTYPE
    DTYPE_COUNT
};

struct dtype_row {
    const char *name;
    int bytes;
    char kind; /* F float, I signed, U unsigned, B boolean */
    int significant_bits;
    const char *cuda_type; /* as stored in global memory */
    const char *c_type;
};

extern const struct dtype_row dtype_table[DTYPE_COUNT];

bool dtype_parse(const char *name, size_t length, enum dtype *dtype);
static inline bool dtype_is_float(enum dtype dtype)
{
    return dtype_table[dtype].kind == 'F';
}
/* The type arithmetic on `dtype` is done in: f32 for 16-bit floats, itself otherwise. */
static inline enum dtype dtype_compute(enum dtype dtype)
{
    return dtype == DTYPE_BF16 || dtype == DTYPE_F16 ? DTYPE_F32 : dtype;
}

#endif
