/* Compilers: a program's source to an artifact, or to text for people. One row a device kind.
 *
 * They run in compile workers. Source that does not compile is a result with an outcome; a status
 * other than STAX_OK means that there is no compiler or that files cannot be written. */
#ifndef STAX_MEASURE_COMPILE_H
#define STAX_MEASURE_COMPILE_H

#include "base/arena.h"
#include "base/device.h"
#include "base/status.h"
#include "base/trial.h"
#include "measure/protocol.h"

struct compile_result {
    enum outcome outcome; /* OK or COMPILE */
    const char *message;  /* one line for a bad outcome */
    const char *log;      /* "" unless it says something worth keeping */
    struct compile_facts facts;
    const unsigned char *binary; /* or, for assembly, text */
    size_t length;
};

struct compiler {
    enum device_kind kind;
    /* Whether it is there, and what makes its results its own: version, build, what "native" means
     * here. `arch` is set by the host compiler alone. STAX_UNSUPPORTED with one line that names
     * what to install. */
    enum stax_status (*identify)(struct arena *arena, const char **identity, const char **arch);
    /* `folder` is for temporary files of this process alone. */
    enum stax_status (*compile)(const struct compile_request *request, const char *folder,
                                struct arena *arena, struct compile_result *result);
};

extern const struct compiler compile_cc, compile_nvrtc;
const struct compiler *compiler_of(enum device_kind kind);

/* Reads what ptxas -v prints: the greatest over all entries. Public for its test. */
void compile_read_ptxas(const char *log, struct compile_facts *facts);
/* The first line that holds "error", without trailing blanks; else the first line. */
const char *compile_first_error(const char *log, struct arena *arena);

#endif
