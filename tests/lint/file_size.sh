#!/usr/bin/env bash
# file_size.sh [ROOT]: no source file over 600 lines (400 is the aim; a longer file wants splitting).
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$root"
limit=600
bad=0
files=0
while IFS= read -r file; do
    files=$((files + 1))
    lines=$(wc -l <"$file")
    if [ "$lines" -gt "$limit" ]; then
        printf '%s: %d lines, at most %d\n' "$file" "$lines" "$limit"
        bad=1
    fi
done < <(find base codegen search measure results tuner tests \
    \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -not -path 'tests/data/*' 2>/dev/null | sort)
[ "$files" -gt 0 ] || { printf 'no source files in %s\n' "$root"; exit 1; }
printf '%d files\n' "$files"
exit "$bad"
