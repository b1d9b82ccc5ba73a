/* Copies of a database; see copy.h. */
#include "results/copy.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "results/db.h"

static enum stax_status copy_run(struct h5file *source, struct h5file *target, uint64_t run, struct copy_report *report)
{
    struct arena *scratch = arena_create();
    struct batch batch;
    enum stax_status status = h5_read_run(source, run, scratch, &batch);
    if (status == STAX_OK) {
        status = h5_append(target, &batch);
        if (report && status == STAX_OK) report->copied++;
    } else if (report) {
        log_write(LOG_WARNING, "run %llu is left out: %s", (unsigned long long)run, status_message());
        report->damaged++;
        status = STAX_OK;
    }
    arena_destroy(scratch);
    return status;
}

static enum stax_status copy_runs(const char *from, const char *to, struct copy_report *report)
{
    struct h5file *source, *target = NULL;
    STAX_TRY(h5_open(from, false, DB_WAIT_MS, &source));
    enum stax_status status = h5_open(to, true, DB_WAIT_MS, &target);
    for (uint64_t run = 0; status == STAX_OK && run < source->rows[TABLE_runs]; run++) {
        status = copy_run(source, target, run, report);
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", status_message());
    enum stax_status closed = h5_close(target);
    h5_close(source);
    return status != STAX_OK ? status_set(status, "%s", why) : closed;
}

enum stax_status copy_file(const char *from, const char *to, bool finalised, struct copy_report *report)
{
    STAX_TRY(h5_create(to, finalised));
    enum stax_status status = copy_runs(from, to, report);
    if (status != STAX_OK) unlink(to);
    return status;
}
