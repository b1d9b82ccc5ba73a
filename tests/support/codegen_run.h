/* Runs generated programs on this machine against the interpreter: opens a case, fills its inputs,
 * compiles sources to one library and calls their launches. Shared by the tests of the C printer
 * and, by emulation, of the CUDA printer. */
#ifndef STAX_TESTS_CODEGEN_RUN_H
#define STAX_TESTS_CODEGEN_RUN_H

#include "base/job.h"
#include "codegen/program.h"

struct run_case {
    const char *kernel; /* catalogue name; or NULL */
    const char *expr;   /* inline text; or NULL */
    const char *arg[4]; /* --arg settings, NULL-terminated */
};

/* A case opened, its inputs and what the interpreter says of it. */
struct run_truth {
    struct cg_kernel *cg;
    void **storage; /* per program buffer: inputs in their dtype; NULL for others */
    double **value, **bound;
};

struct cg_kernel *run_open(const struct run_case *c, struct arena *arena);
struct run_truth run_truth_make(const struct run_case *c, struct arena *arena);

/* The catalogue at small sizes and shapes that divide nothing. Ends with a row of neither kernel
 * nor expr. */
extern const struct run_case run_cases[];
const char *run_case_text(const struct run_case *c, struct arena *arena);

/* Device of the cpu printer with the given SIMD width; 2 processors. */
struct device_info run_cpu_device(int vector_bytes);

/* Sources that become one shared library: each gets its entries renamed to stay apart. */
struct run_library {
    struct arena *arena;
    struct text source;
    int parts;
    void *handle;
};
struct run_library run_library_make(struct arena *arena);
/* Adds `source` with every entry of `program` renamed; returns the part's number. */
int run_library_add(struct run_library *library, const char *source,
                    const struct job_program *program);
/* Compiles with `command` (a printf format of source and output paths) and loads. */
void run_library_load(struct run_library *library, const char *suffix, const char *command);
void *run_library_entry(const struct run_library *library, int part, const char *entry);

void *run_library_symbol(const struct run_library *library, const char *name);

/* Distinct configurations: candidates and the safe one, then such as show values not shown yet,
 * then random ones. */
int run_choose(const struct space *space, const struct cg_candidates *candidates, uint64_t *out,
               int most);

/* Memory of every buffer of a job: inputs from `truth`, outputs and scratch poisoned by `poison`,
 * counters zero. */
void **run_buffers(const struct job *job, const struct run_truth *truth, unsigned char poison,
                   struct arena *arena);
/* Compares the tuned outputs with the interpreter: |out - value| <= safety * bound. Returns a text
 * that says where not, or NULL. */
const char *run_compare(const struct job *job, void *const *buffers, const struct run_truth *truth,
                        double safety, struct arena *arena);

#endif
