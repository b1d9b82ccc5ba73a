/* Roles of stax-worker: probe, doctor, compile, measure. Each reads requests from its socket until
 * that ends.
 *
 * A worker has nothing of its parent but that socket: other descriptors are closed, the parent's
 * death kills it (PR_SET_PDEATHSIG, and end of file where the parent dies before that is set), keys
 * that interrupt the session do not reach it. What it writes to stderr is kept by the session as
 * the last words of a worker that dies. */
#include "measure/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "build_id.h"
#include "measure/bench.h"
#include "measure/compile.h"
#include "measure/fault.h"
#include "measure/lock.h"

struct worker_options {
    const char *build, *role, *device, *timer, *l2, *cache, *temp, *parent;
};

struct worker_self {
    struct worker_options options;
    struct channel channel;
    struct arena *arena; /* the process's */
};

static enum stax_status say(struct worker_self *self, enum message_kind kind, struct text *body)
{
    return channel_send(&self->channel, kind, body);
}

static void log_to_session(void *data, enum log_level level, const char *line)
{
    struct worker_self *self = data;
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_u32(&text, (uint32_t)level);
    text_put_string(&text, line);
    say(self, MESSAGE_LOG, &text);
    arena_destroy(scratch);
}

static int fail(struct worker_self *self, enum stax_status status)
{
    struct text text = text_make(self->arena);
    text_put_u32(&text, (uint32_t)status);
    text_put_string(&text, status_message());
    say(self, MESSAGE_FAILED, &text);
    return 1;
}

static void say_phase(void *data, enum phase phase, int index)
{
    struct worker_self *self = data;
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_u32(&text, (uint32_t)phase);
    text_put_u32(&text, (uint32_t)index);
    say(self, MESSAGE_PHASE, &text);
    arena_destroy(scratch);
}

static int find_name(const char *const *names, int count, const char *name, int otherwise)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return i;
    }
    return otherwise;
}

static void backend_options_of(const struct worker_options *options, struct backend_options *to)
{
    *to = (struct backend_options){
        .spec = options->device,
        .timer = (enum timer)find_name(timer_names, TIMER_COUNT, options->timer, TIMER_COUNT),
        .l2 = (enum l2_mode)find_name(l2_names, L2_COUNT, options->l2, L2_COUNT),
        .cache_folder = options->cache,
        .temp_folder = options->temp,
    };
}

static enum device_kind kind_of(const char *spec)
{
    return strncmp(spec, "cuda", 4) == 0 ? DEVICE_CUDA : DEVICE_CPU;
}

static int run_probe(struct worker_self *self)
{
    struct backend_options options;
    struct device_info info;
    bool timer_ok = false;
    backend_options_of(&self->options, &options);
    enum stax_status status = STAX_OK;
    fault_point("probe", self->channel.fd);
    if (strcmp(options.spec, "auto") == 0) {
        options.spec = "cuda:0";
        status = backend_cuda.probe(&options, self->arena, &info, &timer_ok);
        if (status != STAX_OK) {
            log_write(LOG_DEBUG, "no CUDA device: %s", status_message());
            options.spec = "cpu";
            status = backend_cpu.probe(&options, self->arena, &info, &timer_ok);
        }
    } else {
        status = backend_of(kind_of(options.spec))->probe(&options, self->arena, &info, &timer_ok);
    }
    if (status != STAX_OK) return fail(self, status);
    struct text text = text_make(self->arena);
    device_info_put(&text, &info);
    text_put_u32(&text, timer_ok);
    say(self, MESSAGE_PROBED, &text);
    return 0;
}

static int run_doctor(struct worker_self *self)
{
    struct text lines = text_make(self->arena), text = text_make(self->arena);
    backend_cuda.describe(&lines, self->arena);
    backend_cpu.describe(&lines, self->arena);
    text_put_string(&text, text_string(&lines));
    say(self, MESSAGE_DOCTOR, &text);
    return 0;
}

static enum stax_status compile_one(struct worker_self *self, struct message *message,
                                    const char *folder, struct arena *arena)
{
    struct compile_request request;
    struct compile_result result;
    STAX_TRY(compile_request_get(&message->body, arena, &request));
    const struct compiler *compiler = compiler_of(kind_of(self->options.device));
    STAX_TRY(compiler->compile(&request, folder, arena, &result));
    struct text reply = text_make(arena);
    if (result.outcome == OUTCOME_OK && !request.assembly) {
        struct artifact artifact = {result.binary, result.length, result.facts, result.log};
        artifact.facts.binary = hash128_bytes(result.binary, result.length);
        STAX_TRY(artifact_write(request.path, &artifact));
    }
    text_put_u32(&reply, (uint32_t)result.outcome);
    text_put_string(&reply, result.message);
    text_put_string(&reply, result.log);
    text_put_string(&reply, request.assembly && result.binary
                                ? arena_text_n(arena, (const char *)result.binary, result.length)
                                : "");
    return say(self, MESSAGE_COMPILED, &reply);
}

static int run_compile(struct worker_self *self)
{
    struct message message;
    const char *folder = arena_printf(self->arena, "%s/cc-%d", self->options.temp, (int)getpid());
    if (cache_make_folder(folder) != STAX_OK) return fail(self, STAX_IO);
    struct arena *arena = arena_create();
    while (channel_wait(&self->channel, -1, &message) == STAX_OK) {
        arena_reset(arena);
        if (message.kind != MESSAGE_COMPILE) break;
        fault_point("compile", self->channel.fd);
        enum stax_status status = compile_one(self, &message, folder, arena);
        if (status != STAX_OK) return fail(self, status);
    }
    arena_destroy(arena);
    return 0;
}

/* Two sessions may share a device, but only one works on it at a time. The host is not locked:
 * cores are many. */
static bool take_turn(struct worker_self *self, const struct device_info *info,
                      struct device_lock *lock)
{
    if (info->kind != DEVICE_CUDA) return true;
    if (lock_take(lock, info->uuid, false)) return true;
    say_phase(self, PHASE_WAIT, 0);
    return lock_take(lock, info->uuid, true);
}

static enum stax_status measure_request(struct worker_self *self, struct bench *bench,
                                        struct message *message, struct arena *arena,
                                        enum worker_end *end)
{
    struct measure_request request;
    STAX_TRY(measure_request_get(&message->body, arena, &request));
    struct device_lock lock = {-1, -1};
    if (!take_turn(self, bench->info, &lock))
        STAX_RETURN(STAX_IO,
                    "cannot lock the device: no lock file can be made in the temporary folder");
    struct trial *trials = ARENA_ARRAY(arena, struct trial, request.entries);
    bool spent = false;
    bench_measure(bench, &request, arena, trials, &spent);
    *end = spent ? WORKER_SPENT : bench->ops->worn(bench->backend) ? WORKER_WORN : WORKER_STAYS;
    lock_release(&lock);
    struct text text = text_make(arena);
    text_put_u32(&text, (uint32_t)*end);
    for (int i = 0; i < request.entries; i++) trial_put(&text, &trials[i]);
    return say(self, MESSAGE_MEASURED, &text);
}

static enum stax_status calibrate(struct worker_self *self, struct bench *bench,
                                  struct arena *arena)
{
    struct verdict verdict = {0};
    struct device_lock lock = {-1, -1};
    double copy = 0, read = 0;
    if (take_turn(self, bench->info, &lock)) {
        bench->phase(bench->data, PHASE_REFERENCE, 0);
        if (!bench->ops->ceilings(bench->backend, &copy, &read, &verdict))
            log_write(LOG_WARNING, "the memory's ceilings could not be measured: %s",
                      verdict.message);
        lock_release(&lock);
    }
    struct text text = text_make(arena);
    text_put_f64(&text, copy);
    text_put_f64(&text, read);
    bench->settled = false;
    return say(self, MESSAGE_CALIBRATED, &text);
}

static enum stax_status measure_loop(struct worker_self *self, struct bench *bench)
{
    struct message message;
    struct arena *arena = arena_create();
    enum stax_status status = STAX_OK;
    enum worker_end end = WORKER_STAYS;
    while (status == STAX_OK && end == WORKER_STAYS &&
           channel_wait(&self->channel, -1, &message) == STAX_OK) {
        arena_reset(arena);
        fault_point("measure", self->channel.fd);
        if (message.kind == MESSAGE_CALIBRATE)
            status = calibrate(self, bench, arena);
        else if (message.kind == MESSAGE_MEASURE)
            status = measure_request(self, bench, &message, arena, &end);
        else
            status = status_set(STAX_FORMAT, "a measure worker got message %d", (int)message.kind);
    }
    /* A poisoned context can hang on the way out; the session is told, and the process just ends.
     */
    if (end != WORKER_STAYS) _exit(0);
    arena_destroy(arena);
    return status;
}

/* The ceilings are known to the session; they reach the worker through its arguments' device,
 * measured or kept. */
static int run_measure(struct worker_self *self, double read_bytes_s)
{
    struct backend_options options;
    struct device_info info;
    backend_options_of(&self->options, &options);
    const struct backend_ops *ops = backend_of(kind_of(options.spec));
    struct bench bench = {
        .ops = ops, .options = &options, .info = &info, .phase = say_phase, .data = self};
    enum stax_status status = ops->open(&options, self->arena, &info, &bench.backend);
    if (status != STAX_OK) return fail(self, status);
    info.read_bytes_s = read_bytes_s;
    bench.store = store_create(ops, bench.backend, info.memory_bytes / 2, self->arena);
    status = measure_loop(self, &bench);
    if (status != STAX_OK) return fail(self, status);
    store_clear(bench.store);
    ops->close(bench.backend);
    return 0;
}

static const char *value_of(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
            return argv[i] + length + 1;
    }
    return "";
}

static void cut_loose(const char *parent)
{
    close_range(WORKER_SOCKET + 1, ~0u, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)atoi(parent)) _exit(0); /* died before the line above */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

int worker_main(int argc, char **argv)
{
    struct worker_self self = {.options = {
                                   .build = value_of(argc, argv, "--build"),
                                   .role = value_of(argc, argv, "--role"),
                                   .device = value_of(argc, argv, "--device"),
                                   .timer = value_of(argc, argv, "--timer"),
                                   .l2 = value_of(argc, argv, "--l2"),
                                   .cache = value_of(argc, argv, "--cache"),
                                   .temp = value_of(argc, argv, "--temp"),
                                   .parent = value_of(argc, argv, "--parent"),
                               }};
    struct stat info;
    if (!self.options.build[0] || fstat(WORKER_SOCKET, &info) != 0 || !S_ISSOCK(info.st_mode)) {
        fprintf(stderr, "stax-worker %s is started by stax-tune and does nothing by itself\n",
                STAX_BUILD_ID);
        return 2;
    }
    cut_loose(self.options.parent);
    self.arena = arena_create();
    self.channel = channel_make(WORKER_SOCKET, self.arena);
    struct text hello = text_make(self.arena);
    text_put_string(&hello, STAX_BUILD_ID);
    say(&self, MESSAGE_HELLO, &hello);
    if (strcmp(self.options.build, STAX_BUILD_ID) != 0)
        return 2; /* the session says so, from HELLO */
    log_set_sink(log_to_session, &self);
    int code = 2;
    if (strcmp(self.options.role, "probe") == 0) code = run_probe(&self);
    if (strcmp(self.options.role, "doctor") == 0) code = run_doctor(&self);
    if (strcmp(self.options.role, "compile") == 0) code = run_compile(&self);
    if (strcmp(self.options.role, "measure") == 0)
        code = run_measure(&self, atof(value_of(argc, argv, "--read-ceiling")));
    log_set_sink(NULL, NULL);
    arena_destroy(self.arena);
    return code;
}
