#!/usr/bin/env bash
# headers_alone.sh [ROOT]: each header compiles by itself, and twice in one file. Paths of headers from outside come
# from the build's cache (STAX_BUILD_DIR); without a CUDA toolkit, headers that read its headers are named and left.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$root"
cache=${STAX_BUILD_DIR:-/nonexistent}/CMakeCache.txt
flags=(-std=c11 -D_GNU_SOURCE -DSTAX_DEBUG=1 -Wall -Wextra -Wpedantic -Werror -Wno-unused-function
    -fsyntax-only -I "$root" -isystem /usr/include/hdf5/serial)
cuda=0
if [ -r "$cache" ]; then
    flags+=(-I "$STAX_BUILD_DIR/generated")
    while IFS= read -r dir; do
        if [ -d "$dir" ]; then flags+=(-isystem "$dir"); fi
    done < <(sed -nE 's/^STAX_(HDF5|JANSSON|CUDA|NVRTC|CUPTI|XGBOOST|CMOCKA)_INCLUDE:PATH=(.*)$/\2/p' "$cache" |
        grep -vx '/usr/include' || true)
    if grep -qE '^STAX_CUPTI_INCLUDE:PATH=/' "$cache"; then cuda=1; fi
fi
flags+=(-DSTAX_HAVE_CUDA_HEADERS=$cuda)

# A header that is embedded as text too is a part of other texts: its own #include would not do there.
embedded=$(cat "${STAX_BUILD_DIR:-/nonexistent}"/generated/*_texts.txt 2>/dev/null || true)

bad=0
headers=0
while IFS= read -r header; do
    if [ "$cuda" -eq 0 ] && grep -qE '#[[:space:]]*include[[:space:]]*<(cuda|nvrtc|cupti)' "$header"; then
        printf '%s: left out, no CUDA headers\n' "$header"
        continue
    fi
    if grep -qxF "$root/$header" <<<"$embedded"; then
        continue
    fi
    headers=$((headers + 1))
    if ! printf '#include "%s"\n#include "%s"\nextern int stax_alone;\n' "$header" "$header" |
        "${CC:-cc}" "${flags[@]}" -x c -; then
        printf '%s does not compile alone\n' "$header"
        bad=1
    fi
done < <(find base codegen search measure results tuner tests -name '*.h' \
    -not -path '*/kernels/*' -not -path '*/templates/*' -not -path 'tests/data/*' -not -path 'tests/golden/*' 2>/dev/null | sort)
[ "$headers" -gt 0 ] || { printf 'no headers in %s\n' "$root"; exit 1; }
printf '%d headers\n' "$headers"
exit "$bad"
