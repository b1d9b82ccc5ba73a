#!/usr/bin/env bash
# one_definition.sh [FOLDER]: no two modules define the same global name. The linker takes the first it meets and says nothing
# while the other stays in its archive, so a call can land in a function of another module. (stax_hidden_* come with HDF5.)
set -euo pipefail
folder=${1:-${STAX_BUILD_DIR:?the build folder}/archive}
archives=("$folder"/libstax_*.a)
[ -e "${archives[0]}" ] || { printf 'no libraries in %s: build first\n' "$folder"; exit 1; }
names=$(nm --defined-only -g "${archives[@]}" 2>/dev/null | awk 'NF == 3 && $2 ~ /^[TDBRC]$/ {print $3}' | grep -v '^stax_hidden_' | LC_ALL=C sort)
[ -n "$names" ] || { printf 'the libraries in %s define nothing\n' "$folder"; exit 1; }
twice=$(uniq -d <<<"$names")
printf '%d names\n' "$(wc -l <<<"$names")"
if [ -n "$twice" ]; then
    printf 'defined in two modules:\n%s\n' "$twice"
    exit 1
fi
