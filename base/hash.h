/* Content hashes: 64 bits of XXH3 for keys inside a run, 128 bits where a collision would serve a
 * wrong answer. */
#ifndef STAX_BASE_HASH_H
#define STAX_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t low, high;
};

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed);
uint64_t hash_string(const char *string);
struct hash128 hash128_bytes(const void *bytes, size_t length);
static inline int hash128_equal(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}
void hash128_hex(struct hash128 hash, char hex[33]); /* 32 digits and NUL */

#endif
