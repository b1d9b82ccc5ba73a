/* Code generation: `.stax` text to loop IR to configuration space to source text. The module's only
 * public header.
 *
 * Every function is pure: same text, device and configuration, same result, no clock, no file
 * except the `.stax` file named. */
#ifndef STAX_CODEGEN_CODEGEN_H
#define STAX_CODEGEN_CODEGEN_H

#include "base/arena.h"
#include "base/device.h"
#include "base/job.h"
#include "base/space.h"
#include "base/status.h"

struct cg_kernel; /* one kernel at one set of shapes, lowered */

struct cg_request {
    const char *kernel; /* catalogue name or path of a .stax file (ends in .stax or contains '/');
                           or NULL */
    const char *expr;   /* inline kernel text; or NULL */
    int args;           /* --arg NAME=TYPE[SHAPE][:STRIDES], as given */
    const char *const *arg;
    int dims; /* --dim NAME=VALUE */
    const char *const *dim;
};

/* Catalogue, in the order of the book. */
struct cg_entry {
    const char *name;
    const char *summary; /* first comment line of its file */
    const char *text;    /* the .stax text */
};
int cg_catalogue(const struct cg_entry **entries);

/* Errors: STAX_NOTFOUND (with the nearest catalogue name), STAX_USAGE with line, column, caret and
 * what was expected, STAX_IO. */
enum stax_status cg_open(const struct cg_request *request, struct arena *arena,
                         struct cg_kernel **kernel);
const char *cg_name(const struct cg_kernel *kernel);    /* "red_fused" */
const char *cg_problem(const struct cg_kernel *kernel); /* "red_fused(x: f32[64,16384])" */
const char *cg_source(const struct cg_kernel *kernel);  /* its text, for records */
double cg_bytes(const struct cg_kernel *kernel);        /* each input once + each output once */
double cg_flop(const struct cg_kernel *kernel);

/* The space on a device. Lives in `arena`. Every parameter in it changes the emitted code or the
 * launch. */
enum stax_status cg_space(const struct cg_kernel *kernel, const struct device_info *device,
                          struct arena *arena, struct space **space);
/* The heuristic set: 1 to 6 distinct configurations, [0] the book's choice. `safe` surely fits. */
struct cg_candidates {
    int count;
    uint64_t config[8];
    uint64_t safe;
};
enum stax_status cg_candidates(const struct cg_kernel *kernel, const struct device_info *device,
                               const struct space *space, struct cg_candidates *candidates);
/* Emits the job of one configuration; everything lives in `arena`. `seed` fills the inputs. */
enum stax_status cg_job(const struct cg_kernel *kernel, const struct device_info *device,
                        const struct space *space, uint64_t config, uint64_t seed,
                        struct arena *arena, struct job **job);

/* Text for `show`: graph, ir (after scheduling for the configuration), cuda or c (the source),
 * space. STAX_USAGE names the kinds. */
enum stax_status cg_show(const struct cg_kernel *kernel, const struct device_info *device,
                         const struct space *space, uint64_t config, const char *what,
                         struct arena *arena, const char **text);

/* Device used when there is none: enough to emit for `arch` ("sm_80", "sm_90a", "sm_120").
 * STAX_USAGE names the known ones. */
enum stax_status cg_offline_device(const char *arch, struct arena *arena,
                                   struct device_info *device);

#endif
