/* Messages between the session and its workers, over one socket pair a worker.
 *
 * A frame is a header (magic, kind, length, checksum) and a body packed by base/text.h. Both ends
 * are of one build, so bodies carry no versions; HELLO says which build. A frame that is damaged or
 * too long ends the talk. */
#ifndef STAX_MEASURE_PROTOCOL_H
#define STAX_MEASURE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/job.h"
#include "base/status.h"
#include "base/text.h"
#include "base/trial.h"

enum message_kind {
    MESSAGE_HELLO = 1, /* build id */
    MESSAGE_LOG,       /* level, line */
    MESSAGE_PHASE,     /* enum phase, index of the job in a race */
    MESSAGE_FAILED,    /* status, message: the worker cannot go on and exits */
    MESSAGE_PROBED,    /* device_info, can the default timer be used */
    MESSAGE_DOCTOR,    /* text */
    MESSAGE_COMPILE,   /* struct compile_request */
    MESSAGE_COMPILED, /* outcome, message, log, assembly; a good artifact lies at the path asked for
                       */
    MESSAGE_MEASURE,  /* struct measure_request */
    MESSAGE_MEASURED, /* enum worker_end, a trial an entry */
    MESSAGE_CALIBRATE,  /* nothing */
    MESSAGE_CALIBRATED, /* copy and read bytes/s */
};

/* Does the worker go on after its answer? */
enum worker_end {
    WORKER_STAYS,
    WORKER_SPENT, /* its context is poisoned: it exits, and the candidate counts as the cause */
    WORKER_WORN,  /* it did enough and exits */
};

/* What a measure worker is about to do: decides which time limit runs and who is to blame for a
 * death. */
enum phase {
    PHASE_START,     /* opening the device, reading the request */
    PHASE_WAIT,      /* for the lock on the device: another session times */
    PHASE_REFERENCE, /* loading and running the reference, filling inputs */
    PHASE_CANDIDATE, /* anything that runs the candidate's code */
};

enum { MESSAGE_LIMIT_BYTES = 64 << 20 }; /* chosen: sources are far below a megabyte */

struct message {
    enum message_kind kind;
    struct reader body; /* valid until the next channel_read of this channel */
};

struct channel {
    int fd;
    bool closed, garbled; /* the other end is gone; it sent what is no frame */
    const char *why;
    struct arena *arena;
    unsigned char *bytes;
    size_t from, to, capacity;
};

struct channel channel_make(int fd, struct arena *arena);
/* Sends the whole frame or marks the channel closed. Waits while the other end does not read, up to
 * 10 s. */
enum stax_status channel_send(struct channel *channel, enum message_kind kind, struct text *body);
/* Takes in what has arrived, without waiting. */
void channel_read(struct channel *channel);
/* One whole frame out of what was read; false when there is none yet. */
bool channel_take(struct channel *channel, struct message *message);
/* Waits for a frame: STAX_OK, STAX_CANCELLED after `seconds` (< 0: for ever), STAX_IO when the
 * channel closed. */
enum stax_status channel_wait(struct channel *channel, double seconds, struct message *message);

/* A program is compiled once whatever its launches are. */
struct compile_request {
    const char *arch;
    const char *source;
    const char *options;
    const char *path; /* where the artifact is to lie */
    bool assembly;    /* no artifact but its text */
};

void compile_request_put(struct text *text, const struct compile_request *request);
enum stax_status compile_request_get(struct reader *reader, struct arena *arena,
                                     struct compile_request *request);

/* One job to verify and time, or one entry of a race. */
struct measure_entry {
    struct job job;
    struct compile_facts compile;
    const char *program;   /* path of the artifact */
    const char *reference; /* the same of the reference; "" when nothing is compared */
    bool verify, adverse;
};

/* A race has several entries and takes `samples` rounds; a single entry with samples 0 stops by the
 * rule. */
struct measure_request {
    bool race;
    int samples;
    enum trial_stage stage;
    double limit_s;
    uint64_t seed; /* of the order in a race */
    int entries;
    struct measure_entry *entry;
};

void measure_request_put(struct text *text, const struct measure_request *request);
enum stax_status measure_request_get(struct reader *reader, struct arena *arena,
                                     struct measure_request *request);

void compile_facts_put(struct text *text, const struct compile_facts *facts);
void compile_facts_get(struct reader *reader, struct compile_facts *facts);

double measure_clock_s(void); /* monotonic */

#endif
