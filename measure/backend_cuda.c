#include "measure/backend.h"
static enum stax_status probe(const struct backend_options *options, struct arena *arena,
                              struct device_info *info, bool *timer_ok)
{
    (void)options, (void)arena, (void)info, (void)timer_ok;
    STAX_RETURN(STAX_DEVICE, "no CUDA yet");
}
static void describe(struct text *text, struct arena *arena)
{
    (void)arena;
    text_printf(text, "cuda\n");
}
const struct backend_ops backend_cuda = {.kind = DEVICE_CUDA, .probe = probe, .describe = describe};
