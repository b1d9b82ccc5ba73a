#!/usr/bin/env bash
# The whole test run: sets up, builds Debug and runs every test, then again under ASan and UBSan without the
# lint tests. Prints ctest's output and ends with both summaries. Needs no GPU: tests that want one skip.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

jobs=$(nproc)
"$root/scripts/setup.sh" --tests
cd "$root"

failed=0
summaries=$(mktemp)
trap 'rm -f "$summaries"' EXIT

# run_tests PRESET CTEST-OPTIONS...
run_tests() {
    local preset=$1 output=$root/build/$1/ctest.log
    shift
    "$root/scripts/build.sh" "$preset"
    printf '== %s ==\n' "$preset"
    rm -rf "$root/build/$preset/test-home"
    if ! ctest --test-dir "$root/build/$preset" --no-tests=error --output-on-failure -j "$jobs" "$@" 2>&1 |
        tee "$output"; then
        failed=1
    fi
    {
        printf '== %s: ' "$preset"
        grep -E 'tests passed|No tests were found' "$output" || printf 'no summary\n'
        sed -n '/The following tests FAILED/,/^Errors while/p' "$output"
    } >>"$summaries"
}

run_tests debug
run_tests sanitize --label-exclude '^lint$'

printf '\n'
cat "$summaries"
[ "$failed" -eq 0 ] || die "tests failed"
say "all tests passed"
