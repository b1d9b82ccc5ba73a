/* The program stax-worker: one role a process, see worker.c. */
#ifndef STAX_MEASURE_WORKER_H
#define STAX_MEASURE_WORKER_H

enum { WORKER_SOCKET = 3 }; /* the descriptor at which a worker finds its end of the channel */

int worker_main(int argc, char **argv);

#endif
