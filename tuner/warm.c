/* Warm start: what won before for the same kernel, nearest first.
 *
 * A winner at another shape or on another device need not be a configuration of this space (a
 * persistent form's block is as long as its rows, say). It is then moved to the nearest one that
 * is, so that every start is valid and the idea of the winner is kept: values that name a way of
 * doing it weigh more than sizes. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/session.h"

enum {
    MOST = 8,            /* starts taken; chosen */
    BUDGET_SHARE = 4,    /* but one, or no more than this part of the budget; chosen */
    SCAN_MOST = 1 << 16, /* configurations looked at for the nearest: all of a smaller space, 20 ms;
                            of a larger one so many at random, and from the nearest on by steps */
};

/* What another value of a categorical parameter or a switch costs, in doublings of a size; chosen:
 * a persistent winner stays persistent for rows of up to 16 times the length. */
static const double unlike = 4;

enum nearness { SAME_DEVICE, SAME_ARCHITECTURE, OTHER_DEVICE };

struct winner {
    const struct stored_run *run;
    enum nearness nearness;
    double distance; /* between the problems' sizes */
    uint64_t config; /* here */
    bool moved;      /* the nearest to it, not itself */
};

/* ---- the same kernel, and how far away ---- */

/* Skips blanks and comments. */
static const char *token(const char *text)
{
    for (;; text++) {
        if (*text == '#') text += strcspn(text, "\n");
        if (!*text || !isspace((unsigned char)*text)) return text;
    }
}

/* The same text but for numbers, blanks and comments: the same kernel written for other shapes. */
static bool same_kernel(const char *a, const char *b)
{
    for (;;) {
        a = token(a), b = token(b);
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789.");
            b += strspn(b, "0123456789.");
            continue;
        }
        if (*a != *b) return false;
        if (!*a) return true;
        a++, b++;
    }
}

static double larger_than_none(double size)
{
    return size > 1 ? size : 1;
}

/* Euclidean, in doublings of the sizes inside brackets; INFINITY where the texts differ elsewhere:
 * in a type, a rank, a stride. */
static double problem_distance(const char *a, const char *b)
{
    double sum = 0;
    for (bool inside = false; *a || *b;) {
        if (inside && isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *a_end, *b_end;
            double x = strtod(a, &a_end), y = strtod(b, &b_end);
            double doublings = log2(larger_than_none(x) / larger_than_none(y));
            sum += doublings * doublings;
            a = a_end, b = b_end;
            continue;
        }
        if (*a != *b) return INFINITY;
        inside = *a == '[' || (inside && *a != ']');
        a++, b++;
    }
    return sqrt(sum);
}

static bool same_text(const char *a, const char *b)
{
    return a && b && *a && strcmp(a, b) == 0;
}

static enum nearness nearness_of(const struct device_info *here, const struct device_info *there)
{
    bool named = here->uuid && *here->uuid && there->uuid && *there->uuid;
    if (here->kind == there->kind &&
        (named ? same_text(here->uuid, there->uuid) : same_text(here->name, there->name)))
        return SAME_DEVICE;
    return here->kind == there->kind && same_text(here->arch, there->arch) ? SAME_ARCHITECTURE
                                                                           : OTHER_DEVICE;
}

static int nearest_first(const void *a, const void *b)
{
    const struct winner *x = a, *y = b;
    if (x->nearness != y->nearness) return x->nearness < y->nearness ? -1 : 1;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->run->id > y->run->id ? -1 : x->run->id < y->run->id; /* the newest */
}

static int find_winners(const struct session *session, const struct stored_run *runs,
                        uint64_t count, struct winner *winner)
{
    const struct setup *setup = &session->setup;
    int winners = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct run_info *info = &runs[i].info;
        if (!runs[i].result.has_best || !info->device || !info->source ||
            !same_text(info->kernel, setup->name) || !same_kernel(info->source, setup->source))
            continue;
        winner[winners++] = (struct winner){
            .run = &runs[i],
            .nearness = nearness_of(setup->device, info->device),
            .distance = problem_distance(setup->problem, info->problem ? info->problem : "")};
    }
    qsort(winner, (size_t)winners, sizeof *winner, nearest_first);
    return winners;
}

/* ---- the nearest configuration ---- */

/* The value of `name` in "A=1, B=x"; NULL when it is not there. */
static const char *value_in(const char *text, const char *name, struct arena *arena)
{
    size_t length = strlen(name);
    while (text) {
        const char *end = strstr(text, ", ");
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            text += length + 1;
            return arena_printf(arena, "%.*s", (int)(end ? (size_t)(end - text) : strlen(text)),
                                text);
        }
        text = end ? end + 2 : NULL;
    }
    return NULL;
}

static double value_distance(const struct param *param, const struct value *value,
                             const char *wanted, struct arena *arena)
{
    if (strcmp(value_text(value, arena), wanted) == 0) return 0;
    char *end;
    double number = strtod(wanted, &end), here = value_number(value);
    if (!param->ordered || end == wanted || *end || !(number > 0) || !(here > 0)) return unlike;
    return fabs(log2(number / here));
}

/* The distance of every value of every parameter to that of `text`, parameters that `text` lacks
 * taken from `base`. False when it lacks more than half: another space altogether. */
static bool distances(const struct space *space, const char *text, uint64_t base, double **distance,
                      struct arena *arena)
{
    int params = space_params(space), lacking = 0;
    for (int p = 0; p < params; p++) {
        const struct param *param = space_param(space, p);
        const char *wanted = value_in(text, param->name, arena);
        lacking += wanted == NULL;
        if (!wanted) wanted = value_text(space_value(space, base, p), arena);
        distance[p] = ARENA_ARRAY(arena, double, param->count);
        for (int v = 0; v < param->count; v++)
            distance[p][v] = value_distance(param, &param->values[v], wanted, arena);
    }
    return 2 * lacking <= params;
}

static double distance_of(const struct space *space, uint64_t config, double *const *distance,
                          int *values)
{
    double sum = 0;
    space_unrank(space, config, values);
    for (int p = 0; p < space_params(space); p++) sum += distance[p][values[p]];
    return sum;
}

/* Moves to `config` if that is nearer. */
static void consider(const struct space *space, uint64_t config, double *const *distance,
                     int *values, uint64_t *nearest, double *least)
{
    double here = distance_of(space, config, distance, values);
    if (here >= *least) return;
    *least = here;
    *nearest = config;
}

/* The nearest configuration to what `distance` measures from; returns how far it is. */
static double nearest_config(const struct space *space, double *const *distance,
                             struct arena *arena, uint64_t *nearest)
{
    int *values = ARENA_ARRAY(arena, int, space_params(space));
    uint64_t count = space_count(space);
    double least = INFINITY;
    struct rng rng = rng_make(0, 0); /* the same start for the same database */
    for (uint64_t i = 0; i < count && i < SCAN_MOST; i++)
        consider(space, count <= SCAN_MOST ? i : space_sample(space, &rng), distance, values,
                 nearest, &least);
    if (count <= SCAN_MOST) return least;
    int room = space_neighbours_most(space);
    uint64_t *near = ARENA_ARRAY(arena, uint64_t, room);
    for (double before = INFINITY; least < before;) {
        before = least;
        int n = space_neighbours(space, *nearest, SPACE_ANY, near, room);
        for (int i = 0; i < n; i++) consider(space, near[i], distance, values, nearest, &least);
    }
    return least;
}

static bool move_here(const struct session *session, struct winner *winner)
{
    const struct space *space = session->setup.space;
    struct arena *scratch = arena_create();
    double **distance = ARENA_ARRAY(scratch, double *, space_params(space));
    bool same_space = distances(space, winner->run->result.best_text,
                                session->setup.candidates.config[0], distance, scratch);
    if (same_space) winner->moved = nearest_config(space, distance, scratch, &winner->config) > 0;
    arena_destroy(scratch);
    return same_space;
}

/* ---- all of it ---- */

/* Those of the heuristic set are measured anyway. */
static bool known(const struct session *session, const struct search_problem *problem,
                  uint64_t config)
{
    const struct cg_candidates *candidates = &session->setup.candidates;
    for (int i = 0; i < candidates->count; i++)
        if (candidates->config[i] == config) return true;
    for (int i = 0; i < problem->warm; i++)
        if (problem->warm_config[i] == config) return true;
    return false;
}

/* "3 configurations of softmax at other shapes, 1 of them moved to the nearest values" */
static const char *describe(const struct session *session, int taken, int shapes, int devices,
                            int moved)
{
    struct text text = text_make(session->arena);
    text_printf(&text, "%d configuration%s of %s%s%s%s", taken, taken == 1 ? "" : "s",
                session->setup.name, shapes ? " at other shapes" : "",
                shapes && devices ? " and" : "", devices ? " on other devices" : "");
    if (!shapes && !devices) text_add(&text, " from earlier runs");
    if (moved) text_printf(&text, ", %d moved to the nearest values here", moved);
    return text_string(&text);
}

enum stax_status warm_start(struct session *session, struct search_problem *problem)
{
    struct stored_run *runs;
    uint64_t count, *warm = ARENA_ARRAY(session->arena, uint64_t, MOST);
    int shapes = 0, devices = 0, moved = 0;
    problem->warm_config = warm;
    if (session->setup.replay || session->strategy->cold ||
        option_given(session->tuner, OPTION_FRESH))
        return STAX_OK;
    STAX_TRY(db_runs(session->db, session->arena, &runs, &count));
    struct winner *winner = ARENA_ARRAY(session->arena, struct winner, count);
    int winners = find_winners(session, runs, count, winner);
    for (int i = 0; i < winners && problem->warm < MOST; i++) {
        if (problem->warm > 0 && (uint64_t)problem->warm >= problem->budget_configs / BUDGET_SHARE)
            break;
        if (!move_here(session, &winner[i]) || known(session, problem, winner[i].config)) continue;
        warm[problem->warm++] = winner[i].config;
        shapes += winner[i].distance > 0;
        devices += winner[i].nearness != SAME_DEVICE;
        moved += winner[i].moved;
    }
    session->warm = problem->warm;
    if (problem->warm)
        session->warm_text = describe(session, problem->warm, shapes, devices, moved);
    return STAX_OK;
}
