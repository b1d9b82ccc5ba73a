/* Packing of device_info; see device.h. */
#include "base/device.h"

void device_info_put(struct text *text, const struct device_info *info)
{
    text_put_u32(text, (uint32_t)info->kind);
    const char *const strings[] = {info->spec,   info->name,     info->uuid,      info->arch,
                                   info->driver, info->compiler, info->timer_note};
    for (size_t i = 0; i < STAX_COUNT(strings); i++)
        text_put_string(text, strings[i] ? strings[i] : "");
    const int64_t numbers[] = {info->cc_major,     info->cc_minor,           info->processors,
                               info->warp_size,    info->max_threads_block,  info->max_threads_sm,
                               info->registers_sm, info->shared_block_bytes, info->shared_sm_bytes,
                               info->l2_bytes,     info->memory_bytes,       info->max_grid[0],
                               info->max_grid[1],  info->max_grid[2],        info->vector_bytes};
    for (size_t i = 0; i < STAX_COUNT(numbers); i++) text_put_u64(text, (uint64_t)numbers[i]);
    text_put_f64(text, info->copy_bytes_s);
    text_put_f64(text, info->read_bytes_s);
}

enum stax_status device_info_get(struct reader *reader, struct arena *arena,
                                 struct device_info *info)
{
    *info = (struct device_info){0};
    uint32_t kind = reader_u32(reader);
    if (kind > DEVICE_CUDA) reader->bad = 1;
    info->kind = (enum device_kind)kind;
    const char **const strings[] = {&info->spec,   &info->name,     &info->uuid,      &info->arch,
                                    &info->driver, &info->compiler, &info->timer_note};
    for (size_t i = 0; i < STAX_COUNT(strings); i++) {
        *strings[i] = reader_string(reader, arena);
        if (!*strings[i]) reader->bad = 1;
    }
    int *const ints[] = {&info->cc_major,    &info->cc_minor,          &info->processors,
                         &info->warp_size,   &info->max_threads_block, &info->max_threads_sm,
                         &info->registers_sm};
    for (size_t i = 0; i < STAX_COUNT(ints); i++) *ints[i] = (int)reader_u64(reader);
    int64_t *const longs[] = {&info->shared_block_bytes, &info->shared_sm_bytes, &info->l2_bytes,
                              &info->memory_bytes,       &info->max_grid[0],     &info->max_grid[1],
                              &info->max_grid[2]};
    for (size_t i = 0; i < STAX_COUNT(longs); i++) *longs[i] = (int64_t)reader_u64(reader);
    info->vector_bytes = (int)reader_u64(reader);
    info->copy_bytes_s = reader_f64(reader);
    info->read_bytes_s = reader_f64(reader);
    if (reader->bad) STAX_RETURN(STAX_FORMAT, "a device description is damaged");
    return STAX_OK;
}
