#!/usr/bin/env bash
# scripts/build.sh [release|debug|sanitize|clang [TARGET...]]: configures and builds a preset in build/PRESET,
# all of it or the targets named.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=${1:-release}
targets=()
[ $# -lt 2 ] || targets=(--target "${@:2}")
case "$preset" in
release | debug | sanitize | clang) ;;
*) die "usage: scripts/build.sh [release|debug|sanitize|clang [TARGET...]]" ;;
esac
cd "$root"
build=$root/build/$preset
mkdir -p "$build"
# Two builds of one folder at a time would break each other.
exec 9>"$build/.lock"
flock 9
quietly "$build/configure.log" cmake --preset "$preset"
quietly "$build/build.log" cmake --build --preset "$preset" "${targets[@]}" 9>&-
say "built $build"
