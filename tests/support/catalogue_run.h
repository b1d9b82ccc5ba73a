/* Every catalogue kernel, at its own and at awkward sizes, times sampled configurations, against
 * the reference on a device. */
#ifndef STAX_TESTS_CATALOGUE_RUN_H
#define STAX_TESTS_CATALOGUE_RUN_H

struct catalogue_case {
    const char *kernel;
    const char *arg[3]; /* --arg texts, NULL where fewer */
};

/* Verifies up to `configs` configurations a case on `device`, covering each value of each parameter
 * first, with random and adverse inputs. Prints a line a case. Returns how many configurations gave
 * a wrong result, faulted, hung or did not compile. */
int catalogue_run(const char *device, int configs);

#endif
