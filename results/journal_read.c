/* Reading a journal into a batch; see journal.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "results/journal.h"
#include "results/journal_format.h"

struct journal_reader {
    struct arena *arena;
    struct batch *batch;
    struct journal_report *report;
    struct record_layout layout;
    bool has_layout;
    struct hash128 started; /* job of the last start without its trial */
    const char *started_text;
};

static enum stax_status read_file(const char *path, struct arena *arena,
                                  const unsigned char **bytes, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(errno));
    struct stat info;
    size_t size = fstat(fd, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    unsigned char *buffer = arena_alloc(arena, size + 1);
    size_t done = 0;
    while (done < size) { /* what a live run appends meanwhile is read next time */
        ssize_t got = read(fd, buffer + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int error = errno;
            close(fd);
            STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(error));
        }
        if (got == 0) break;
        done += (size_t)got;
    }
    close(fd);
    *bytes = buffer;
    *length = done;
    return STAX_OK;
}

/* The run record, and at the end the same row again with its result. */
static bool take_run(struct journal_reader *reader, struct reader *payload, bool end)
{
    struct batch *batch = reader->batch;
    if (!end && batch->count[TABLE_runs]) return false;
    while (!payload->bad && payload->at < payload->length) {
        enum record_table table;
        record_unpack(payload, &reader->layout, batch, &table);
        if (payload->bad) return false;
    }
    if (batch->count[TABLE_runs] != (end ? 2u : 1u) || batch->count[TABLE_kernels] != 1)
        return false;
    struct runs_row *run = BATCH_ROWS(batch, runs);
    if (end) {
        run[0] = run[1];
        batch->count[TABLE_runs] = 1;
        reader->report->ended = true;
    }
    return true;
}

static bool take_start(struct journal_reader *reader, struct reader *payload)
{
    reader->started_text = reader_string(payload, reader->arena);
    reader->started.low = reader_u64(payload);
    reader->started.high = reader_u64(payload);
    return !payload->bad && reader->started_text;
}

static bool take_trial(struct journal_reader *reader, struct reader *payload)
{
    struct batch *batch = reader->batch;
    int64_t trial = (int64_t)batch->count[TABLE_trials];
    int64_t values = (int64_t)batch->count[TABLE_config_values],
            samples = (int64_t)batch->count[TABLE_samples];
    while (!payload->bad && payload->at < payload->length) {
        enum record_table table;
        void *row = record_unpack(payload, &reader->layout, batch, &table);
        if (payload->bad) break;
        if (row && table == TABLE_samples) ((struct samples_row *)row)->trial = trial;
        if (row && table == TABLE_counters) ((struct counters_row *)row)->trial = trial;
        if (row && table == TABLE_config_values) {
            int64_t param = ((struct config_values_row *)row)->param;
            if (param < 0 || param >= (int64_t)batch->count[TABLE_params]) return false;
        }
    }
    if (payload->bad || (int64_t)batch->count[TABLE_trials] != trial + 1) return false;
    struct trials_row *row = BATCH_ROWS(batch, trials) + trial;
    row->run = 0;
    row->values = values;
    row->values_count = (int32_t)((int64_t)batch->count[TABLE_config_values] - values);
    row->samples = samples;
    row->samples_count = (int32_t)((int64_t)batch->count[TABLE_samples] - samples);
    if (hash128_equal(row->job_hash, reader->started)) reader->started_text = NULL;
    return true;
}

static bool take_pair(struct journal_reader *reader, struct reader *payload)
{
    uint64_t before = reader->batch->count[TABLE_pairs];
    enum record_table table;
    struct pairs_row *row = record_unpack(payload, &reader->layout, reader->batch, &table);
    if (!row || reader->batch->count[TABLE_pairs] != before + 1) return false;
    row->run = 0;
    return true;
}

/* False when a record whose checksum holds does not make sense: then nothing of it stays. */
static bool take_record(struct journal_reader *reader, uint32_t kind, const unsigned char *bytes,
                        size_t length)
{
    uint64_t before[TABLE_COUNT];
    memcpy(before, reader->batch->count, sizeof before);
    struct reader payload = {.bytes = bytes, .length = length};
    bool good = false;
    if (kind == JOURNAL_LAYOUT) {
        good = !reader->has_layout &&
               record_layout_get(&payload, reader->arena, &reader->layout) == STAX_OK;
        reader->has_layout = good;
    } else if (reader->has_layout && (kind == JOURNAL_RUN || reader->batch->count[TABLE_runs])) {
        switch (kind) {
        case JOURNAL_RUN: good = take_run(reader, &payload, false); break;
        case JOURNAL_START: good = take_start(reader, &payload); break;
        case JOURNAL_TRIAL: good = take_trial(reader, &payload); break;
        case JOURNAL_PAIR: good = take_pair(reader, &payload); break;
        case JOURNAL_END: good = take_run(reader, &payload, true); break;
        default: good = true; break; /* a kind that a later version added */
        }
    }
    if (!good) memcpy(reader->batch->count, before, sizeof before);
    return good;
}

static const char *read_records(struct journal_reader *reader, const unsigned char *bytes,
                                size_t length)
{
    struct journal_report *report = reader->report;
    if (length < JOURNAL_HEADER_BYTES) return "its header is cut short";
    if (memcmp(bytes, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES)) return "it is not a journal";
    struct reader head = {.bytes = bytes, .length = length, .at = JOURNAL_MAGIC_BYTES};
    uint32_t version = reader_u32(&head);
    if (version != JOURNAL_VERSION) {
        report->newer = version > JOURNAL_VERSION;
        return "it has another version";
    }
    report->valid_bytes = JOURNAL_HEADER_BYTES;
    while (report->valid_bytes < length) {
        head.at = report->valid_bytes;
        uint32_t payload = reader_u32(&head), kind = reader_u32(&head);
        uint64_t check = reader_u64(&head);
        if (head.bad || payload > length - head.at) return "its last record is cut short";
        if (check != journal_check(kind, bytes + head.at, payload, report->records))
            return "a checksum differs";
        if (!take_record(reader, kind, bytes + head.at, payload)) return "a record makes no sense";
        report->records++;
        report->valid_bytes = head.at + payload;
    }
    return NULL;
}

/* Counts and first rows of what the run holds, as a file row needs them. */
static void settle(struct journal_reader *reader)
{
    struct batch *batch = reader->batch;
    if (!batch->count[TABLE_runs]) {
        memset(batch->count, 0, sizeof batch->count);
        return;
    }
    struct runs_row *run = BATCH_ROWS(batch, runs);
    rec_batch_settle(batch);
    if (!reader->report->ended && reader->started_text) run->unfinished = reader->started_text;
}

enum stax_status journal_read(const char *path, struct arena *arena, struct batch *batch,
                              struct journal_report *report)
{
    const unsigned char *bytes = NULL;
    size_t length = 0;
    *batch = rec_batch_make(arena);
    *report = (struct journal_report){0};
    STAX_TRY(read_file(path, arena, &bytes, &length));
    report->file_bytes = length;
    struct journal_reader reader = {.arena = arena, .batch = batch, .report = report};
    report->torn = read_records(&reader, bytes, length);
    settle(&reader);
    return STAX_OK;
}
