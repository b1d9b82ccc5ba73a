/* See fault.h. */
#include "measure/fault.h"

#ifdef STAX_DEBUG
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_point(const char *role, int fd)
{
    static int count;
    char want_role[32], kind[32];
    int at;
    const char *fault = getenv("STAX_FAULT");
    int now = count++;
    if (!fault || sscanf(fault, "%31[^:]:%31[^:]:%d", want_role, kind, &at) != 3) return;
    if (strcmp(want_role, role) != 0 || at != now) return;
    if (strcmp(kind, "crash") == 0) abort();
    if (strcmp(kind, "vanish") == 0) _exit(3);
    while (strcmp(kind, "hang") == 0) pause();
    if (strcmp(kind, "corrupt") != 0) return;
    char garbage[64];
    memset(garbage, 0x5a, sizeof garbage);
    if (write(fd, garbage, sizeof garbage) < 0) abort();
    for (;;) pause();
}
#else
void fault_point(const char *role, int fd)
{
    (void)role, (void)fd;
}
#endif
