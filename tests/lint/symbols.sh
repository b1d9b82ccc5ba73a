#!/usr/bin/env bash
# symbols.sh [LIBRARY [LIST]]: what libstaxtune.so exports begins with stax_ and is what symbols.txt lists, so that a
# function cannot enter or leave the library by accident. STAX_UPDATE=1 writes the list anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
library=${1:-${STAX_BUILD_DIR:?the build folder}/lib/libstaxtune.so}
list=${2:-$here/symbols.txt}
if [ ! -e "$library" ]; then
    printf '%s is missing: build it first\n' "$library"
    exit 1
fi
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | LC_ALL=C sort -u)
[ -n "$exported" ] || { printf '%s exports nothing\n' "$library"; exit 1; }
bad=0
if grep -v '^stax_' <<<"$exported"; then
    printf 'exported without stax_ (tuner/stax_tune.map)\n'
    bad=1
fi
if [ "${STAX_UPDATE:-0}" = 1 ]; then
    printf '%s\n' "$exported" >"$list"
fi
if ! diff -u "$list" <(printf '%s\n' "$exported"); then
    printf 'exported symbols changed: if on purpose, run STAX_UPDATE=1 bash tests/lint/symbols.sh\n'
    bad=1
fi
printf '%d symbols\n' "$(wc -l <<<"$exported")"
exit "$bad"
