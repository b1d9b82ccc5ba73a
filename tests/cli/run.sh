#!/usr/bin/env bash
# run.sh [CASE...]: runs command-line cases (README.md describes the format), all of this folder when none is named.
# Each case runs in a fresh folder with its own home, so that none sees the user's database or another's.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
source_dir=${STAX_SOURCE_DIR:-$(cd "$here/../.." && pwd -P)}
build=${STAX_BUILD_DIR:-$source_dir/build/debug}
limit_s=${STAX_CLI_LIMIT_S:-240} # below ctest's 300, so that the message is ours

failures=0
checks=0
where=

fail() {
    printf '%s: %s\n' "$where" "$1"
    failures=$((failures + 1))
}

# Splits "out ~ text" into stream, operator and operand; the operand keeps its inner and trailing blanks.
split() {
    if [[ $1 =~ ^(out|err)[[:space:]]+(=|~|!|none|lines)[[:space:]]?(.*)$ ]]; then
        stream=${BASH_REMATCH[1]} operator=${BASH_REMATCH[2]} operand=${BASH_REMATCH[3]}
        return 0
    fi
    return 1
}

show() {
    printf -- '--- stdout\n'
    head -n 40 out
    printf -- '--- stderr\n'
    head -n 40 err
    printf -- '---\n'
}

finish_run() { # checks what the whole run must satisfy
    [ -n "$command" ] || return 0
    local before=$failures
    checks=$((checks + 1))
    if [ "$status" -ne "$expected" ]; then
        where=$at fail "exit status $status, expected $expected: $command"
    fi
    local stream
    for stream in out err; do
        if [ -s "want_$stream" ]; then
            if ! diff -u --label expected "want_$stream" --label "std$stream" "$stream"; then
                where=$at fail "std$stream differs: $command"
            fi
        fi
    done
    if grep -qE 'Sanitizer|runtime error:|core dumped' err; then
        where=$at fail "the program broke: $command"
    fi
    if [ "$failures" -ne "$before" ] || [ "$run_failed" -ne 0 ]; then show; fi
    command=
}

start_run() {
    command=$1
    at=$where
    expected=0
    run_failed=0
    : >want_out
    : >want_err
    status=0
    timeout -k 5 "$limit_s" bash -c "$command" >out 2>err </dev/null || status=$?
    if [ "$status" -eq 124 ]; then
        where=$at fail "still running after $limit_s s: $command"
    fi
}

check_line() {
    local line=$1 hits
    case $line in
    '' | '#'*) ;;
    'run '*)
        finish_run
        start_run "${line#run }"
        ;;
    'setup '*)
        finish_run
        if ! bash -c "${line#setup }" >setup.log 2>&1; then
            fail "set-up failed: ${line#setup }"
            cat setup.log
        fi
        ;;
    'needs '*)
        if ! bash -c "${line#needs }" >/dev/null 2>&1; then
            printf '%s: skipped, needs: %s\n' "$where" "${line#needs }"
            return 77
        fi
        ;;
    'exit '*) expected=${line#exit } ;;
    'file '*)
        checks=$((checks + 1))
        local path pattern
        path=${line#file }
        pattern=${path#* ~ }
        path=${path%% ~ *}
        if [ ! -e "$path" ]; then
            fail "no file $path"
        elif [ "$pattern" != "$path" ] && ! grep -qE -- "$pattern" "$path"; then
            fail "no line of $path matches /$pattern/"
            head -n 40 "$path"
        fi
        ;;
    *)
        if ! split "$line"; then
            fail "not understood: $line"
            return 0
        fi
        [ -n "$command" ] || fail "a check before any run: $line"
        checks=$((checks + 1))
        local before=$failures
        case $operator in
        '=') printf '%s\n' "$operand" >>"want_$stream" ;;
        '~') grep -qE -- "$operand" "$stream" || fail "no line of std$stream matches /$operand/" ;;
        '!') ! grep -qE -- "$operand" "$stream" || fail "a line of std$stream matches /$operand/" ;;
        none) [ ! -s "$stream" ] || fail "std$stream is not empty" ;;
        lines)
            hits=$(wc -l <"$stream")
            [ "$hits" -eq "$operand" ] || fail "std$stream has $hits lines, expected $operand"
            ;;
        esac
        [ "$failures" -eq "$before" ] || run_failed=1
        ;;
    esac
    return 0
}

run_case() { # in the case's own folder
    local case=$1 number=0 line
    command=
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        where=$(basename "$case"):$number
        check_line "$line" || return $?
    done <"$case"
    finish_run
    if [ "$checks" -eq 0 ]; then fail "the case checks nothing"; fi
    [ "$failures" -eq 0 ]
}

[ $# -gt 0 ] || set -- "$here"/*.case
result=0
for case in "$@"; do
    case=$(readlink -f "$case")
    [ -r "$case" ] || {
        printf 'no case %s\n' "$case"
        exit 1
    }
    folder=$(mktemp -d)
    (
        cd "$folder" || exit 1
        mkdir home data cache
        export HOME=$folder/home XDG_DATA_HOME=$folder/data XDG_CACHE_HOME=$folder/cache
        export STAX_SOURCE_DIR=$source_dir STAX_BUILD_DIR=$build STAX_WORKER=$build/bin/stax-worker
        export PATH=$build/bin:$PATH LC_ALL=C
        run_case "$case"
    )
    status=$?
    rm -rf "$folder"
    if [ "$status" -eq 77 ]; then
        [ $# -gt 1 ] || exit 77
    elif [ "$status" -ne 0 ]; then
        result=1
    fi
done
exit "$result"
