#!/usr/bin/env bash
# The runner of cases can fail: right expectations pass, each wrong one does not.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

# expect STATUS PATTERN CASE-TEXT
expect() {
    local status=0 output
    printf '%b' "$3" >"$folder/a.case"
    output=$(bash "$here/run.sh" "$folder/a.case" 2>&1) || status=$?
    if [ "$status" -ne "$1" ] || ! grep -qE -- "$2" <<<"$output"; then
        printf 'expected status %d and /%s/, got %d from\n%b%s\n' "$1" "$2" "$status" "$3" "$output"
        bad=1
    fi
}

expect 0 '' 'run echo a; echo b >&2; exit 3\nexit 3\nout = a\nout ~ ^a$\nout ! b\nout lines 1\nerr = b\n'
expect 0 '' '# shared folder\nsetup echo x > f\nrun cat f\nout = x\nfile f ~ ^x$\nfile f\nrun true\nout none\nerr none\n'
expect 0 '' 'run echo "$HOME $XDG_DATA_HOME $XDG_CACHE_HOME"\nout ~ ^/tmp.*/home /tmp.*/data /tmp.*/cache$\n'
expect 77 'skipped' 'needs false\nrun false\n'
expect 1 'exit status 1, expected 0' 'run false\n'
expect 1 'exit status 0, expected 2' 'run true\nexit 2\n'
expect 1 'stdout differs' 'run echo a; echo b\nout = a\n'
expect 1 'stdout differs' 'run true\nout = a\n'
expect 1 'no line of stdout matches /.z./' 'run echo a\nout ~ ^z$\n'
expect 1 'a line of stderr matches /a/' 'run echo a >&2\nerr ! a\n'
expect 1 'stdout is not empty' 'run echo a\nout none\n'
expect 1 'stderr has 0 lines, expected 1' 'run true\nerr lines 1\n'
expect 1 'no file f' 'run true\nfile f\n'
expect 1 'no line of f matches' 'run echo a > f\nfile f ~ b\n'
expect 1 'set-up failed' 'setup false\nrun true\n'
expect 1 'not understood: output a' 'run echo a\noutput a\n'
expect 1 'a check before any run' 'out = a\n'
expect 1 'the case checks nothing' '# nothing\n'
expect 1 'the program broke' 'run echo "ERROR: AddressSanitizer: x" >&2\n'
STAX_CLI_LIMIT_S=1 expect 1 'still running after 1 s' 'run sleep 5\n'
exit "$bad"
