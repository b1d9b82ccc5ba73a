#!/usr/bin/env bash
# Runs the installed tests (run-tests.sh in a tree made by install-relocatable.sh; PATTERN picks some by name) and
# says for each passed, skipped (status 77) or failed. STAX_REQUIRE_GPU=1 turns a missing GPU into a failure.
set -uo pipefail
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
export STAX_SOURCE_DIR=$tree STAX_BUILD_DIR=$tree STAX_TEST_DIR=$tree/tests
export STAX_WORKER=$tree/bin/stax-worker STAX_TUNE=$tree/bin/stax-tune
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export XDG_DATA_HOME=$home/data XDG_CACHE_HOME=$home/cache

passed=0
skipped=0
failed=()
for test in "$tree"/tests/test_*"${1:-}"*; do
    [ -x "$test" ] || continue
    name=${test##*/}
    status=0
    (cd "$tree" && timeout -k 5 300 "$test") >"$home/log" 2>&1 || status=$?
    case $status in
    0) passed=$((passed + 1)) word=passed ;;
    77) skipped=$((skipped + 1)) word=skipped ;;
    *)
        failed+=("$name")
        word="failed with status $status"
        tail -n 40 "$home/log"
        ;;
    esac
    printf '%-40s %s\n' "$name" "$word"
done
printf '%d passed, %d skipped, %d failed' "$passed" "$skipped" "${#failed[@]}"
[ ${#failed[@]} -eq 0 ] || printf ': %s' "${failed[*]}"
printf '\n'
[ $((passed + skipped)) -gt 0 ] && [ ${#failed[@]} -eq 0 ]
