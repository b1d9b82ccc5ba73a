/* A second interpreter for tests: runs a program as a GPU or CPU would, every value rounded to its
 * type.
 *
 * Library functions get an error of up to 3 u on top, sums run in a chosen order. What it gives
 * must lie within the bounds of ir_eval, and shows what a generated kernel would give in f32 on
 * hard inputs. */
#ifndef STAX_TESTS_IR_F32_H
#define STAX_TESTS_IR_F32_H

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "codegen/ir.h"

enum f32_order { F32_SEQUENTIAL, F32_LANES };

struct f32_run {
    const struct ir_program *program;
    const struct ir_kernel *kernel;
    double *const *data;
    enum f32_order order;
    struct rng rng;
    double value[256];
    double lane[256][64]; /* per REDUCE node: 64 lanes, or the first alone */
    int64_t vars[64];
};

static double f32_round(double value, enum dtype dtype)
{
    if (dtype == DTYPE_F32) {
        return (double)(float)value;
    }
    if (dtype == DTYPE_BF16 && isfinite(value)) { /* to nearest, ties to even */
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
        memcpy(&single, &bits, sizeof bits);
        return (double)single;
    }
    if (dtype == DTYPE_F16 && isfinite(value)) {
        double unit = fabs(value) < 0x1p-14 ? 0x1p-24 : ldexp(1.0, ilogb(value) - 10);
        double rounded = rint(value / unit) * unit;
        return fabs(rounded) > 65504.0 ? copysign(HUGE_VAL, value) : rounded;
    }
    if (dtype == DTYPE_BOOL) {
        return value != 0;
    }
    return dtype_is_float(dtype) ? value : trunc(value);
}

static double f32_fold(enum ir_reduction reduction, double a, double b, enum dtype dtype)
{
    switch (reduction) {
    case IR_RED_SUM: return f32_round(a + b, dtype);
    case IR_RED_PROD: return f32_round(a * b, dtype);
    case IR_RED_MAX: return isnan(a) ? a : isnan(b) || b > a ? b : a;
    default: return isnan(a) ? a : isnan(b) || b < a ? b : a;
    }
}

static void f32_node(struct f32_run *run, int i)
{
    const struct ir_node *node = &run->kernel->node[i];
    double arg[3] = {0, 0, 0}, *out = &run->value[i];
    for (int k = 0; k < 3; k++) {
        arg[k] = node->arg[k] >= 0 ? run->value[node->arg[k]] : 0.0;
    }
    switch (node->op) {
    case IR_CONST: *out = f32_round(node->constant, node->dtype); break;
    case IR_INDEX: *out = f32_round((double)index_eval(node->index, run->vars), node->dtype); break;
    case IR_LOAD:
        *out = node->arg[0] >= 0 && arg[0] == 0
                   ? 0.0
                   : run->data[node->buffer][index_eval(node->index, run->vars)];
        break;
    case IR_CAST: *out = f32_round(arg[0], node->dtype); break;
    case IR_STORE:
        run->data[node->buffer][index_eval(node->index, run->vars)] = f32_round(arg[0],
                                                                                node->dtype);
        break;
    case IR_REDUCE: break;
    default: {
        bool library = (node->op >= IR_EXP && node->op <= IR_LOG) || node->op == IR_RSQRT ||
                       (node->op >= IR_TANH && node->op <= IR_COS);
        double noise = library ? 3 * 0x1p-24 * (2 * rng_unit(&run->rng) - 1) : 0.0;
        *out = f32_round(ir_value(node->op, arg[0], arg[1], arg[2]) * (1 + noise), node->dtype);
        break;
    }
    }
}

static bool f32_advance(struct f32_run *run, int first, int past)
{
    for (int d = past - 1; d >= first; d--) {
        if (++run->vars[d] < run->kernel->dim[d].size) {
            return true;
        }
        run->vars[d] = 0;
    }
    return false;
}

static void f32_walk(struct f32_run *run, int level, int first_r)
{
    static const double start[IR_RED_COUNT] = {0.0, 1.0, -HUGE_VAL, HUGE_VAL};
    const struct ir_kernel *kernel = run->kernel;
    int lanes = run->order == F32_LANES ? 64 : 1;
    for (int i = 0; i < kernel->nodes; i++) {
        for (int l = 0; l < lanes; l++) {
            run->lane[i][l] = start[kernel->node[i].reduction];
        }
    }
    int64_t step = 0;
    do {
        for (int i = 0; i < kernel->nodes; i++) {
            const struct ir_node *node = &kernel->node[i];
            double *lane = &run->lane[i][step % lanes];
            if (node->in_r && node->level <= level &&
                (node->op != IR_STORE || level == kernel->levels)) {
                f32_node(run, i);
            } else if (node->op == IR_REDUCE && node->level == level + 1) {
                *lane = f32_fold(node->reduction, *lane, run->value[node->arg[0]], node->dtype);
            }
        }
        step++;
    } while (f32_advance(run, first_r, kernel->dims));
    for (int i = 0; i < kernel->nodes; i++) {
        const struct ir_node *node = &kernel->node[i];
        if (node->op == IR_REDUCE && node->level == level + 1) {
            for (int half = lanes / 2; half > 0; half /= 2) {
                for (int l = 0; l < half; l++) {
                    run->lane[i][l] = f32_fold(node->reduction, run->lane[i][l],
                                               run->lane[i][l + half], node->dtype);
                }
            }
            run->value[i] = run->lane[i][0];
        } else if (!node->in_r && node->op != IR_REDUCE && node->level == level + 1) {
            f32_node(run, i);
        }
    }
}

static void f32_eval(const struct ir_program *program, double *const *data, enum f32_order order,
                     uint64_t seed)
{
    static struct f32_run run;
    for (int k = 0; k < program->kernels; k++) {
        const struct ir_kernel *kernel = &program->kernel[k];
        int first_r = kernel->dims;
        run = (struct f32_run){.program = program, .kernel = kernel, .data = data, .order = order};
        run.rng = rng_make(seed, 3);
        STAX_CHECK(kernel->nodes <= 256 && kernel->dims <= 64);
        while (first_r > 0 && kernel->dim[first_r - 1].axis == IR_AXIS_R) {
            first_r--;
        }
        do {
            for (int i = 0; i < kernel->nodes; i++) {
                if (!kernel->node[i].in_r && kernel->node[i].level == 0 &&
                    kernel->node[i].op != IR_REDUCE) {
                    f32_node(&run, i);
                }
            }
            for (int level = 0; level < kernel->levels + kernel->stores_in_r; level++) {
                f32_walk(&run, level, first_r);
            }
        } while (f32_advance(&run, 0, first_r));
    }
}

#endif
