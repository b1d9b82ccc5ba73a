/* What the compilers share; see compile.h. */
#include "measure/compile.h"

#include <stdio.h>
#include <string.h>

const struct compiler *compiler_of(enum device_kind kind)
{
    return kind == DEVICE_CUDA ? &compile_nvrtc : &compile_cc;
}

const char *compile_first_error(const char *log, struct arena *arena)
{
    const char *line = log, *chosen = log;
    for (; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = strchrnul(line, '\n');
        const char *error = strstr(line, "error");
        if (error && error < end) {
            chosen = line;
            break;
        }
    }
    size_t length = (size_t)(strchrnul(chosen, '\n') - chosen);
    while (length > 0 && (chosen[length - 1] == ' ' || chosen[length - 1] == '\r')) length--;
    return arena_text_n(arena, chosen, length);
}

static void raise(int64_t *greatest, int64_t value)
{
    if (value > *greatest) *greatest = value;
}

/* NVRTC 13 writes (12 the same without the words before the first number):
 *   "ptxas         .     1000 bytes stack frame, 996 bytes spill stores, 996 bytes spill loads"
 *   "ptxas info    : Used 24 registers, used 1 barriers, 1000 bytes cumulative stack size, 512
 * bytes smem" */
static bool read_stack(const char *line, const char *end, long long values[3])
{
    const char *at = strstr(line, " bytes stack frame");
    if (!at || at >= end) return false;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    return sscanf(at, "%lld bytes stack frame, %lld bytes spill stores, %lld bytes spill loads",
                  &values[0], &values[1], &values[2]) == 3;
}

void compile_read_ptxas(const char *log, struct compile_facts *facts)
{
    int64_t registers = -1;
    for (const char *line = log; *line; line = strchrnul(line, '\n'), line += *line == '\n') {
        const char *end = strchrnul(line, '\n');
        long long frame[3], value;
        if (read_stack(line, end, frame)) {
            raise(&facts->stack_bytes, frame[0]);
            raise(&facts->spill_bytes, frame[1] > frame[2] ? frame[1] : frame[2]);
        }
        const char *used = strstr(line, "Used ");
        if (!used || used >= end || sscanf(used, "Used %lld registers", &value) != 1) continue;
        raise(&registers, value);
        raise(&facts->shared_bytes, 0);
        for (const char *at = used; (at = strchr(at, ',')) && at < end; at++) {
            int matched = 0;
            if (sscanf(at, ", %lld bytes smem%n", &value, &matched) == 1 && matched > 0)
                raise(&facts->shared_bytes, value);
        }
    }
    facts->registers = (int)registers;
}
