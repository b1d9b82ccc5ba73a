/* Recorded spaces for tests of strategies. Failures to read one fail the test. */
#ifndef STAX_TESTS_RECORDED_H
#define STAX_TESTS_RECORDED_H

#include "tuner/simulate.h"

/* The enumeration of a kernel on an H200 in tests/data. */
struct recorded recorded_ours(const char *kernel, struct arena *arena);
/* NAME.json.gz under STAX_SPACES_DIR. medians: judge by the median of the recorded samples instead
 * of their mean. */
struct recorded recorded_published(const char *name, bool medians, struct arena *arena);

#endif
