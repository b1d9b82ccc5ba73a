/* Opening and closing: what a device spec means here, libraries and limits, folders, ceilings. See
 * measure.h. */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "measure/cache.h"
#include "measure/fill_host.h"
#include "measure/pool.h"

static const double probe_limit_s = 60;           /* chosen: a driver that wakes up takes seconds */
static const double ceilings_limit_s = 60;        /* chosen */
static const int64_t cache_limit_bytes = 1 << 30; /* chosen */
static const double ceilings_age_s = 30 * 86400.; /* chosen: measured again after a month */

struct probed {
    struct device_info info;
    bool timer_ok;
};

static enum stax_status check_spec(const char *spec)
{
    if (strcmp(spec, "auto") == 0 || measure_row_of(spec)) return STAX_OK;
    STAX_RETURN(STAX_USAGE, "unknown device '%s': use auto, cpu, cuda, cuda:1 or replay:FILE",
                spec);
}

static enum stax_status ask_probe_once(const char *worker, const char *spec, struct arena *arena,
                                       struct probed *probed)
{
    struct process process;
    struct message message;
    const char *const args[] = {"--role=probe", arena_printf(arena, "--device=%s", spec), NULL};
    STAX_TRY(process_start(&process, worker, args));
    enum stax_status status = process_wait(&process, probe_limit_s, MESSAGE_PROBED, &message);
    if (status == STAX_OK) {
        status = device_info_get(&message.body, arena, &probed->info);
        probed->timer_ok = reader_u32(&message.body) != 0;
    }
    process_end(&process, arena, NULL);
    return status;
}

/* A probe that was killed from outside is asked once more; one that says why it failed is not. */
static enum stax_status ask_probe(const char *worker, const char *spec, struct arena *arena,
                                  struct probed *probed)
{
    enum stax_status status = ask_probe_once(worker, spec, arena, probed);
    return status == STAX_IO ? ask_probe_once(worker, spec, arena, probed) : status;
}

static enum stax_status probe(const struct measure_options *options, struct arena *arena,
                              struct probed *probed, const char **worker)
{
    const char *spec = options->device ? options->device : "auto";
    STAX_TRY(check_spec(spec));
    const struct measure_row *row = measure_row_of(spec);
    if (row && row->replay) {
        if (!options->recorded || !options->lookup)
            STAX_RETURN(STAX_USAGE, "%s holds no recorded device", spec);
        *probed = (struct probed){.info = *options->recorded, .timer_ok = true};
        *worker = "";
        return STAX_OK;
    }
    STAX_TRY(process_find_worker(options->worker, arena, worker));
    return ask_probe(*worker, spec, arena, probed);
}

enum stax_status measure_probe(const struct measure_options *options, struct arena *arena,
                               struct device_info *info)
{
    struct probed probed;
    const char *worker;
    STAX_TRY(probe(options, arena, &probed, &worker));
    *info = probed.info;
    return STAX_OK;
}

static bool kept_ceilings(const char *cache, struct device_info *info, struct arena *arena);

/* Ceilings that were measured before, of the devices that are here. */
static const char *describe_ceilings(const struct measure_options *options, struct arena *arena)
{
    static const char *const specs[] = {"cuda", "cpu"};
    struct text text = text_make(arena);
    const char *cache = options->cache_dir ? options->cache_dir : cache_default_folder(arena);
    for (size_t i = 0; i < STAX_COUNT(specs); i++) {
        struct measure_options one = *options;
        struct device_info info;
        one.device = specs[i];
        if (measure_probe(&one, arena, &info) == STAX_OK && kept_ceilings(cache, &info, arena))
            text_printf(&text, "ceilings    %s: copy %.0f GB/s, read %.0f GB/s\n", info.spec,
                        info.copy_bytes_s / 1e9, info.read_bytes_s / 1e9);
    }
    return text_string(&text);
}

enum stax_status measure_doctor(const struct measure_options *options, struct arena *arena,
                                const char **text)
{
    const char *worker;
    struct process process;
    struct message message;
    STAX_TRY(process_find_worker(options->worker, arena, &worker));
    const char *const args[] = {"--role=doctor", NULL};
    STAX_TRY(process_start(&process, worker, args));
    enum stax_status status = process_wait(&process, probe_limit_s, MESSAGE_DOCTOR, &message);
    if (status == STAX_OK) {
        const char *lines = reader_string(&message.body, arena);
        *text = arena_printf(arena, "worker      %s\n%s%s", worker, lines ? lines : "",
                             describe_ceilings(options, arena));
    }
    process_end(&process, arena, NULL);
    return status;
}

static enum stax_status make_folders(struct measure *measure)
{
    STAX_TRY(folder_make_temporary(measure->arena, &measure->temp));
    const char *wanted = measure->options.cache_dir;
    measure->cache = wanted ? wanted : cache_default_folder(measure->arena);
    if (measure->cache[0]) {
        measure->compiled = arena_printf(measure->arena, "%s/compiled", measure->cache);
        if (cache_make_folder(measure->compiled) == STAX_OK &&
            access(measure->compiled, W_OK) == 0) {
            cache_prune(measure->compiled, cache_limit_bytes);
            return STAX_OK;
        }
        log_write(LOG_WARNING, "compiled programs are not kept: %s cannot be written",
                  measure->compiled);
    }
    measure->cache = "";
    measure->compiled = measure->temp;
    return STAX_OK;
}

static const char *ceilings_path(const char *cache, const struct device_info *info,
                                 struct arena *arena)
{
    if (!cache[0]) return NULL;
    const char *name = arena_printf(arena, "%s %s", info->uuid, info->driver);
    return cache_path(arena, cache, hash128_bytes(name, strlen(name)), ".ceilings");
}

static bool kept_ceilings(const char *cache, struct device_info *info, struct arena *arena)
{
    const void *bytes;
    size_t length;
    const char *path = ceilings_path(cache, info, arena);
    if (!path || cache_read(path, arena, &bytes, &length) != STAX_OK) return false;
    struct reader reader = {.bytes = bytes, .length = length};
    double copy = reader_f64(&reader), read = reader_f64(&reader), date = reader_f64(&reader);
    if (reader.bad || !(copy > 0) || !(read > 0) || (double)time(NULL) - date > ceilings_age_s)
        return false;
    info->copy_bytes_s = copy;
    info->read_bytes_s = read;
    return true;
}

/* What this device's memory can do, measured once: the roof of every report and the floor of every
 * time. */
static enum stax_status find_ceilings(struct measure *measure)
{
    struct measure_worker *bench = &measure->bench;
    const char *path = ceilings_path(measure->cache, &measure->info, measure->arena);
    if (kept_ceilings(measure->cache, &measure->info, measure->arena)) return STAX_OK;
    STAX_TRY(side_start(measure));
    STAX_TRY(channel_send(&bench->process.channel, MESSAGE_CALIBRATE, NULL));
    bench->calibrating = true;
    bench->deadline_s = measure_clock_s() + ceilings_limit_s;
    while (bench->calibrating) STAX_TRY(pool_step(measure, 1.0));
    if (!(bench->copy_bytes_s > 0)) return STAX_OK;
    measure->info.copy_bytes_s = bench->copy_bytes_s;
    measure->info.read_bytes_s = bench->read_bytes_s;
    /* The worker that measured them learns them like any later one: from its arguments. */
    process_end(&bench->process, measure->arena, NULL);
    struct text text = text_make(measure->arena);
    text_put_f64(&text, bench->copy_bytes_s);
    text_put_f64(&text, bench->read_bytes_s);
    text_put_f64(&text, (double)time(NULL));
    if (path && cache_write(path, text.bytes, text.length) != STAX_OK)
        log_write(LOG_WARNING, "the memory's ceilings are not kept: %s", status_message());
    return STAX_OK;
}

static enum stax_status choose_timer(struct measure *measure, bool timer_ok)
{
    enum timer wanted = measure->options.timer;
    enum timer usual = measure->row->timer;
    measure->timer = wanted == TIMER_COUNT ? usual : wanted;
    if (measure->row->replay) {
        measure->timer = TIMER_RECORDED;
        return STAX_OK;
    }
    bool on_host = measure->row->kind == DEVICE_CPU;
    if (on_host ? measure->timer != TIMER_HOST
                : measure->timer != TIMER_CUPTI && measure->timer != TIMER_EVENT)
        STAX_RETURN(STAX_USAGE, "%s cannot time with '%s': use %s", measure->info.spec,
                    timer_names[measure->timer], on_host ? "host" : "cupti or event");
    if (timer_ok || measure->timer != usual) return STAX_OK;
    if (wanted == usual)
        STAX_RETURN(STAX_UNSUPPORTED, "%s (--timer event is coarser and needs none)",
                    measure->info.timer_note);
    log_write(LOG_WARNING,
              "timing with CUDA events, which read short kernels several times too long: %s",
              measure->info.timer_note);
    measure->timer = TIMER_EVENT;
    return STAX_OK;
}

static void set_defaults(struct measure *measure)
{
    struct measure_options *options = &measure->options;
    if (options->time_limit_s <= 0) options->time_limit_s = default_time_limit_s;
    if (options->compile_limit_s <= 0) options->compile_limit_s = default_compile_limit_s;
    int processors = host_threads();
    int workers = options->compile_workers;
    if (workers <= 0) workers = measure->row->kind == DEVICE_CPU ? processors / 2 : processors;
    if (workers < 1) workers = 1;
    if (workers > MAX_COMPILE_WORKERS) workers = MAX_COMPILE_WORKERS;
    measure->compile_count = workers;
    measure->l2 = options->l2 == L2_COUNT ? measure->row->l2 : options->l2;
    static const char *const treatments[L2_COUNT] = {"read-2xL2", "write-256MB", "none"};
    measure->protocol = arena_printf(measure->arena, "%s %s %s v1", timer_names[measure->timer],
                                     l2_names[measure->l2], treatments[measure->l2]);
}

static enum stax_status open_all(struct measure *measure)
{
    struct probed probed;
    STAX_TRY(probe(&measure->options, measure->arena, &probed, &measure->worker));
    measure->info = probed.info;
    const char *spec = measure->options.device ? measure->options.device : "auto";
    measure->row = measure_row_of(strcmp(spec, "auto") == 0 ? probed.info.spec : spec);
    STAX_TRY(choose_timer(measure, probed.timer_ok));
    set_defaults(measure);
    if (measure->row->replay) return STAX_OK;
    STAX_TRY(make_folders(measure));
    return find_ceilings(measure);
}

enum stax_status measure_open(const struct measure_options *options, struct arena *arena,
                              struct measure **result)
{
    struct measure *measure = ARENA_NEW(arena, struct measure);
    *measure = (struct measure){
        .arena = arena, .options = *options, .temp = "", .cache = "", .compiled = ""};
    measure->last = &measure->first;
    measure->queue_last = &measure->queue_first;
    enum stax_status status = open_all(measure);
    if (status != STAX_OK) {
        measure_close(measure);
        return status;
    }
    *result = measure;
    return STAX_OK;
}

void measure_close(struct measure *measure)
{
    if (!measure) return;
    struct arena *scratch = arena_create();
    for (int i = 0; i < measure->compile_count; i++)
        process_end(&measure->compile[i].process, scratch, NULL);
    process_end(&measure->bench.process, scratch, NULL);
    while (measure->first) pool_free_task(measure, measure->first);
    for (int i = 0; i < TABLE_BUCKETS; i++) {
        for (struct unit *unit = measure->units[i]; unit; unit = unit->next)
            arena_destroy(unit->arena);
        for (struct twin *twin = measure->twins[i]; twin; twin = twin->next)
            arena_destroy(twin->arena);
    }
    if (measure->temp[0]) folder_remove(measure->temp);
    *measure = (struct measure){.arena = measure->arena, .temp = ""};
    arena_destroy(scratch);
}

const struct device_info *measure_device(const struct measure *measure)
{
    return &measure->info;
}

enum timer measure_timer(const struct measure *measure)
{
    return measure->timer;
}

enum l2_mode measure_l2(const struct measure *measure)
{
    return measure->l2;
}

const char *measure_protocol(const struct measure *measure)
{
    return measure->protocol;
}
