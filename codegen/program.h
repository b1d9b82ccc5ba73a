/* Private seam inside codegen: front (parse, lower, schedule) hands struct cg_kernel to back
 * (space, emit). */
#ifndef STAX_CODEGEN_PROGRAM_H
#define STAX_CODEGEN_PROGRAM_H

#include "codegen/codegen.h"
#include "codegen/ir.h"

struct cg_input {
    int buffer; /* in program.buffer */
    double low,
        high; /* random fill range; chosen by front: (-1, 1) unless the op needs otherwise */
};

struct cg_kernel {
    const char *name, *problem, *source;
    struct ir_program
        program; /* fused, dims merged, tiled; unsplit: forms are the configuration's choice */
    int inputs;
    struct cg_input *input;
    const char *graph_text; /* printed tensor graph */
    double bytes, flop;
    struct arena *arena;
};

/* Front: text to cg_kernel (front.c). Back: space.c, candidates.c, emit_*.c, job.c. */

#endif
