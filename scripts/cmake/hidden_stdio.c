/* The distribution's static archives are built for programs, not for shared libraries: they reach
 * stdin, stdout and stderr by PC-relative addresses, which a linker refuses across a library's
 * border. The build renames those three in its copy of each archive (StaxDependencies.cmake), and
 * here they are, set at load.
 */
#include <stdio.h>

extern FILE *stax_hidden_stdin, *stax_hidden_stdout, *stax_hidden_stderr;
FILE *stax_hidden_stdin, *stax_hidden_stdout, *stax_hidden_stderr;

/* 101: the first priority open to programs; the archives' own constructors run after it. */
__attribute__((constructor(101))) static void set_hidden_stdio(void)
{
    stax_hidden_stdin = stdin;
    stax_hidden_stdout = stdout;
    stax_hidden_stderr = stderr;
}
