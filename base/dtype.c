/* The data type table; see dtype.h. */
#include "base/dtype.h"

#include <string.h>

const struct dtype_row dtype_table[DTYPE_COUNT] = {
#define DTYPE(id, name, bytes, kind, bits, cuda, c) \
    [DTYPE_##id] = {name, bytes, kind, bits, cuda, c},
#include "base/dtype.def"
#undef DTYPE
};

bool dtype_parse(const char *name, size_t length, enum dtype *dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strlen(dtype_table[i].name) == length && !memcmp(dtype_table[i].name, name, length)) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}
