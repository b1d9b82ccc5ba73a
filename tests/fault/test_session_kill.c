/* kill -9 of a whole session and of its workers at random moments: the database stays readable, no
 * trial that a reader had seen is lost, the same command finishes, and nothing that was recorded is
 * measured a second time. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"

enum { KILLS = 20, BUDGET = 24 };

static char folder[] = "/tmp/stax-kill-XXXXXX";
static char database[64];

static pid_t start(const char *strategy, const char *more)
{
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) return pid;
    char out[128], budget[16];
    snprintf(out, sizeof out, "%s/out.txt", folder);
    snprintf(budget, sizeof budget, "%d", BUDGET);
    if (!freopen(out, "a", stdout) || !freopen(out, "a", stderr)) _exit(126);
    setsid();
    execl(getenv("STAX_TUNE"), "stax-tune", "--kernel", "red_fused", "--arg", "x=f32[16,2048]",
          "--device", "cpu", "--strategy", strategy, "--budget", budget, "--db", database, "--seed",
          "5", more, (char *)NULL);
    _exit(127);
}

static int finish(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Every line of the CSV of all runs; "" while there is no readable run yet. Fails when the database
 * cannot be read. */
static char *read_trials(size_t *lines)
{
    char command[512];
    snprintf(command, sizeof command,
             "for r in $(%s results ls --db %s 2>/dev/null | awk 'NR>1{print $1}'); do %s results "
             "show --csv --db %s --run $r || "
             "exit 1; done",
             getenv("STAX_TUNE"), database, getenv("STAX_TUNE"), database);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t room = 1 << 20, used = 0;
    char *text = test_malloc(room);
    size_t got;
    while ((got = fread(text + used, 1, room - 1 - used, pipe)) > 0) {
        used += got;
        assert_true(used < room - 1);
    }
    text[used] = '\0';
    assert_int_equal(pclose(pipe), 0);
    *lines = 0;
    for (size_t i = 0; i < used; i++) *lines += text[i] == '\n';
    return text;
}

/* A probe tells what the device is before anything runs: killing it is another test's matter. */
static bool is_probe(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return true;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (!line[i]) line[i] = ' ';
    return !strstr(line, "--role=compile") && !strstr(line, "--role=measure");
}

/* A random compile or measure worker of the session, by its parent's number in /proc. */
static pid_t find_worker(pid_t session, struct rng *rng)
{
    pid_t found[64];
    size_t count = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc)) && count < 64;) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        char path[300], name[64] = "";
        int parent = 0;
        if (pid <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%*d (%63[^)]) %*c %d", name, &parent) == 2 && parent == session &&
            strncmp(name, "stax-worker", 11) == 0 && !is_probe(pid))
            found[count++] = pid;
        fclose(file);
    }
    closedir(proc);
    return count ? found[rng_below(rng, count)] : 0;
}

/* What a reader saw before the kill is there after it. */
static void test_session_killed(void **state)
{
    (void)state;
    struct rng rng = rng_make(7, 1);
    for (int k = 0; k < KILLS; k++) {
        size_t before, after;
        pid_t pid = start("random", NULL);
        sleep_ms(100 + (unsigned)rng_below(&rng, 1200));
        char *seen = read_trials(&before);
        kill(pid, SIGKILL);
        finish(pid);
        char *left = read_trials(&after);
        assert_true(after >= before);
        for (char *line = strtok(seen, "\n"); line; line = strtok(NULL, "\n")) {
            char *config = strchr(
                line,
                ','); /* a run's number may change when its journal is folded, its trials not */
            if (config && !strstr(left, config)) fail_msg("a recorded trial is lost: %s", line);
        }
        test_free(seen);
        test_free(left);
    }
    assert_int_equal(finish(start("random", NULL)), 0);
}

/* The search stage measured each configuration once over all of the killed runs, but for the one in
 * flight at each kill. */
static void test_nothing_twice(void **state)
{
    (void)state;
    char command[640], line[64];
    snprintf(command, sizeof command,
             "%s -c 'import subprocess,csv,io,collections\n"
             "tune,db=\"%s\",\"%s\"\n"
             "ids=[l.split()[0] for l in "
             "subprocess.run([tune,\"results\",\"ls\",\"--db\",db],capture_output=True,text=True)"
             ".stdout.splitlines()[1:]]\n"
             "n=collections.Counter()\n"
             "for i in ids:\n"
             " t=subprocess.run([tune,\"results\",\"show\",\"--csv\",\"--db\",db,\"--run\",i],"
             "capture_output=True,text=True).stdout\n"
             " for r in csv.DictReader(io.StringIO(t)):\n"
             "  if r[\"stage\"]==\"search\" and r[\"fidelity\"]==\"0\": n[r[\"config_hash\"]]+=1\n"
             "print(len(n),max(n.values()))'",
             "python3", getenv("STAX_TUNE"), database);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    int configs, most;
    assert_int_equal(sscanf(line, "%d %d", &configs, &most), 2);
    assert_true(configs > 1);
    assert_int_equal(most, 1);
}

static void show_output(void)
{
    char command[128];
    snprintf(command, sizeof command, "tail -n 20 %s/out.txt", folder);
    if (system(command) != 0) print_message("no output\n");
}

/* Waits for one: on a busy machine a session takes its time to start them. 0: it ended first. */
static pid_t await_worker(pid_t session, struct rng *rng)
{
    siginfo_t ended = {0};
    while (waitid(P_PID, (id_t)session, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           !ended.si_pid) {
        pid_t worker = find_worker(session, rng);
        if (worker) return worker;
        sleep_ms(5);
    }
    return 0;
}

static void test_worker_killed(void **state)
{
    (void)state;
    struct rng rng = rng_make(7, 2);
    for (int k = 0; k < 4; k++) { /* five kills a session: twenty in all */
        pid_t pid = start("random", "--fresh");
        int killed = 0;
        for (int i = 0; i < 5; i++) {
            if (i > 0) sleep_ms(50 + (unsigned)rng_below(&rng, 300));
            pid_t worker = await_worker(pid, &rng);
            if (worker && kill(worker, SIGKILL) == 0) killed++;
        }
        assert_true(killed > 0);
        int exit_code = finish(pid);
        if (exit_code != 0) show_output();
        assert_int_equal(exit_code, 0);
    }
}

/* The command that was killed, run again once complete, measures nothing and says so. */
static void test_answered_whole(void **state)
{
    (void)state;
    char path[128], text[4096] = "";
    snprintf(path, sizeof path, "%s/out.txt", folder);
    assert_int_equal(finish(start("random", NULL)), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(finish(start("random", NULL)), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "nothing is measured"));
    assert_non_null(strstr(text, "0 measured"));
}

static int set_up(void **state)
{
    (void)state;
    if (!getenv("STAX_TUNE") || !mkdtemp(folder)) return -1;
    snprintf(database, sizeof database, "%s/results.h5", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_killed),
        cmocka_unit_test(test_nothing_twice),
        cmocka_unit_test(test_worker_killed),
        cmocka_unit_test(test_answered_whole),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
