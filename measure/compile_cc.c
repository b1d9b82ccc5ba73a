/* The host's C compiler: C11 with OpenMP to a shared object.
 *
 * $CC, cc, gcc or clang is started without a shell, in a folder of the worker's own, with files of
 * fixed names, so that the same source gives the same bytes. -march=native is what is compiled for;
 * its resolved meaning is part of the identity, because two hosts may share a cache. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/cache.h"
#include "measure/compile.h"

extern char **environ;

enum { MAX_ARGS = 64, KEPT_LOG_BYTES = 16384 }; /* chosen */

struct command {
    const char *argv[MAX_ARGS];
    int argc;
};

static void add(struct command *command, const char *word)
{
    STAX_CHECK(command->argc < MAX_ARGS - 1);
    command->argv[command->argc++] = word;
}

/* Adds the words of a line; a compiler and its options hold no blanks of their own here. */
static void add_words(struct command *command, const char *line, struct arena *arena)
{
    char *words = arena_text(arena, line);
    char *rest = NULL;
    for (char *word = strtok_r(words, " \t\n", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest)) {
        if (command->argc < MAX_ARGS - 16) add(command, word);
    }
}

static const char *read_output(int fd, struct arena *arena)
{
    off_t length = lseek(fd, 0, SEEK_END);
    if (length < 0) length = 0;
    if (length > KEPT_LOG_BYTES) length = KEPT_LOG_BYTES;
    char *text = arena_alloc(arena, (size_t)length + 1);
    ssize_t got = pread(fd, text, (size_t)length, 0);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

/* Runs a command to its end; its output and errors together in *output. *code: exit status, 128 +
 * signal. */
static enum stax_status run(struct command *command, const char *folder, struct arena *arena,
                            const char **output, int *code)
{
    int out = memfd_create("stax-cc", MFD_CLOEXEC);
    if (out < 0) STAX_RETURN(STAX_IO, "cannot make a file in memory: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
    command->argv[command->argc] = NULL;
    pid_t pid;
    int error = posix_spawnp(&pid, command->argv[0], &actions, NULL, (char *const *)command->argv,
                             environ);
    posix_spawn_file_actions_destroy(&actions);
    int state = 0;
    if (error == 0) {
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
        *output = read_output(out, arena);
        *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }
    close(out);
    if (error != 0)
        STAX_RETURN(STAX_NOTFOUND, "cannot run %s: %s", command->argv[0], strerror(error));
    return STAX_OK;
}

struct host_compiler {
    const char *start; /* the command's first words */
    const char *version;
    const char *native; /* what -march=native turned into */
    const char *arch;
    bool openmp;
};

/* What -march=native means, from the driver's own words (-###): every word that is no path. gcc
 * prints -march=znver3 -mno-sse4a ..., clang "-target-cpu" "znver3" "-target-feature" "+avx2" ....
 */
static void read_native(struct host_compiler *cc, const char *output, struct arena *arena)
{
    struct text kept = text_make(arena);
    char *rest = NULL, *previous = "";
    cc->arch = "native";
    for (char *word = strtok_r(arena_text(arena, output), " \"\n", &rest); word;
         word = strtok_r(NULL, " \"\n", &rest)) {
        if (strncmp(word, "-march=", 7) == 0 && strcmp(word + 7, "native") != 0)
            cc->arch = word + 7;
        if (strcmp(previous, "-target-cpu") == 0) cc->arch = word;
        previous = word;
        if (!strchr(word, '/') && (word[0] == '-' || word[0] == '+'))
            text_printf(&kept, "%s ", word);
    }
    cc->native = text_string(&kept);
}

/* Whether OpenMP compiles and links: clang without its run-time library does not. */
static bool try_openmp(const struct host_compiler *cc, struct arena *arena)
{
    struct command command = {0};
    add_words(&command, cc->start, arena);
    static const char *const options[] = {"-fopenmp", "-shared",   "-fPIC", "-x", "c",
                                          "-o",       "/dev/null", "-",     NULL};
    for (int i = 0; options[i]; i++) add(&command, options[i]);
    const char *output;
    int code;
    return run(&command, NULL, arena, &output, &code) == STAX_OK && code == 0;
}

static bool try_compiler(const char *start, struct arena *arena, struct host_compiler *cc)
{
    struct command version = {0}, native = {0};
    const char *output;
    int code;
    *cc = (struct host_compiler){.start = start};
    add_words(&version, start, arena);
    if (version.argc == 0) return false;
    add(&version, "--version");
    if (run(&version, NULL, arena, &output, &code) != STAX_OK || code != 0) return false;
    cc->version = arena_text_n(arena, output, strcspn(output, "\n"));
    add_words(&native, start, arena);
    static const char *const options[] = {"-march=native", "-###", "-x", "c", "-c",
                                          "/dev/null",     NULL};
    for (int i = 0; options[i]; i++) add(&native, options[i]);
    if (run(&native, NULL, arena, &output, &code) != STAX_OK || code != 0) return false;
    read_native(cc, output, arena);
    cc->openmp = try_openmp(cc, arena);
    return true;
}

static enum stax_status find_compiler(struct arena *arena, struct host_compiler *cc)
{
    const char *wanted = getenv("CC");
    if (wanted && wanted[0]) {
        if (try_compiler(wanted, arena, cc)) return STAX_OK;
        STAX_RETURN(STAX_UNSUPPORTED,
                    "the C compiler of $CC, '%s', does not run: unset CC or install it", wanted);
    }
    static const char *const names[] = {"cc", "gcc", "clang"};
    for (size_t i = 0; i < STAX_COUNT(names); i++) {
        if (try_compiler(names[i], arena, cc)) return STAX_OK;
    }
    STAX_RETURN(STAX_UNSUPPORTED,
                "no C compiler found (cc, gcc, clang): install gcc or clang, or set CC to one");
}

static enum stax_status identify(struct arena *arena, const char **identity, const char **arch)
{
    struct host_compiler cc;
    STAX_TRY(find_compiler(arena, &cc));
    *arch = cc.arch;
    *identity = arena_printf(arena, "%s (%s%s, %016llx)", cc.version, cc.arch,
                             cc.openmp ? ", OpenMP" : ", no OpenMP",
                             (unsigned long long)hash_string(cc.native));
    return STAX_OK;
}

static enum stax_status write_source(const char *path, const char *source)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot write %s: %s", path, strerror(errno));
    size_t length = strlen(source), at = 0;
    while (at < length) {
        ssize_t wrote = write(fd, source + at, length - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        at += (size_t)wrote;
    }
    close(fd);
    if (at < length) STAX_RETURN(STAX_IO, "cannot write %s: %s", path, strerror(errno));
    return STAX_OK;
}

static enum stax_status read_result(const char *path, struct arena *arena,
                                    struct compile_result *result)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        if (fd >= 0) close(fd);
        STAX_RETURN(STAX_IO, "the compiler left no %s: %s", path, strerror(errno));
    }
    unsigned char *bytes = arena_alloc(arena, (size_t)info.st_size + 1);
    size_t at = 0;
    while (at < (size_t)info.st_size) {
        ssize_t got = read(fd, bytes + at, (size_t)info.st_size - at);
        if (got <= 0) break;
        at += (size_t)got;
    }
    close(fd);
    if (at < (size_t)info.st_size) STAX_RETURN(STAX_IO, "cannot read %s", path);
    result->binary = bytes;
    result->length = at;
    return STAX_OK;
}

/* No errno and no traps: without these no loop that calls a root or compares becomes a vector loop.
 * Rounding is left alone: options of the job decide about it. */
static void put_options(struct command *command, const struct host_compiler *cc,
                        const struct compile_request *request, struct arena *arena)
{
    static const char *const fixed[] = {
        "-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fPIC"};
    add_words(command, cc->start, arena);
    for (size_t i = 0; i < STAX_COUNT(fixed); i++) add(command, fixed[i]);
    if (cc->openmp) add(command, "-fopenmp");
    add_words(command, request->options, arena);
    add(command, request->assembly ? "-S" : "-shared");
    add(command, "-o");
    add(command, request->assembly ? "kernel.s" : "kernel.so");
    add(command, "kernel.c");
    if (!request->assembly) add(command, "-lm");
}

static enum stax_status compile(const struct compile_request *request, const char *folder,
                                struct arena *arena, struct compile_result *result)
{
    static struct host_compiler cc; /* found once a process; its texts live as long */
    static struct arena *forever;
    if (!forever) {
        struct arena *fresh = arena_create();
        enum stax_status status = find_compiler(fresh, &cc);
        if (status != STAX_OK) {
            arena_destroy(fresh);
            return status;
        }
        forever = fresh;
    }
    *result = (struct compile_result){.message = "", .log = ""};
    result->facts = (struct compile_facts){
        .registers = -1, .shared_bytes = -1, .spill_bytes = -1, .stack_bytes = -1};
    STAX_TRY(write_source(arena_printf(arena, "%s/kernel.c", folder), request->source));
    struct command command = {0};
    put_options(&command, &cc, request, arena);
    int code = 0;
    double start = measure_clock_s();
    STAX_TRY(run(&command, folder, arena, &result->log, &code));
    result->facts.seconds = measure_clock_s() - start;
    if (code == 0)
        return read_result(
            arena_printf(arena, "%s/%s", folder, request->assembly ? "kernel.s" : "kernel.so"),
            arena, result);
    result->outcome = OUTCOME_COMPILE;
    const char *error = compile_first_error(result->log, arena);
    result->message = error[0] ? error : arena_printf(arena, "the compiler ended with %d", code);
    return STAX_OK;
}

const struct compiler compile_cc = {DEVICE_CPU, identify, compile};
