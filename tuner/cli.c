/* Words to options and a command; text, progress and signals of a terminal. Written on the public
 * header alone, which proves that the header is enough. */
#include "tuner/cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tuner/stax_tune.h"

static stax_tuner *running; /* for the signal handler */
static int line_shown;      /* a progress line stands on the terminal */
static int lost_errno;      /* why text for standard output was lost; 0: none was */

/* The first asks to stop after the trial in flight, a later one ends at once: what is recorded
 * stays. Repeats within half a second are one (chosen): timeout(1) signals the process and its
 * group. */
static void on_signal(int number)
{
    static struct timespec first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double since_s = (double)(now.tv_sec - first.tv_sec) +
                     1e-9 * (double)(now.tv_nsec - first.tv_nsec);
    if (first.tv_sec && since_s > 0.5) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (!first.tv_sec) first = now;
    stax_interrupt(running);
}

static void clear_line(void)
{
    if (line_shown) fputs("\r\033[K", stderr);
    line_shown = 0;
}

static void write_text(void *data, int stream, const char *text)
{
    (void)data;
    clear_line();
    FILE *file = stream == 1 ? stdout : stderr;
    if ((fputs(text, file) < 0 || fflush(file) != 0) && file == stdout && !lost_errno)
        lost_errno = errno;
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

/* One line, cut to the terminal: trial, best so far, share of the roofline, time. */
static void show_progress(void *data, const struct stax_progress *progress)
{
    (void)data;
    char line[512];
    int used = snprintf(line, sizeof line, "%s %llu", progress->phase,
                        (unsigned long long)progress->trials);
    if (progress->limit)
        used += snprintf(line + used, sizeof line - (size_t)used, "/%llu",
                         (unsigned long long)progress->limit);
    used += snprintf(line + used, sizeof line - (size_t)used, "  %.1f s", progress->elapsed_s);
    if (isfinite(progress->best_us))
        used += snprintf(line + used, sizeof line - (size_t)used, "  best %.4g us",
                         progress->best_us);
    if (isfinite(progress->roof_frac))
        used += snprintf(line + used, sizeof line - (size_t)used, " (%.1f %% of roof)",
                         100 * progress->roof_frac);
    if (isfinite(progress->default_us))
        used += snprintf(line + used, sizeof line - (size_t)used, "  default %.4g us",
                         progress->default_us);
    snprintf(line + used, sizeof line - (size_t)used, "  %s", progress->best);
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    fflush(stderr);
    line_shown = 1;
}

static void print_help(void)
{
    const char *name, *argument, *fallback, *commands, *help, *usage, *summary;
    printf("stax-tune %s: tunes GPU and CPU kernels by measuring, and proves each one right\n\n",
           stax_version());
    for (int i = 0; stax_command_row(i, &name, &usage, &summary); i++)
        printf("  stax-tune %s\n      %s\n", usage, summary);
    printf("\noptions (in brackets the default; in parentheses the commands)\n");
    for (int i = 0; stax_option_row(i, &name, &argument, &fallback, &commands, &help); i++) {
        printf("  --%s%s%s\n      %s", name, argument ? " " : "", argument ? argument : "", help);
        if (fallback) printf(" [%s]", fallback);
        printf(" (%s)\n", commands);
    }
    printf("\nexit status: 0 ok, 1 run failed, 2 usage, 3 nothing passed verification, 130 "
           "interrupted\n");
}

static int is_switch(const char *option, size_t length, int *known)
{
    const char *name, *argument, *fallback, *commands, *help;
    *known = 0;
    for (int i = 0; stax_option_row(i, &name, &argument, &fallback, &commands, &help); i++) {
        if (strlen(name) != length || strncmp(name, option, length) != 0) continue;
        *known = 1;
        return argument == NULL;
    }
    return 0;
}

/* Takes --name value, --name=value or --name at words[*at]; 0 or an exit status with a message. */
static int take_option(stax_tuner *tuner, int count, char **words, int *at)
{
    char name[64];
    const char *word = words[*at] + 2;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    int known;
    int alone = is_switch(word, length, &known);
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *value = equals ? equals + 1 : NULL;
    if (known && !alone && !equals && *at + 1 < count) value = words[++*at];
    return stax_set(tuner, name, value);
}

enum { MAX_WORDS = 256 };

static int run_words(stax_tuner *tuner, int count, char **words)
{
    const char *arguments[MAX_WORDS];
    const char *command = NULL;
    int used = 0;
    for (int at = 1; at < count; at++) {
        if (strcmp(words[at], "--help") == 0 || strcmp(words[at], "-h") == 0)
            return print_help(), STAX_EXIT_OK;
        if (strcmp(words[at], "--version") == 0)
            return printf("stax-tune %s\n", stax_version()), STAX_EXIT_OK;
        static char output[] = "--output"; /* the one short option beside -h */
        if (strcmp(words[at], "-o") == 0) words[at] = output;
        if (strncmp(words[at], "--", 2) == 0) {
            int exit_code = take_option(tuner, count, words, &at);
            if (exit_code != STAX_EXIT_OK) return exit_code;
        } else if (!command) {
            command = words[at];
        } else if (used < MAX_WORDS) {
            arguments[used++] = words[at];
        }
    }
    if (!command && count == 1) return print_help(), STAX_EXIT_USAGE;
    return stax_run(tuner, command ? command : "tune", used, arguments);
}

int cli_run(int count, char **words)
{
    running = stax_create();
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action,
              NULL); /* a lost terminal: what was measured is kept, and the document written */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as a failed write */
    stax_on_text(running, write_text, NULL);
    if (isatty(STDERR_FILENO)) stax_on_progress(running, show_progress, NULL);
    int exit_code = run_words(running, count, words);
    clear_line();
    if (exit_code != STAX_EXIT_OK && *stax_message(running))
        fprintf(stderr, "stax-tune: %s\n", stax_message(running));
    if (fflush(stdout) != 0 && !lost_errno) lost_errno = errno;
    if (lost_errno && lost_errno != EPIPE && exit_code == STAX_EXIT_OK) { /* `| head` is no loss */
        fprintf(stderr, "stax-tune: standard output could not be written: %s\n",
                strerror(lost_errno));
        exit_code = STAX_EXIT_FAILED;
    }
    stax_destroy(running);
    return exit_code;
}
