# Sourced by the scripts beside it: where things are, and how they speak. Nothing runs on sourcing.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf 'stax: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

# quietly LOG COMMAND...: output goes to LOG, and to stderr only when COMMAND fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 && return 0
    tail -n 60 "$log" >&2
    die "failed: $* (whole output in $log)"
}

cuda_root() {
    local dir
    for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        if [ -n "$dir" ] && [ -e "$dir/include/cuda.h" ]; then
            printf '%s\n' "$dir"
            return 0
        fi
    done
    return 1
}
