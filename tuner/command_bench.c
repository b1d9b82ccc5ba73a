/* bench: verifies and times one configuration. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "tuner/tuner.h"

static enum stax_status measure_one(struct setup *setup, uint64_t config,
                                    const struct measure_plan *plan, struct trial *trial)
{
    struct job *job;
    uint64_t ticket = UINT64_MAX;
    STAX_TRY(setup_job(setup, config, setup->arena, &job));
    STAX_TRY(measure_submit(setup->measure, 0, job, plan));
    while (ticket == UINT64_MAX)
        STAX_TRY(measure_next(setup->measure, 0.1, setup->arena, &ticket, trial));
    return STAX_OK;
}

static enum stax_status write_json(stax_tuner *tuner, const struct setup *setup, uint64_t config,
                                   const struct trial *trial, const struct summary *span,
                                   const struct summary *sum)
{
    json_t *root = json_pack(
        "{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:i}", "schema", 1, "kernel", setup->problem, "device",
        setup->device->name, "config", space_config_text(setup->space, config, setup->arena),
        "outcome", outcome_table[trial->outcome].name, "timer", timer_names[trial->timer], "l2",
        l2_names[trial->l2], "verified", trial->verified, "samples", span->n);
    if (span->n) {
        json_object_set_new(root, "time_us", json_real(span->median / 1e3));
        json_object_set_new(root, "ci_us", json_pack("[f,f]", span->low / 1e3, span->high / 1e3));
        json_object_set_new(root, "sum_us", json_real(sum->median / 1e3));
        json_object_set_new(root, "gbps", json_real(setup->bytes / span->median));
    }
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(root);
    enum stax_status status = write_document(tuner, option_text(tuner, OPTION_JSON), text);
    free(text);
    return status;
}

static enum stax_status bench(stax_tuner *tuner, struct setup *setup, struct arena *arena,
                              int *exit_code)
{
    int64_t calls;
    STAX_TRY(option_int(tuner, OPTION_CALLS, 1, 1000000, &calls));
    STAX_TRY(setup_open(tuner, arena, NULL, NULL, setup));
    uint64_t config = setup->candidates.config[0];
    if (option_given(tuner, OPTION_CONFIG))
        STAX_TRY(
            space_parse_config(setup->space, option_text(tuner, OPTION_CONFIG), config, &config));
    int out = option_given(tuner, OPTION_JSON) && option_text(tuner, OPTION_JSON)[0] == '-' ? 2 : 1;
    say(tuner, out, "%s on %s\n%s\n", setup->problem, setup->device->name,
        space_config_text(setup->space, config, arena));
    struct measure_plan plan = {.samples = (int)calls,
                                .verify = true,
                                .adverse = true,
                                .stage = STAGE_BENCH,
                                .config = space_config_hash(setup->space, config)};
    struct trial trial;
    STAX_TRY(measure_one(setup, config, &plan, &trial));
    struct summary span = stats_summary(trial.span_ns, trial.samples, 0.95);
    struct summary sum = stats_summary(trial.sum_ns, trial.samples, 0.95);
    if (trial.outcome != OUTCOME_OK) {
        say(tuner, out, "%s: %s%s%s\n", outcome_table[trial.outcome].name,
            outcome_table[trial.outcome].text, trial.message[0] ? ": " : "", trial.message);
        *exit_code = STAX_EXIT_NOTHING;
    } else {
        if (isnan(trial.error_ratio)) /* no reference ran: every output is empty */
            say(tuner, out, "there is no element to verify\n");
        else
            say(tuner, out, "verified, largest error %.3g of its bound\n", trial.error_ratio);
        say(tuner, out, "span     %s  [%s, %s]  min %s  q1 %s  q3 %s  n %d  timer %s  L2 %s\n",
            time_text(span.median, arena), time_text(span.low, arena), time_text(span.high, arena),
            time_text(span.min, arena), time_text(span.q1, arena), time_text(span.q3, arena),
            span.n, timer_names[trial.timer], l2_names[trial.l2]);
        say(tuner, out, "kernels  %s in sum\n", time_text(sum.median, arena));
        double bytes_s = setup->bytes / (span.median * 1e-9), copy = setup->device->copy_bytes_s;
        if (isfinite(bytes_s)) {
            say(tuner, out, "rate     %.1f GB/s", bytes_s / 1e9);
            if (copy > 0) say(tuner, out, "  %.1f %% of copy bandwidth", 100 * bytes_s / copy);
            say(tuner, out, "\n");
        }
        if (trial.compile.registers >= 0) /* -1 on devices whose compiler does not tell */
            say(tuner, out, "registers %d  shared %lld B  spills %lld B\n", trial.compile.registers,
                (long long)trial.compile.shared_bytes, (long long)trial.compile.spill_bytes);
        say(tuner, out, "compile  %.3f s%s\n", trial.compile.seconds,
            trial.compile.cached ? " (cached)" : "");
    }
    return option_given(tuner, OPTION_JSON) ? write_json(tuner, setup, config, &trial, &span, &sum)
                                            : STAX_OK;
}

enum stax_status command_bench(stax_tuner *tuner, int count, const char *const *arguments,
                               int *exit_code)
{
    if (count)
        STAX_RETURN(STAX_USAGE, "unexpected argument %s; name the kernel with --kernel",
                    arguments[0]);
    struct arena *arena = arena_create();
    struct setup setup = {0};
    enum stax_status status = bench(tuner, &setup, arena, exit_code);
    setup_close(&setup);
    arena_destroy(arena);
    return status;
}
