/* Running gnuplot; see gnuplot.h. `-d` leaves the user's own settings out, so that the same script
 * is the same picture everywhere. */
#include "tuner/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/tuner.h"

extern char **environ;

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), own = strlen(ending);
    return length > own && strcmp(path + length - own, ending) == 0;
}

void gnuplot_quote(struct text *script, const char *string)
{
    text_add(script, "'");
    for (; *string; string++) {
        if (*string == '\'') text_add(script, "'");
        text_add_n(script, (unsigned char)*string < 0x20 ? " " : string,
                   1); /* a string ends with its line */
    }
    text_add(script, "'");
}

void gnuplot_set(struct text *script, const char *what, const char *string)
{
    text_printf(script, "set %s ", what);
    gnuplot_quote(script, string);
    text_add(script, " noenhanced\n");
}

enum stax_status gnuplot_begin(struct text *script, const char *path, int width, int height)
{
    bool svg = ends_in(path, ".svg");
    if (!svg && !ends_in(path, ".png"))
        STAX_RETURN(STAX_USAGE, "%s: name the picture FILE.svg or FILE.png", path);
    const char *slash = strrchr(path, '/');
    text_add(script, "# Draws the picture again: gnuplot THIS_FILE\nset encoding utf8\n");
    if (svg)
        text_printf(
            script,
            "set terminal svg size %d,%d dynamic font 'sans-serif,14' background rgb 'white'\n",
            width, height);
    else
        text_printf(
            script,
            "set terminal pngcairo size %d,%d font 'sans-serif,11' background rgb 'white'\n", width,
            height);
    text_add(script, "output_name = ");
    gnuplot_quote(script, slash ? slash + 1 : path);
    text_add(script,
             "\nif (exists('ARG1')) if (strlen(ARG1)) output_name = ARG1\nset output output_name\n"
             "set datafile missing 'NaN'\nset border 3 linecolor rgb '#444444'\n"
             "set tics nomirror out textcolor rgb '#222222'\nset grid linecolor rgb '#dddddd' "
             "linewidth 1\n");
    return STAX_OK;
}

static int marks(double low, double high, const double *step, int steps, double *out, int capacity)
{
    int count = 0;
    for (double decade = pow(10, floor(log10(low))); decade <= high; decade *= 10)
        for (int i = 0; i < steps && count < capacity; i++)
            if (decade * step[i] >= low && decade * step[i] <= high)
                out[count++] = decade * step[i];
    return count;
}

void gnuplot_log_axis(struct text *script, const char *axis, double low, double high)
{
    enum { MOST = 64, MANY = 9 }; /* marks on an axis (chosen) */
    static const double dense[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}, some[] = {1, 2, 5};
    static const double decades[] = {1};
    double at[MOST];
    STAX_CHECK(low > 0 && isfinite(high));
    int count = marks(low, high, dense, STAX_COUNT(dense), at, MOST);
    if (count > MANY) count = marks(low, high, some, STAX_COUNT(some), at, MOST);
    if (count > MANY) count = marks(low, high, decades, STAX_COUNT(decades), at, MOST);
    text_printf(script, "set logscale %s\n", axis);
    if (count < 2) return; /* gnuplot's own are as good */
    text_printf(script, "set %stics (", axis);
    for (int i = 0; i < count; i++)
        text_printf(script, "%s'%.6g' %.6g", i ? ", " : "", at[i], at[i]);
    text_add(script, ")\n");
}

/* What gnuplot complained of: the last line, after the echo of its script. */
static const char *complaint(int fd, struct arena *arena)
{
    enum { KEPT = 4096 };
    char *bytes = arena_alloc(arena, KEPT + 1);
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t got = pread(fd, bytes, KEPT, end > KEPT ? end - KEPT : 0);
    while (got > 0 && (bytes[got - 1] == '\n' || bytes[got - 1] == ' ')) got--;
    bytes[got > 0 ? got : 0] = '\0';
    const char *line = strrchr(bytes, '\n');
    return line ? line + 1 : bytes;
}

static enum stax_status run_gnuplot(const char *script, const char *picture, struct arena *arena)
{
    char *const words[] = {
        "gnuplot", "-d", "-c", arena_text(arena, script), arena_text(arena, picture), NULL};
    char *log = arena_printf(arena, "%s.log", picture);
    int fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot write %s: %s", log, strerror(errno));
    unlink(log);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
    pid_t child;
    int error = posix_spawnp(&child, words[0], &actions, NULL, words, environ), state = 0;
    posix_spawn_file_actions_destroy(&actions);
    enum stax_status status = STAX_OK;
    if (error == ENOENT) {
        status = status_set(STAX_UNSUPPORTED,
                            "gnuplot is not installed (Debian: gnuplot-nox); %s draws the picture",
                            script);
    } else if (error) {
        status = status_set(STAX_IO, "gnuplot cannot be started: %s", strerror(error));
    } else {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
        if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
            status = status_set(STAX_IO, "gnuplot failed on %s: %s", script, complaint(fd, arena));
    }
    close(fd);
    return status;
}

enum stax_status gnuplot_draw(const char *path, struct text *script)
{
    struct arena *arena = arena_create();
    char *script_path = arena_printf(arena, "%s.gp", path);
    char *temporary = arena_printf(arena, "%s.%ld.tmp", path, (long)getpid());
    enum stax_status status = write_file(script_path, text_string(script), script->length);
    if (status == STAX_OK) status = run_gnuplot(script_path, temporary, arena);
    if (status == STAX_OK && rename(temporary, path) != 0)
        status = status_set(STAX_IO, "cannot write %s: %s", path, strerror(errno));
    if (status != STAX_OK) unlink(temporary); /* a failed script can leave an empty picture */
    arena_destroy(arena);
    return status;
}
