/* Meaning of the columns; see rows.h. */
#include "results/rows.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

/* clang-format off */
/* Device columns that are plain numbers, once for both directions. */
#define DEVICE_NUMBERS(X)                                                              \
    X(cc_major, cc_major) X(cc_minor, cc_minor)                                        \
    X(processors, processors) X(warp_size, warp_size)                                  \
    X(max_threads_block, max_threads_block) X(max_threads_sm, max_threads_sm)          \
    X(registers_sm, registers_sm) X(shared_block_bytes, shared_block_bytes)            \
    X(shared_sm_bytes, shared_sm_bytes) X(l2_bytes, l2_bytes)                          \
    X(memory_bytes, memory_bytes) X(vector_bytes, vector_bytes)                        \
    X(max_grid_x, max_grid[0]) X(max_grid_y, max_grid[1]) X(max_grid_z, max_grid[2])   \
    X(copy_bytes_s, copy_bytes_s) X(read_bytes_s, read_bytes_s)
#define DEVICE_TEXTS(X)                                                                \
    X(device_spec, spec) X(device_name, name) X(device_uuid, uuid)                     \
    X(device_arch, arch) X(driver, driver) X(compiler, compiler) X(timer_note, timer_note)
/* clang-format on */
#define RUN_TEXTS(X) X(key) X(strategy) X(settings) X(protocol) X(command) X(host) X(version)

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void put_device(struct runs_row *row, const struct device_info *device)
{
    row->device_kind = (uint8_t)device->kind;
#define NUMBER(column, member)  row->column = device->member;
#define TEXT_OF(column, member) row->column = text_or_empty(device->member);
    DEVICE_NUMBERS(NUMBER)
    DEVICE_TEXTS(TEXT_OF)
#undef NUMBER
#undef TEXT_OF
}

void rows_to_device(const struct runs_row *row, struct device_info *device)
{
    *device = (struct device_info){.kind = (enum device_kind)row->device_kind};
#define NUMBER(column, name)  device->name = row->column;
#define TEXT_OF(column, name) device->name = row->column;
    DEVICE_NUMBERS(NUMBER)
    DEVICE_TEXTS(TEXT_OF)
#undef NUMBER
#undef TEXT_OF
}

static void put_space(struct batch *batch, struct runs_row *run, const struct space *space)
{
    struct text constraints = text_make(batch->arena), definitions = text_make(batch->arena);
    struct text all = text_make(batch->arena);
    text_add(&definitions, "[");
    for (int i = 0; i < space_definitions(space); i++) {
        struct value value;
        text_add(&definitions, i ? ", [" : "[");
        json_put_text(&definitions, space_definition(space, i, &value));
        text_add(&definitions, ", ");
        json_put_value(&definitions, &value);
        text_add(&definitions, "]");
    }
    text_add(&definitions, "]");
    text_add(&constraints, "[");
    for (int i = 0; i < space_constraints(space); i++) {
        if (i) text_add(&constraints, ", ");
        json_put_text(&constraints, space_constraint(space, i));
    }
    text_add(&constraints, "]");
    for (int i = 0; i < space_params(space); i++) {
        const struct param *param = space_param(space, i);
        struct params_row *row = BATCH_ADD(batch, params);
        struct value list = {.kind = VALUE_LIST, .items = param->values, .count = param->count};
        struct text values = text_make(batch->arena);
        json_put_value(&values, &list);
        row->position = i;
        row->name = arena_text(batch->arena, param->name);
        row->ordered = param->ordered;
        row->values_count = param->count;
        row->values = text_string(&values);
        record_pack(&all, TABLE_params, row);
    }
    run->space_name = arena_text(batch->arena, text_or_empty(space_name(space)));
    run->constraints = text_string(&constraints);
    run->definitions = text_string(&definitions);
    run->space_valid = (int64_t)space_count(space);
    text_put_string(&all, run->constraints);
    text_put_string(&all, run->definitions);
    run->space = hash128_bytes(all.bytes, all.length);
    for (uint64_t i = 0; i < batch->count[TABLE_params]; i++)
        BATCH_ROWS(batch, params)[i].space = run->space;
}

void rows_from_run(struct batch *batch, const struct run_info *info, struct hash128 uuid)
{
    struct runs_row *run = BATCH_ADD(batch, runs);
    struct kernels_row *kernel = BATCH_ADD(batch, kernels);
    kernel->source_hash = info->source_hash;
    kernel->name = text_or_empty(info->kernel);
    kernel->problem = text_or_empty(info->problem);
    kernel->source = text_or_empty(info->source);
    struct text identity = text_make(batch->arena);
    record_pack(&identity, TABLE_kernels, kernel);
    kernel->identity = hash128_bytes(identity.bytes, identity.length);
    run->uuid = uuid;
#define TEXT_OF(name) run->name = text_or_empty(info->name);
    RUN_TEXTS(TEXT_OF)
#undef TEXT_OF
    run->seed = info->seed;
    run->timer = (uint8_t)info->timer;
    run->l2 = (uint8_t)info->l2;
    run->started_unix_ns = info->started_unix_ns;
    run->bytes = info->bytes;
    run->flop = info->flop;
    if (info->device) put_device(run, info->device);
    if (info->space) put_space(batch, run, info->space);
    rec_batch_settle(batch);
}

void rows_from_result(struct runs_row *run, const struct run_result *result)
{
    run->complete = result->complete;
    run->has_best = result->has_best;
    run->best_config = result->best_config;
    run->best_text = text_or_empty(result->best_text);
    run->best_ns = result->best_ns;
    run->best_low_ns = result->best_low_ns;
    run->best_high_ns = result->best_high_ns;
    run->default_ns = result->default_ns;
    run->elapsed_s = result->elapsed_s;
    run->claim = text_or_empty(result->claim);
}

static void put_values(struct batch *batch, const struct space *space, uint64_t config)
{
    int params = space_params(space);
    int *index = ARENA_ARRAY(batch->arena, int, params);
    space_unrank(space, config, index);
    for (int i = 0; i < params; i++) {
        const struct value *value = &space_param(space, i)->values[index[i]];
        struct config_values_row *row = BATCH_ADD(batch, config_values);
        row->param = i;
        row->value_index = index[i];
        row->value = value_number(value);
        row->value_text = value_text(value, batch->arena);
    }
}

void rows_from_trial(struct batch *batch, const struct space *space, uint64_t config,
                     struct hash128 job, int fidelity, const struct trial *trial)
{
    struct trials_row *row = BATCH_ADD(batch, trials);
    row->run = 0;
    row->config_hash = space_config_hash(space, config);
    row->job_hash = job;
    row->values = (int64_t)batch->count[TABLE_config_values];
    row->values_count = space_params(space);
    row->samples = (int64_t)batch->count[TABLE_samples];
    row->samples_count = trial->samples;
    row->fidelity = fidelity;
    row->stage = (uint8_t)trial->stage;
    row->outcome = (uint8_t)trial->outcome;
    row->timer = (uint8_t)trial->timer;
    row->l2 = (uint8_t)trial->l2;
    struct summary summary = stats_summary(trial->span_ns, trial->samples, 0.95); /* as reported */
    row->median_ns = (float)summary.median;
    row->low_ns = (float)summary.low;
    row->high_ns = (float)summary.high;
    row->min_ns = (float)summary.min;
    row->q1_ns = (float)summary.q1;
    row->q3_ns = (float)summary.q3;
    row->discarded = trial->discarded;
    row->message = text_or_empty(trial->message);
    row->log = text_or_empty(trial->log);
    row->compile_s = (float)trial->compile.seconds;
    row->compile_cached = trial->compile.cached;
    row->registers = trial->compile.registers;
    row->shared_bytes = trial->compile.shared_bytes;
    row->spill_bytes = trial->compile.spill_bytes;
    row->stack_bytes = trial->compile.stack_bytes;
    row->binary_hash = trial->compile.binary;
    row->measure_s = (float)trial->measure_s;
    row->error_ratio = (float)trial->error_ratio;
    row->verified = trial->verified;
    row->adverse_verified = trial->adverse_verified;
    row->suspicious = trial->suspicious;
    row->clock_mhz = (float)trial->clock_mhz;
    row->temperature_c = (float)trial->temperature_c;
    row->time_unix_ns = trial->time_unix_ns;
    int64_t number = (int64_t)batch->count[TABLE_trials] - 1;
    put_values(batch, space, config);
    for (int i = 0; i < trial->samples; i++) {
        struct samples_row *sample = BATCH_ADD(batch, samples);
        *sample = (struct samples_row){number, trial->span_ns[i], trial->sum_ns[i]};
    }
}

void rows_to_run(const struct runs_row *row, const struct kernels_row *kernel, struct arena *arena,
                 struct stored_run *run)
{
    struct run_info *info = &run->info;
    struct device_info *device = ARENA_NEW(arena, struct device_info);
    rows_to_device(row, device);
    *info = (struct run_info){.kernel = kernel->name,
                              .problem = kernel->problem,
                              .source = kernel->source,
                              .source_hash = kernel->source_hash,
                              .device = device,
                              .timer = (enum timer)row->timer,
                              .l2 = (enum l2_mode)row->l2,
                              .seed = row->seed,
                              .started_unix_ns = row->started_unix_ns,
                              .bytes = row->bytes,
                              .flop = row->flop};
#define TEXT_OF(name) info->name = row->name;
    RUN_TEXTS(TEXT_OF)
#undef TEXT_OF
    run->result = (struct run_result){.complete = row->complete,
                                      .has_best = row->has_best,
                                      .best_config = row->best_config,
                                      .best_text = row->best_text,
                                      .best_ns = row->best_ns,
                                      .best_low_ns = row->best_low_ns,
                                      .best_high_ns = row->best_high_ns,
                                      .default_ns = row->default_ns,
                                      .elapsed_s = row->elapsed_s,
                                      .claim = row->claim && *row->claim ? row->claim : NULL};
    run->trials = row->trials_count > 0 ? (uint64_t)row->trials_count : 0;
}

void rows_to_trial(const struct trials_row *row, const struct samples_row *samples,
                   struct arena *arena, struct trial *trial)
{
    *trial = (struct trial){
        .outcome = (enum outcome)row->outcome,
        .message = row->message,
        .log = row->log,
        .samples = row->samples_count,
        .span_ns = ARENA_ARRAY(arena, double, row->samples_count),
        .sum_ns = ARENA_ARRAY(arena, double, row->samples_count),
        .discarded = row->discarded,
        .timer = (enum timer)row->timer,
        .l2 = (enum l2_mode)row->l2,
        .stage = (enum trial_stage)row->stage,
        .compile = {.seconds = row->compile_s,
                    .cached = row->compile_cached,
                    .registers = row->registers,
                    .shared_bytes = row->shared_bytes,
                    .spill_bytes = row->spill_bytes,
                    .stack_bytes = row->stack_bytes,
                    .binary = row->binary_hash},
        .measure_s = row->measure_s,
        .error_ratio = row->error_ratio,
        .verified = row->verified,
        .adverse_verified = row->adverse_verified,
        .suspicious = row->suspicious,
        .clock_mhz = row->clock_mhz,
        .temperature_c = row->temperature_c,
        .time_unix_ns = row->time_unix_ns,
    };
    for (int i = 0; i < trial->samples; i++) {
        trial->span_ns[i] = samples[i].span_ns;
        trial->sum_ns[i] = samples[i].sum_ns;
    }
}

const char *rows_config_text(const struct batch *batch, const struct trials_row *trial,
                             struct arena *arena)
{
    struct text text = text_make(arena);
    const struct config_values_row *value = BATCH_ROWS(batch, config_values) + trial->values;
    for (int i = 0; i < trial->values_count; i++, value++) {
        text_printf(&text, "%s%s=%s", i ? ", " : "", BATCH_ROWS(batch, params)[value->param].name,
                    value->value_text);
    }
    return text_string(&text);
}

static enum stax_status bad_space(const struct batch *batch, const char *what)
{
    STAX_RETURN(STAX_FORMAT, "the stored space %s has a damaged list of %s",
                BATCH_ROWS(batch, runs)->space_name, what);
}

enum stax_status rows_to_space(const struct batch *batch, const int *rows, uint64_t count,
                               struct arena *arena, struct space **out)
{
    const struct runs_row *run = BATCH_ROWS(batch, runs);
    struct space *space = space_create(run->space_name, arena);
    const char *at = run->definitions;
    struct value list = {0};
    if (at[0] && !json_get_value(&at, arena, &list)) return bad_space(batch, "definitions");
    for (int i = 0; run->definitions[0] && i < list.count; i++) {
        const struct value *pair = &list.items[i];
        if (pair->kind != VALUE_LIST || pair->count != 2 || pair->items[0].kind != VALUE_TEXT) {
            return bad_space(batch, "definitions");
        }
        STAX_TRY(space_define(space, pair->items[0].text, pair->items[1]));
    }
    const struct params_row *param = BATCH_ROWS(batch, params);
    for (uint64_t i = 0; i < batch->count[TABLE_params]; i++, param++) {
        at = param->values;
        if (!json_get_value(&at, arena, &list) || list.kind != VALUE_LIST ||
            list.count != param->values_count) {
            return bad_space(batch, param->name);
        }
        STAX_TRY(space_add_values(space, param->name, list.items, list.count, !param->ordered));
    }
    at = run->constraints;
    if (at[0] && (!json_get_value(&at, arena, &list) || list.kind != VALUE_LIST))
        return bad_space(batch, "constraints");
    for (int i = 0; run->constraints[0] && i < list.count; i++) {
        if (list.items[i].kind != VALUE_TEXT) return bad_space(batch, "constraints");
        STAX_TRY(space_add_constraint(space, list.items[i].text));
    }
    if (rows) STAX_TRY(space_restrict_to(space, rows, count));
    STAX_TRY(space_finish(space));
    *out = space;
    return STAX_OK;
}

struct hash128 rows_context(const struct device_info *device, const char *protocol, uint64_t seed)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    const char *uuid = text_or_empty(device->uuid);
    text_put_u32(&text, (uint32_t)device->kind);
    text_put_string(&text, uuid[0] ? uuid : text_or_empty(device->name));
    text_put_string(&text, text_or_empty(device->driver));
    text_put_string(&text, text_or_empty(device->compiler));
    text_put_u32(&text, (uint32_t)device->processors);
    text_put_string(&text, text_or_empty(protocol));
    text_put_u64(&text, seed);
    struct hash128 hash = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return hash;
}
