/* The command line: hands the words to cli.c. */
#include "tuner/cli.h"

int main(int count, char **words)
{
    return cli_run(count, words);
}
