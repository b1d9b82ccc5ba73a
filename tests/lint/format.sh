#!/usr/bin/env bash
# format.sh [ROOT]: clang-format would change nothing. Only version 14 decides: others break lines elsewhere. Tables
# (*.def), text that is embedded and golden files are exempt.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$root"
tool=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$tool" ] || ! "$tool" --version | grep -q 'version 14\.'; then
    printf 'clang-format 14 is not installed: not checked\n'
    exit 77
fi
mapfile -t files < <(find base codegen search measure results tuner tests scripts \( -name '*.c' -o -name '*.h' \) \
    -not -path '*/kernels/*' -not -path '*/templates/*' -not -path 'tests/golden/*.c' \
    -not -path 'tests/data/*' 2>/dev/null | sort)
[ ${#files[@]} -gt 0 ] || { printf 'no source files in %s\n' "$root"; exit 1; }
mapfile -t bad < <("$tool" --dry-run -Werror --style=file "${files[@]}" 2>&1 |
    sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .*/\1/p' | sort -u)
printf '%d files\n' "${#files[@]}"
if [ ${#bad[@]} -gt 0 ]; then
    printf 'run: clang-format -i'
    printf ' %s' "${bad[@]}"
    printf '\n'
    exit 1
fi
