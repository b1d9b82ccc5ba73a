/* A worker as the session sees it: a process, its channel and its last words. */
#ifndef STAX_MEASURE_PROCESS_H
#define STAX_MEASURE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/status.h"
#include "measure/protocol.h"

enum { PROCESS_MAX_ARGS = 12 };

struct process {
    pid_t pid; /* 0: none */
    struct channel channel;
    struct arena *arena; /* lives as long as the process */
    int words;           /* what it writes to stderr, a file in memory */
    bool met;            /* its HELLO has come */
};

/* Where stax-worker is: `wanted`, $STAX_WORKER, beside this program, in ../bin of it or of this
 * library. */
enum stax_status process_find_worker(const char *wanted, struct arena *arena, const char **path);
/* `args` NULL-terminated, without the program's name; build and parent are added. */
enum stax_status process_start(struct process *process, const char *worker,
                               const char *const *args);
/* Kills what is left of it and frees everything. *how says how it ended: "killed by signal 11
 * (Segmentation fault)". */
void process_end(struct process *process, struct arena *arena, const char **how);
/* Takes HELLO and LOG out of the stream: false when `message` is for the caller. STAX_IO for a
 * worker of another build. */
enum stax_status process_handle(struct process *process, struct message *message, bool *handled);
/* Waits for a message of this kind: used by probes. FAILED becomes its status and message. */
enum stax_status process_wait(struct process *process, double seconds, enum message_kind kind,
                              struct message *message);

#endif
