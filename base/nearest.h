/* Suggestions for misspelt names: one rule for options, kernels, functions and dims. */
#ifndef STAX_BASE_NEAREST_H
#define STAX_BASE_NEAREST_H

/* The name nearest to `name` by edit distance, NULL when none is near. each(data, index) gives the
 * known ones; those that begin with '_' are never suggested. */
const char *nearest_name(const char *name, const char *(*each)(const void *data, int index),
                         const void *data, int count);
/* The same over an array of names: data of `nearest_in_array`. */
const char *nearest_in_array(const void *names, int index);

#endif
