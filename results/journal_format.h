/* Bytes of a journal, shared by its writer and its reader; see journal.h. */
#ifndef STAX_RESULTS_JOURNAL_FORMAT_H
#define STAX_RESULTS_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define JOURNAL_MAGIC "StaxJrn\n" /* a text-mode copy breaks the newline, and is noticed */
enum {
    JOURNAL_MAGIC_BYTES = 8,
    JOURNAL_VERSION = 1,
    JOURNAL_HEADER_BYTES = JOURNAL_MAGIC_BYTES + 4,
    JOURNAL_RECORD_BYTES = 16,       /* before the payload: length, kind, check */
    JOURNAL_PAYLOAD_MAX = 256 << 20, /* chosen: 8e6 samples of one trial */
};

/* Seeded with kind and number, so that a record counts only as what it is and in its place. */
static inline uint64_t journal_check(uint32_t kind, const void *payload, size_t length,
                                     uint64_t number)
{
    return hash_bytes(payload, length,
                      number * 0x9e3779b97f4a7c15ull + kind); /* the golden ratio spreads */
}

#endif
