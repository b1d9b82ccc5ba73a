/* XXH3 behind two functions; see hash.h. */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

uint64_t hash_string(const char *string)
{
    return hash_bytes(string, strlen(string), 0);
}

struct hash128 hash128_bytes(const void *bytes, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, length);
    return (struct hash128){hash.low64, hash.high64};
}

void hash128_hex(struct hash128 hash, char hex[33])
{
    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)hash.high,
             (unsigned long long)hash.low);
}
