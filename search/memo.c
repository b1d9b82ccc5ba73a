/* What was asked and told, once a configuration, in the order first asked. */
#include <math.h>

#include "search/strategy.h"

enum { FIRST_RECORDS = 64 };

struct memo memo_make(struct arena *arena)
{
    return (struct memo){.index = table_make(arena), .best = -1};
}

int memo_find(const struct memo *memo, uint64_t config)
{
    uint64_t at;
    return table_get(&memo->index, config, &at) ? (int)at : -1;
}

int memo_add(struct memo *memo, uint64_t config)
{
    int at = memo_find(memo, config);
    if (at >= 0) return at;
    if (memo->count == memo->capacity) {
        int capacity = memo->capacity ? 2 * memo->capacity : FIRST_RECORDS;
        memo->record = arena_grow(memo->index.arena, memo->record, (size_t)memo->count,
                                  (size_t)capacity, sizeof *memo->record);
        memo->capacity = capacity;
    }
    at = memo->count++;
    memo->record[at] = (struct record){
        .config = config, .time_ns = INFINITY, .noise = NAN, .outcome = OUTCOME_SKIPPED};
    table_put(&memo->index, config, (uint64_t)at);
    return at;
}

/* A best that got slower by re-measuring may no longer be the best, so all are looked at then. */
static void find_best(struct memo *memo)
{
    memo->best = -1;
    for (int i = 0; i < memo->count; i++) {
        double best = memo->best < 0 ? INFINITY : memo->record[memo->best].time_ns;
        if (memo->record[i].time_ns < best) memo->best = i;
    }
}

void memo_tell(struct memo *memo, const struct ask *ask, const struct trial *trial)
{
    int at = memo_add(memo, ask->config);
    struct record *record = &memo->record[at];
    double before = record->time_ns;
    record->time_ns = trial_time_ns(trial);
    if (!(record->time_ns > 0))
        record->time_ns = INFINITY; /* nothing takes no time: such a trial must never attract */
    record->outcome = trial->outcome;
    record->samples = trial->samples;
    memo->told += record->tells == 0;
    record->tells++;
    record->noise = NAN;
    if (isfinite(record->time_ns) && trial->samples >= 2) {
        struct summary summary = stats_summary(trial->span_ns, trial->samples, 0.95);
        record->noise = (summary.high - summary.low) / 2 / summary.median;
    }
    if (at == memo->best && record->time_ns > before) {
        find_best(memo);
        return;
    }
    double best = memo->best < 0 ? INFINITY : memo->record[memo->best].time_ns;
    if (record->time_ns < best || (record->time_ns == best && at < memo->best)) memo->best = at;
}

double memo_time(const struct memo *memo, uint64_t config)
{
    int at = memo_find(memo, config);
    return at < 0 ? INFINITY : memo->record[at].time_ns;
}
