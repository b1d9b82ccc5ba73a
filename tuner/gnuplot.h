/* Pictures through gnuplot, a program of its own: a script in, an .svg or .png out. Private to
 * tuner/.
 *
 * The script is kept beside the picture (picture.svg.gp), holds its data, and draws the picture
 * again by `gnuplot picture.svg.gp`. In scripts every string is in single quotes and goes through
 * gnuplot_quote: in double quotes gnuplot runs what stands in backticks. */
#ifndef STAX_TUNER_GNUPLOT_H
#define STAX_TUNER_GNUPLOT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

/* The head of a script: terminal, output, and what all our pictures share. STAX_USAGE for a path
 * that ends in neither .svg nor .png. */
enum stax_status gnuplot_begin(struct text *script, const char *path, int width, int height);
void gnuplot_quote(struct text *script, const char *string);
/* `set xlabel`-like: "set <what> 'string' noenhanced". */
void gnuplot_set(struct text *script, const char *what, const char *string);
/* `set xtics ('1' 1, '2' 2, '5' 5)`: readable marks of a logarithmic axis ("x" or "y"). */
void gnuplot_log_axis(struct text *script, const char *axis, double low, double high);
/* Writes the script and runs it; the picture appears whole, under a temporary name until then.
 * errors: STAX_UNSUPPORTED without gnuplot (the script is kept), STAX_IO with gnuplot's words. */
enum stax_status gnuplot_draw(const char *path, struct text *script);

#endif
