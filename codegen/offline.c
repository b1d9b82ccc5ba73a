/* Devices that are not there: enough to emit, compile and count a space for an architecture.
 * Limits are those of the CUDA programming guide, table of technical specifications per compute
 * capability. */
#include <string.h>

#include "codegen/codegen.h"

struct offline_row {
    const char *arch, *name;
    int major, minor, processors, max_threads_sm;
    int64_t shared_block_bytes, shared_sm_bytes, l2_bytes;
};

static const struct offline_row rows[] = {
    {"sm_80", "NVIDIA A100 (offline)", 8, 0, 108, 2048, 166912, 167936, 40ll << 20},
    {"sm_90a", "NVIDIA H200 (offline)", 9, 0, 132, 2048, 232448, 233472, 60ll << 20},
    {"sm_120", "NVIDIA RTX 5090 (offline)", 12, 0, 170, 1536, 101376, 102400, 96ll << 20},
};

enum stax_status cg_offline_device(const char *arch, struct arena *arena,
                                   struct device_info *device)
{
    for (size_t i = 0; i < STAX_COUNT(rows); i++) {
        const struct offline_row *row = &rows[i];
        if (strcmp(arch, row->arch) != 0) continue;
        *device = (struct device_info){
            .kind = DEVICE_CUDA,
            .spec = "cuda:0",
            .name = row->name,
            .uuid = "",
            .arch = arena_text(arena, row->arch),
            .cc_major = row->major,
            .cc_minor = row->minor,
            .processors = row->processors,
            .warp_size = 32,
            .max_threads_block = 1024,
            .max_threads_sm = row->max_threads_sm,
            .registers_sm = 65536,
            .shared_block_bytes = row->shared_block_bytes,
            .shared_sm_bytes = row->shared_sm_bytes,
            .l2_bytes = row->l2_bytes,
            .max_grid = {INT32_MAX, 65535, 65535},
            .driver = "",
            .compiler = "",
            .timer_note = "",
        };
        return STAX_OK;
    }
    STAX_RETURN(STAX_USAGE, "no offline device '%s': use sm_80, sm_90a or sm_120", arch);
}
