/* Private to the command line: words to options, text to the terminal. Written on stax_tune.h
 * alone. */
#ifndef STAX_TUNER_CLI_H
#define STAX_TUNER_CLI_H

int cli_run(int count, char **words); /* returns the exit status */

#endif
