/* Best so far against tuning time, many runs a strategy: the median as a line, the middle half of
 * the runs as a band, what random search is expected to have found, and the optimum. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "tuner/gnuplot.h"
#include "tuner/simulate.h"

enum {
    WIDTH = 960,
    HEIGHT = 600, /* chosen */
    LOG_FROM = 8, /* times the least: an axis that spans more is logarithmic (chosen) */
};

/* Told apart with any colour vision (Okabe and Ito 2008). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000"};

static const struct unit {
    double scale; /* of the stored unit */
    const char *name;
} kernel_units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}},
  tuning_units[] = {{3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};

/* The largest unit of which `value` holds at least `least`. */
static const struct unit *unit_for(const struct unit *units, size_t count, double value,
                                   double least)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (value >= least * units[i].scale) return &units[i];
    return &units[count - 1];
}

/* The picture's frame, in its units. */
struct frame {
    const struct unit *x, *y;
    double left, right, bottom, top;
};

/* Up to where random search begins and every median of the second half ends: what strategies had
 * before their first good answer would press everything else onto the optimum. */
static struct frame frame_of(const struct simulate_report *report)
{
    struct frame frame;
    frame.x = unit_for(tuning_units, STAX_COUNT(tuning_units), report->budget_s, 3);
    frame.y = unit_for(kernel_units, STAX_COUNT(kernel_units), report->optimum_ns, 1);
    double top = fmax(report->baseline_ns[0], report->target_ns);
    for (int i = 0; i < report->strategies; i++)
        for (int at = SIMULATE_POINTS / 2; at < SIMULATE_POINTS; at++)
            top = fmax(top, report->strategy[i].middle[at]);
    double span = top / report->optimum_ns;
    frame.left = report->time_s[0] / frame.x->scale;
    frame.right = report->time_s[SIMULATE_POINTS - 1] / frame.x->scale;
    if (span > LOG_FROM) {
        frame.bottom = report->optimum_ns / pow(span, 0.06) / frame.y->scale;
        frame.top = top * pow(span, 0.03) / frame.y->scale;
    } else {
        frame.bottom = (report->optimum_ns - 0.08 * (top - report->optimum_ns)) / frame.y->scale;
        frame.top = (top + 0.04 * (top - report->optimum_ns)) / frame.y->scale;
    }
    if (!(frame.top > frame.bottom)) { /* every configuration takes the same time */
        frame.bottom = 0.9 * report->optimum_ns / frame.y->scale;
        frame.top = 1.1 * report->optimum_ns / frame.y->scale;
    }
    return frame;
}

static void put_axes(struct text *script, const struct simulate_report *report,
                     const struct frame *frame, struct arena *arena)
{
    const char *slash = strrchr(report->space, '/');
    gnuplot_set(script, "title",
                arena_printf(arena,
                             "%s: best configuration so far, %d simulated run%s of each strategy",
                             slash ? slash + 1 : report->space, report->repeats,
                             report->repeats == 1 ? "" : "s"));
    text_add(script, "set tmargin 5\nset title offset 0,1\nset label 1 'line: median, shaded: "
                     "middle half of the runs; score: 0 as random "
                     "search, 1 the optimum at once' at graph 0.5, graph 1.035 center noenhanced "
                     "textcolor rgb '#555555'\n");
    gnuplot_set(script, "xlabel",
                arena_printf(arena, "tuning time: compiling and running (%s)", frame->x->name));
    gnuplot_set(script, "ylabel", arena_printf(arena, "time of one call (%s)", frame->y->name));
    if (frame->left > 0 && frame->right > LOG_FROM * frame->left)
        gnuplot_log_axis(script, "x", frame->left, frame->right);
    if (frame->bottom > 0 && frame->top > LOG_FROM * frame->bottom)
        gnuplot_log_axis(script, "y", frame->bottom, frame->top);
    text_printf(script, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", frame->left,
                frame->right, frame->bottom, frame->top);
    text_add(script, "set key top right Left reverse noenhanced opaque box linecolor rgb '#dddddd' "
                     "samplen 2.5 spacing 1.2\n");
}

/* Lines of a block: time and `curves`. Best so far holds until it improves: each change is two
 * points, and what lies between two equal ones is left out. The expectation, `steps` false, is
 * smooth. */
static void put_block(struct text *script, const char *name, const struct simulate_report *report,
                      const struct frame *frame, bool steps, int curves, double *const *curve)
{
    text_printf(script, "$%s << EOD\n", name);
    for (int i = 0; i < SIMULATE_POINTS; i++) {
        bool changed = i == 0, last = i + 1 == SIMULATE_POINTS;
        for (int c = 0; c < curves && !changed; c++) changed = curve[c][i] != curve[c][i - 1];
        if (!changed && !last) continue;
        for (int point = i && changed && steps ? i - 1 : i; point <= i; point++) {
            text_printf(script, "%.6g", report->time_s[i] / frame->x->scale);
            for (int c = 0; c < curves; c++)
                text_printf(script, " %.6g", curve[c][point] / frame->y->scale);
            text_add(script, "\n");
        }
    }
    text_add(script, "EOD\n");
}

static void put_plot(struct text *script, const struct simulate_report *report,
                     const struct frame *frame, struct arena *arena)
{
    text_printf(script, "optimum = %.9g\ntop = %.9g\nplot \\\n",
                report->optimum_ns / frame->y->scale, frame->top);
    /* Bands first, so that no band covers a line. What lies above the picture is drawn along its
     * edge. */
    for (int i = 0; i < report->strategies; i++)
        text_printf(script,
                    "  $s%d using 1:($2 < top ? $2 : top):($4 < top ? $4 : top) with filledcurves "
                    "fillcolor rgb '%s' "
                    "fillstyle transparent solid 0.18 noborder notitle, \\\n",
                    i, colours[(size_t)i % STAX_COUNT(colours)]);
    text_add(
        script,
        "  $random using 1:2 with lines linecolor rgb '#777777' linewidth 1.5 dashtype (8,5) title "
        "'random search, expected', \\\n  optimum with lines linecolor rgb '#222222' linewidth 1 "
        "dashtype (2,4) title ");
    gnuplot_quote(script, arena_printf(arena, "optimum, %.4g %s",
                                       report->optimum_ns / frame->y->scale, frame->y->name));
    for (int i = 0; i < report->strategies; i++) {
        const struct simulate_result *result = &report->strategy[i];
        const char *colour = colours[(size_t)i % STAX_COUNT(colours)];
        text_printf(script,
                    ", \\\n  $s%d using 1:($3 < top ? $3 : NaN) with lines linecolor rgb '%s' "
                    "linewidth 2.2 notitle",
                    i, colour);
        /* apart from the data, so that the legend names a strategy that never comes into the
         * picture */
        text_printf(script, ", \\\n  NaN with lines linecolor rgb '%s' linewidth 2.2 title ",
                    colour);
        const char *scored = isfinite(result->score.value)
                                 ? arena_printf(arena, ", score %.2f", result->score.value)
                                 : "";
        gnuplot_quote(script, arena_printf(arena, "%s%s", result->name, scored));
    }
    text_add(script, "\n");
}

enum stax_status simulate_plot(const struct simulate_report *report, const char *path,
                               struct arena *arena, struct text *script)
{
    struct frame frame = frame_of(report);
    if (!(frame.right > frame.left))
        STAX_RETURN(
            STAX_USAGE,
            "%s: the budget that follows from its recorded costs is 0 s, so there is nothing "
            "to draw; give one with --budget 30s",
            report->space);
    STAX_TRY(gnuplot_begin(script, path, WIDTH, HEIGHT));
    put_axes(script, report, &frame, arena);
    put_block(script, "random", report, &frame, false, 1, (double *const[]){report->baseline_ns});
    for (int i = 0; i < report->strategies; i++) {
        const struct simulate_result *result = &report->strategy[i];
        put_block(script, arena_printf(arena, "s%d", i), report, &frame, true, 3,
                  (double *const[]){result->low, result->middle, result->high});
    }
    put_plot(script, report, &frame, arena);
    return STAX_OK;
}
