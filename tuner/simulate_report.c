/* What a simulation found, for programs and for people. */
#include <math.h>

#include "base/text.h"
#include "tuner/simulate.h"

static void json_number(struct text *text, double value)
{
    if (isfinite(value))
        text_printf(text, "%.6g", value);
    else
        text_add(text, "null");
}

static void json_interval(struct text *text, const char *name, const struct simulate_interval *of)
{
    text_printf(text, ", \"%s\": ", name);
    json_number(text, of->value);
    text_printf(text, ", \"%s_ci\": [", name);
    json_number(text, of->low);
    text_add(text, ", ");
    json_number(text, of->high);
    text_add(text, "]");
}

static void json_string(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            text_printf(text, "\\%c", *string);
        else if ((unsigned char)*string < 0x20)
            text_printf(text, "\\u%04x", *string);
        else
            text_add_n(text, string, 1);
    }
    text_add(text, "\"");
}

/* Seconds where costs were recorded; else they are counts of evaluations and no seconds. */
static void json_seconds(struct text *text, const char *name, const struct simulate_interval *of,
                         bool by_evals)
{
    static const struct simulate_interval none = {NAN, NAN, NAN};
    json_interval(text, name, by_evals ? &none : of);
}

static void json_strategy(struct text *text, const struct simulate_result *result, bool by_evals)
{
    text_add(text, "{\"name\": ");
    json_string(text, result->name);
    text_add(text, ", \"settings\": ");
    json_string(text, result->settings);
    json_interval(text, "score", &result->score);
    text_add(text, ", \"score_mean_rank\": ");
    json_number(text, result->score_mean_rank);
    json_interval(text, "hit_target", &result->hit_target);
    json_interval(text, "within_1pct", &result->within_1pct);
    json_interval(text, "within_5pct", &result->within_5pct);
    json_interval(text, "evals_to_1pct", &result->evals_to_1pct);
    json_seconds(text, "seconds_to_1pct", &result->seconds_to_1pct, by_evals);
    json_interval(text, "evals_to_5pct", &result->evals_to_5pct);
    json_seconds(text, "seconds_to_5pct", &result->seconds_to_5pct, by_evals);
    text_add(text, ", \"mean_evals\": ");
    json_number(text, result->mean_evals);
    text_add(text, ", \"mean_launches\": ");
    json_number(text, result->mean_launches);
    text_add(text, ", \"mean_excess\": ");
    json_number(text, result->mean_excess);
    text_add(text, ", \"wall_s\": ");
    json_number(text, result->wall_s);
    text_add(text, ", \"claim\": ");
    if (result->claim)
        json_string(text, result->claim);
    else
        text_add(text, "null");
    text_add(text, "}");
}

const char *simulate_json(const struct simulate_report *report, struct arena *arena)
{
    struct text text = text_make(arena);
    text_add(&text, "{\"space\": ");
    json_string(&text, report->space);
    text_printf(&text, ", \"configs\": %llu, \"valid\": %llu, \"optimum\": ",
                (unsigned long long)report->configs, (unsigned long long)report->valid);
    json_number(&text, report->optimum_ns);
    text_add(&text, ", \"median\": ");
    json_number(&text, report->median_ns);
    text_add(&text, ", \"target\": ");
    json_number(&text, report->target_ns);
    text_add(&text, ", \"budget_s\": ");
    json_number(&text, report->by_evals ? NAN : report->budget_s);
    text_printf(&text, ", \"budget_evals\": %llu, \"repeats\": %d, \"strategies\": [",
                (unsigned long long)report->budget_evals, report->repeats);
    for (int i = 0; i < report->strategies; i++) {
        text_add(&text, i ? ",\n  " : "\n  ");
        json_strategy(&text, &report->strategy[i], report->by_evals);
    }
    text_add(&text, "\n]}\n");
    return text_string(&text);
}

const char *simulate_table(const struct simulate_report *report, struct arena *arena)
{
    struct text text = text_make(arena);
    bool unscored = false;
    text_printf(&text, "%s: %llu configurations, %llu ran, best %.6g us, budget ", report->space,
                (unsigned long long)report->configs, (unsigned long long)report->valid,
                report->optimum_ns / 1e3);
    if (!report->by_evals) text_printf(&text, "%.4g s (", report->budget_s);
    text_printf(&text, "%llu evaluations of random search%s, %d repeats\n",
                (unsigned long long)report->budget_evals, report->by_evals ? "" : ")",
                report->repeats);
    if (report->by_evals)
        text_add(&text, "no compile or run times were recorded: the budget and the score count "
                        "evaluations, not seconds\n");
    text_printf(&text, "%-28s %22s %8s %8s %8s %10s %10s %8s\n", "strategy", "score (95 %)",
                "target", "in 1 %", "in 5 %", "evals 1 %", "s to 1 %", "evals");
    for (int i = 0; i < report->strategies; i++) {
        const struct simulate_result *r = &report->strategy[i];
        text_printf(&text, "%-28s ", r->name);
        if (isnan(r->score.value))
            text_printf(&text, "%23s", "-");
        else
            text_printf(&text, "%7.3f [%6.3f,%6.3f]", r->score.value, r->score.low, r->score.high);
        text_printf(&text, " %8.2f %8.2f %8.2f ", r->hit_target.value, r->within_1pct.value,
                    r->within_5pct.value);
        if (isnan(r->evals_to_1pct.value))
            text_printf(&text, "%10s %10s", "-", "-");
        else if (report->by_evals)
            text_printf(&text, "%10.0f %10s", r->evals_to_1pct.value, "-");
        else
            text_printf(&text, "%10.0f %10.0f", r->evals_to_1pct.value, r->seconds_to_1pct.value);
        text_printf(&text, " %8.0f\n", r->mean_evals);
        unscored |= isnan(r->score.value);
    }
    if (unscored)
        text_printf(&text, "score -: %s\n",
                    report->no_score ? report->no_score : "no run had an answer in time");
    for (int i = 0; i < report->strategies; i++)
        if (report->strategy[i].claim)
            text_printf(&text, "%s, first run: %s\n", report->strategy[i].name,
                        report->strategy[i].claim);
    return text_string(&text);
}
