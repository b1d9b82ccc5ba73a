#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/stats.h"
#include "results/import.h"
#include "results/results.h"
#include "tests/support/recorded.h"

struct recorded recorded_ours(const char *kernel, struct arena *arena)
{
    const char *folder = getenv("STAX_SOURCE_DIR");
    char *path = arena_printf(arena, "%s/tests/data/h200_%s.h5", folder ? folder : ".", kernel);
    struct replay *replay;
    assert_int_equal(replay_open(path, arena, &replay), STAX_OK);
    const struct space *space = replay_space(replay);
    uint64_t count = space_count(space);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, count);
    for (uint64_t i = 0; i < count; i++) {
        struct hash128 hash = space_config_hash(space, i);
        struct trial trial;
        assert_int_equal(replay_trial(replay, &hash, FIDELITY_AUTO, 0, arena, &trial), STAX_OK);
        config[i] = (struct recorded_config){trial.outcome,         trial_time_ns(&trial),
                                             trial.compile.seconds, trial.measure_s,
                                             trial.samples,         trial.span_ns};
    }
    return (struct recorded){kernel, space, config};
}

struct recorded recorded_published(const char *name, bool medians, struct arena *arena)
{
    char *path = arena_printf(arena, "%s/%s.json.gz", getenv("STAX_SPACES_DIR"), name);
    struct recording *recording;
    assert_int_equal(import_recording(path, arena, &recording), STAX_OK);
    struct recorded_config *config = ARENA_ARRAY(arena, struct recorded_config, recording->rows);
    for (uint64_t i = 0; i < recording->rows; i++) {
        const struct recording_row *row = &recording->row[i];
        double time = row->time_ns;
        if (medians && row->samples) time = stats_median(row->sample_ns, row->samples);
        config[i] = (struct recorded_config){
            row->outcome,     time,         row->compile_s + row->verify_s + row->overhead_s,
            row->benchmark_s, row->samples, row->sample_ns};
    }
    return (struct recorded){name, recording->space, config};
}
