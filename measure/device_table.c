/* The rows of --device: how each is named, what it times with, what it defaults to. */
#include <stdlib.h>
#include <string.h>

#include "measure/pool.h"

static const struct measure_row rows[] = {
    {{"cuda", "an NVIDIA GPU; cuda:1 is the second"},
     DEVICE_CUDA,
     false,
     TIMER_CUPTI,
     L2_COLD,
     true},
    {{"cpu", "this host: its C compiler with OpenMP, wall clock"},
     DEVICE_CPU,
     false,
     TIMER_HOST,
     L2_WARM,
     false},
    {{"replay", "replay:FILE answers from the trials recorded in a database"},
     DEVICE_CUDA,
     true,
     TIMER_RECORDED,
     L2_COLD,
     true},
};

int measure_devices(const struct measure_device_row **shown)
{
    static struct measure_device_row table[STAX_COUNT(rows)];
    for (size_t i = 0; i < STAX_COUNT(rows); i++) table[i] = rows[i].shown;
    *shown = table;
    return (int)STAX_COUNT(rows);
}

const struct measure_row *measure_row_of(const char *spec)
{
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        const char *name = rows[i].shown.name;
        if (strlen(name) != length || memcmp(name, spec, length) != 0) continue;
        bool number = spec[length] == ':' && spec[length + 1] &&
                      strspn(spec + length + 1, "0123456789") == strlen(spec + length + 1);
        bool bare = spec[length] == '\0';
        if (rows[i].replay ? spec[length] == ':' && spec[length + 1]
                           : bare || (number && rows[i].kind == DEVICE_CUDA))
            return &rows[i];
    }
    return NULL;
}
