#!/usr/bin/env bash
# include_graph.sh [ROOT]: every #include keeps to the layers. base/ sees only itself; codegen/, search/, measure/ and
# results/ see base/ and themselves; tuner/ sees base/ and each module's own header; the command line sees
# only tuner/stax_tune.h; a library from outside is seen by the folders that own it. tests/ may see all.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$root"

# From outside: header pattern -> folders that may include it.
owner_of() {
    case $1 in
    hdf5.h | H5*) echo results ;;
    jansson.h) echo "results tuner" ;; # recordings of other tuners; documents of ours
    cuda*.h | nvrtc.h | cupti*.h | nvml.h | generated_cuda* | nvrtc*) echo measure ;;
    xxhash.h) echo base ;;
    xgboost/*) echo search ;;
    omp.h | curl/* | openssl/*) echo nobody ;;
    *) echo any ;;
    esac
}

# allowed FILE TARGET: may FILE include "TARGET"?
allowed() {
    case $1 in
    tuner/stax_tune.h) return 1 ;; # installed alone
    tuner/main.c | tuner/cli*) case $2 in tuner/stax_tune.h | tuner/cli*.h) return 0 ;; *) return 1 ;; esac ;;
    esac
    case $2 in
    build_id.h) [[ $1 == measure/* || $1 == results/* || $1 == tuner/* ]] ;;
    base/*) return 0 ;;
    "${1%%/*}"/*) return 0 ;;
    codegen/codegen.h | search/search.h | measure/measure.h | results/results.h) [[ $1 == tuner/* ]] ;;
    *) return 1 ;;
    esac
}

bad=0
report() {
    printf '%s: %s\n' "$1" "$2"
    bad=1
}

files=0
includes=0
while IFS= read -r file; do
    files=$((files + 1))
    while IFS= read -r line; do
        includes=$((includes + 1))
        number=${line%%:*}
        if [[ $line =~ \#[[:space:]]*include[[:space:]]*\"([^\"]+)\" ]]; then
            target=${BASH_REMATCH[1]}
            if [ "$target" != build_id.h ] && [ ! -e "$target" ]; then
                report "$file:$number" "\"$target\" is not a path from the root"
            elif ! allowed "$file" "$target"; then
                report "$file:$number" "${file%%/*}/ may not include \"$target\""
            fi
        elif [[ $line =~ \#[[:space:]]*include[[:space:]]*\<([^\>]+)\> ]]; then
            owner=$(owner_of "${BASH_REMATCH[1]}")
            if [ "$owner" != any ] && [[ " $owner " != *" ${file%%/*} "* ]]; then
                report "$file:$number" "<${BASH_REMATCH[1]}> belongs to $owner"
            elif [ "$owner" != any ] && [[ $file == tuner/stax_tune.h || $file == tuner/cli* || $file == tuner/main.c ]]; then
                report "$file:$number" "<${BASH_REMATCH[1]}> does not belong to the command line or its header"
            fi
        fi
    done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$file" || true)
done < <(find base codegen search measure results tuner \
    \( -name '*.c' -o -name '*.h' -o -name '*.def' \) \
    -not -path '*/kernels/*' -not -path '*/templates/*' 2>/dev/null | sort)

# Device code is compiled by NVRTC without a single header.
while IFS= read -r file; do
    if grep -nE '^[[:space:]]*#[[:space:]]*include' "$file" >&2; then
        report "$file" "device code has no #include"
    fi
done < <(find codegen measure \( -name '*.cu' -o -name '*.cuh' \) 2>/dev/null | sort)

# A module whose files nobody finds is a broken check, not a clean one.
[ "$files" -gt 0 ] || report "$root" "no source files found"
printf '%d files, %d includes\n' "$files" "$includes"
exit "$bad"
