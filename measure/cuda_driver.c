/* dlopen and cuGetProcAddress over one table; see cuda_driver.h. */
#include "measure/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "measure/library.h"

static struct cuda_driver opened;

static const struct {
    const char *name;
    int version;
    bool optional;
    void *to;
} symbols[] = {
#define CUDA_SYM(name, version, optional, arguments) {#name, version, optional, &opened.name},
#include "measure/cuda_syms.def"
#undef CUDA_SYM
};

enum {
    ERROR_INVALID_VALUE = 1,
    ERROR_OUT_OF_MEMORY = 2,
    ERROR_NO_BINARY = 209,
    ERROR_ECC = 214,
    ERROR_CONTAINED = 226,
    ERROR_ILLEGAL_ADDRESS = 700,
    ERROR_OUT_OF_RESOURCES = 701,
    ERROR_FIRST_FAULT = 702, /* launch time-out */
    ERROR_LAST_FAULT = 721,  /* tensor memory leak */
};

static enum stax_status resolve(void *library, const char *path)
{
    int (*get2)(const char *, void **, int, uint64_t, int *);
    int (*get1)(const char *, void **, int, uint64_t);
    void *second = dlsym(library, "cuGetProcAddress_v2"),
         *first = dlsym(library, "cuGetProcAddress");
    memcpy(&get2, &second, sizeof second);
    memcpy(&get1, &first, sizeof first);
    if (!second && !first)
        STAX_RETURN(STAX_DEVICE, "%s is too old: a driver for CUDA 11.3 or later is needed", path);
    for (size_t i = 0; i < STAX_COUNT(symbols); i++) {
        void *symbol = NULL;
        int found = 0;
        int error = second ? get2(symbols[i].name, &symbol, symbols[i].version, 0, &found)
                           : get1(symbols[i].name, &symbol, symbols[i].version, 0);
        if (error != 0) symbol = NULL;
        if (!symbol && !symbols[i].optional)
            STAX_RETURN(STAX_DEVICE, "%s lacks %s: update the driver", path, symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return STAX_OK;
}

enum stax_status cuda_open(struct arena *arena, const struct cuda_driver **driver)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static char kept[512];
    const char *path, *why;
    *driver = &opened;
    if (opened.path) return STAX_OK;
    void *library = library_open(names, arena, &path, &why);
    if (!library)
        STAX_RETURN(STAX_DEVICE, "no CUDA driver: libcuda.so.1 does not load (use --device cpu)");
    STAX_TRY(resolve(library, path));
    snprintf(kept, sizeof kept, "%s", path);
    opened.path = kept;
    return STAX_OK;
}

const char *cuda_error(const struct cuda_driver *driver, int error, char text[128])
{
    const char *name = NULL;
    if (driver->cuGetErrorName(error, &name) != 0 || !name) name = "unknown error";
    snprintf(text, 128, "%s (%d)", name, error);
    return text;
}

bool cuda_verdict(const struct cuda_driver *driver, int error, const char *what,
                  struct verdict *verdict)
{
    char text[128];
    if (error == 0) return true;
    cuda_error(driver, error, text);
    bool fault = error == ERROR_ILLEGAL_ADDRESS || error == ERROR_ECC || error == ERROR_CONTAINED ||
                 (error >= ERROR_FIRST_FAULT && error <= ERROR_LAST_FAULT);
    enum outcome outcome = fault ? OUTCOME_FAULT
                           : error == ERROR_OUT_OF_MEMORY || error == ERROR_OUT_OF_RESOURCES
                               ? OUTCOME_RESOURCE
                               : OUTCOME_LAUNCH;
    verdict_set(verdict, outcome, "%s: %s", what, text);
    verdict->spent = fault; /* the context answers nothing else from here on */
    return false;
}
