/* Starting, meeting and burying workers; see process.h. */
#include "measure/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "build_id.h"
#include "measure/worker.h"

extern char **environ;

enum { LAST_WORDS_BYTES = 400 }; /* chosen: fits into one line of a message */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static const char *folder_of_program(struct arena *arena)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = '\0';
    return arena_text(arena, dirname(path));
}

static const char *folder_of_library(struct arena *arena)
{
    Dl_info info;
    static const char here = 0;
    if (!dladdr(&here, &info) || !info.dli_fname) return NULL;
    char path[PATH_MAX];
    return realpath(info.dli_fname, path) ? arena_text(arena, dirname(path)) : NULL;
}

enum stax_status process_find_worker(const char *wanted, struct arena *arena, const char **path)
{
    if (!wanted || !wanted[0]) wanted = getenv("STAX_WORKER");
    if (wanted && wanted[0]) {
        *path = arena_text(arena, wanted);
        if (is_program(wanted)) return STAX_OK;
        STAX_RETURN(STAX_IO, "%s is no program that can be started: set STAX_WORKER to stax-worker",
                    wanted);
    }
    const char *const folders[] = {folder_of_program(arena), folder_of_library(arena)};
    static const char *const places[] = {"stax-worker", "../bin/stax-worker"};
    for (size_t i = 0; i < STAX_COUNT(folders); i++) {
        for (size_t k = 0; folders[i] && k < STAX_COUNT(places); k++) {
            *path = arena_printf(arena, "%s/%s", folders[i], places[k]);
            if (is_program(*path)) return STAX_OK;
        }
    }
    STAX_RETURN(STAX_IO, "stax-worker is not beside this program: set STAX_WORKER to its path");
}

static int spawn(pid_t *pid, const char *worker, char *const *argv, int socket, int words)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, every;
    sigemptyset(&none);
    sigfillset(&every);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &every);
    /* An own session: keys that interrupt us leave it alone, and one kill reaches the compilers it
     * starts. */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, words, 2);
    posix_spawn_file_actions_adddup2(&actions, socket, WORKER_SOCKET);
    int error = posix_spawn(pid, worker, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

enum stax_status process_start(struct process *process, const char *worker, const char *const *args)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        STAX_RETURN(STAX_IO, "cannot make a socket pair: %s", strerror(errno));
    int words = memfd_create("stax-words", MFD_CLOEXEC);
    /* dup2 onto the same number would keep close-on-exec, and clobbers what else lies there. */
    int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    int last = words < 0 ? -1 : fcntl(words, F_DUPFD_CLOEXEC, 10);
    struct arena *arena = arena_create();
    char *argv[PROCESS_MAX_ARGS + 4];
    int argc = 0;
    argv[argc++] = arena_text(arena, "stax-worker");
    argv[argc++] = arena_printf(arena, "--build=%s", STAX_BUILD_ID);
    argv[argc++] = arena_printf(arena, "--parent=%d", (int)getpid());
    for (int i = 0; args[i]; i++) {
        STAX_CHECK(i < PROCESS_MAX_ARGS);
        argv[argc++] = arena_text(arena, args[i]);
    }
    argv[argc] = NULL;
    pid_t pid = 0;
    int error = theirs < 0 || last < 0 ? EMFILE : spawn(&pid, worker, argv, theirs, last);
    close(pair[1]);
    if (theirs >= 0) close(theirs);
    if (words >= 0) close(words);
    if (error != 0) {
        close(pair[0]);
        if (last >= 0) close(last);
        arena_destroy(arena);
        STAX_RETURN(STAX_IO, "cannot start %s: %s", worker, strerror(error));
    }
    *process = (struct process){.pid = pid, .arena = arena, .words = last};
    process->channel = channel_make(pair[0], arena);
    return STAX_OK;
}

/* The last line that says something, for a message of one line. */
static const char *last_words(int fd, struct arena *arena)
{
    char text[4096];
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
    ssize_t got = end > 0 ? pread(fd, text, sizeof text - 1, from) : 0;
    if (got <= 0) return "";
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' ')) got--;
    text[got] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return arena_text_n(arena, line, strnlen(line, LAST_WORDS_BYTES));
}

void process_end(struct process *process, struct arena *arena, const char **how)
{
    if (process->pid == 0) return;
    /* A process that has closed its channel is about to end by itself, with a signal or status
     * worth telling. */
    int state = 0;
    pid_t done = 0;
    bool ending = process->channel.closed && !process->channel.garbled;
    for (int i = 0; ending && done == 0 && i < 50; i++) {
        done = waitpid(process->pid, &state, WNOHANG);
        if (done == 0) usleep(2000);
    }
    kill(-process->pid, SIGKILL);
    if (done == 0) {
        kill(process->pid, SIGKILL); /* before its own setsid the group does not exist */
        while (waitpid(process->pid, &state, 0) < 0 && errno == EINTR) continue;
    }
    if (how) {
        const char *words = last_words(process->words, arena);
        const char *between = words[0] ? ": " : "";
        if (WIFSIGNALED(state))
            *how = arena_printf(arena, "killed by signal %d (%s)%s%s", WTERMSIG(state),
                                strsignal(WTERMSIG(state)), between, words);
        else
            *how = arena_printf(arena, "ended with status %d%s%s", WEXITSTATUS(state), between,
                                words);
    }
    close(process->channel.fd);
    close(process->words);
    arena_destroy(process->arena);
    *process = (struct process){0};
}

enum stax_status process_handle(struct process *process, struct message *message, bool *handled)
{
    struct arena *scratch = arena_create();
    enum stax_status status = STAX_OK;
    *handled = true;
    if (message->kind == MESSAGE_HELLO) {
        const char *build = reader_string(&message->body, scratch);
        process->met = build && strcmp(build, STAX_BUILD_ID) == 0;
        if (!process->met)
            status = status_set(
                STAX_IO,
                "stax-worker is of another build (%.40s, not %s): build both, or unset STAX_WORKER",
                build ? build : "unknown", STAX_BUILD_ID);
    } else if (message->kind == MESSAGE_LOG) {
        uint32_t level = reader_u32(&message->body);
        const char *line = reader_string(&message->body, scratch);
        if (line && level <= LOG_WARNING) log_write((enum log_level)level, "%s", line);
    } else {
        *handled = false;
    }
    arena_destroy(scratch);
    return status;
}

enum stax_status process_wait(struct process *process, double seconds, enum message_kind kind,
                              struct message *message)
{
    double end = measure_clock_s() + seconds;
    for (;;) {
        enum stax_status status = channel_wait(&process->channel, end - measure_clock_s(), message);
        if (status == STAX_CANCELLED)
            STAX_RETURN(STAX_IO, "stax-worker did not answer in %g s", seconds);
        if (status != STAX_OK) {
            const char *how = "";
            struct arena *scratch = arena_create();
            process_end(process, scratch, &how);
            status_set(STAX_IO, "stax-worker did not answer: it was %s", how);
            arena_destroy(scratch);
            return STAX_IO;
        }
        bool handled;
        STAX_TRY(process_handle(process, message, &handled));
        if (handled || message->kind == MESSAGE_PHASE) continue;
        if (message->kind == kind) return STAX_OK;
        if (message->kind != MESSAGE_FAILED)
            STAX_RETURN(STAX_IO, "stax-worker sent message %d", message->kind);
        uint32_t code = reader_u32(&message->body);
        const char *line = reader_string(&message->body, process->arena);
        STAX_RETURN(code > STAX_INTERNAL || code == 0 ? STAX_INTERNAL : (enum stax_status)code,
                    "%s", line ? line : "stax-worker failed");
    }
}
