/* See fault.h. */
#include "measure/fault.h"

#ifdef STAX_DEBUG
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void misbehave(const char *kind, int fd)
{
    if (strcmp(kind, "crash") == 0) abort();
    if (strcmp(kind, "vanish") == 0) _exit(3);
    char garbage[64];
    memset(garbage, 0x5a, sizeof garbage);
    if (strcmp(kind, "corrupt") == 0 && write(fd, garbage, sizeof garbage) < 0) abort();
    for (;;) pause();
}

void fault_point(const char *role, int fd)
{
    static int count;
    int now = count++;
    for (const char *fault = getenv("STAX_FAULT"); fault && *fault; fault += *fault == ',') {
        char want_role[32], kind[32];
        int at;
        if (sscanf(fault, "%31[^:]:%31[^:]:%d", want_role, kind, &at) != 3) return;
        if (strcmp(want_role, role) == 0 && at == now) misbehave(kind, fd);
        fault = strchrnul(fault, ',');
    }
}
#else
void fault_point(const char *role, int fd)
{
    (void)role, (void)fd;
}
#endif
