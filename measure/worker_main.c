/* stax-worker: compiles or measures in a process of its own, so that a bad candidate costs no
 * session. */
#include "measure/worker.h"

int main(int argc, char **argv)
{
    return worker_main(argc, argv);
}
