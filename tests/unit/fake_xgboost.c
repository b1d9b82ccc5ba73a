/* An XGBoost that fails at the call that $STAX_FAKE_XGBOOST names (after $STAX_FAKE_AFTER good ones
 * of it), is of version 1.5 where that says "old", and counts the handles that are not freed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int live, done;

static int call(const char *name)
{
    const char *failing = getenv("STAX_FAKE_XGBOOST"), *after = getenv("STAX_FAKE_AFTER");
    if (!failing || strcmp(failing, name) != 0) return 0;
    return done++ < (after ? atoi(after) : 0) ? 0 : -1;
}

static int create(const char *name, void **out)
{
    if (call(name) != 0) return -1;
    live++;
    *out = &live;
    return 0;
}

static int destroy(const char *name)
{
    live--;
    return call(name);
}

EXPORT int fake_live(void)
{
    done = 0;
    return live;
}

EXPORT void XGBoostVersion(int *major, int *minor, int *patch)
{
    const char *mode = getenv("STAX_FAKE_XGBOOST");
    *major = 1;
    *minor = mode && strcmp(mode, "old") == 0 ? 5 : 7;
    *patch = 0;
}

EXPORT const char *XGBGetLastError(void)
{
    return "out of luck\nStack trace:\n  [bt] (0) 0x0";
}

EXPORT int XGBRegisterLogCallback(void (*callback)(const char *))
{
    (void)callback;
    return call("XGBRegisterLogCallback");
}

EXPORT int XGDMatrixCreateFromMat(const float *data, uint64_t rows, uint64_t columns, float missing,
                                  void **out)
{
    (void)data, (void)rows, (void)columns, (void)missing;
    return create("XGDMatrixCreateFromMat", out);
}

EXPORT int XGDMatrixSetInfoFromInterface(void *matrix, const char *field, const char *array)
{
    (void)matrix, (void)field, (void)array;
    return call("XGDMatrixSetInfoFromInterface");
}

EXPORT int XGDMatrixFree(void *matrix)
{
    (void)matrix;
    return destroy("XGDMatrixFree");
}

EXPORT int XGBoosterCreate(void *const matrix[], uint64_t count, void **out)
{
    (void)matrix, (void)count;
    return create("XGBoosterCreate", out);
}

EXPORT int XGBoosterSetParam(void *booster, const char *name, const char *value)
{
    (void)booster, (void)name, (void)value;
    return call("XGBoosterSetParam");
}

EXPORT int XGBoosterUpdateOneIter(void *booster, int iteration, void *matrix)
{
    (void)booster, (void)iteration, (void)matrix;
    return call("XGBoosterUpdateOneIter");
}

/* Its answers have a shape that nobody asked for. */
EXPORT int XGBoosterPredictFromDense(void *booster, const char *values, const char *config,
                                     void *matrix, const uint64_t **shape, uint64_t *dimensions,
                                     const float **result)
{
    static const uint64_t one[] = {1};
    static const float zero;
    (void)booster, (void)values, (void)config, (void)matrix;
    *shape = one;
    *dimensions = 1;
    *result = &zero;
    return call("XGBoosterPredictFromDense");
}

EXPORT int XGBoosterFree(void *booster)
{
    (void)booster;
    return destroy("XGBoosterFree");
}
