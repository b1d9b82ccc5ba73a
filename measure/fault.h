/* Seams for tests of what happens when a worker goes wrong; in debug builds alone. See
 * measure/README.md. */
#ifndef STAX_MEASURE_FAULT_H
#define STAX_MEASURE_FAULT_H

/* Counts the requests of this process under `role`. STAX_FAULT="ROLE:KIND:N" does KIND at the N-th
 * (from 0): crash (abort), hang (for ever), corrupt (garbage on `fd`, then exit), vanish (exit
 * without a word). */
void fault_point(const char *role, int fd);

#endif
