#!/usr/bin/env bash
# install-relocatable.sh DEST: builds Release and installs a tree that runs from any place on any Linux with a glibc
# no older than this machine's, with nothing beside it but, for GPUs, the driver and a CUDA toolkit:
#   bin/ the programs   lib/ the library   include/ its header   tests/ the device tests, cmocka, recorded data
#   bench/ the benchmark scripts   run-tests.sh runs the tests there
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -eq 1 ] || die "usage: scripts/install-relocatable.sh DEST"
mkdir -p "$1"
dest=$(cd "$1" && pwd -P)

"$root/scripts/setup.sh"
"$root/scripts/build.sh" release
build=$root/build/release
quietly "$build/install.log" cmake --install "$build" --prefix "$dest" --strip

rm -rf "$dest/bench" "$dest/tests/data" "$dest/tests/support"
mkdir -p "$dest/tests/support"
for pair in scripts/bench:bench tests/data:tests/data; do
    if [ -d "$root/${pair%%:*}" ]; then cp -r "$root/${pair%%:*}" "$dest/${pair##*:}"; fi
done
# Texts that tests read at run time, under the path they have in the source tree.
find "$root/tests/support" -type f -not -name '*.[ch]' -exec cp -t "$dest/tests/support" {} +
install -m 755 "$root/scripts/run-installed-tests.sh" "$dest/run-tests.sh"

# Nothing but the C library and the compiler's own may be needed; cmocka lies beside its users.
system='linux-vdso|ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libgomp'
bad=0
checked=0
while IFS= read -r file; do
    checked=$((checked + 1))
    needed=$(ldd "$file")
    foreign=$(grep -vE "^[[:space:]]*(/lib(64)?/)?($system)[.0-9-]*\.so" <<<"$needed" |
        grep -vE "libcmocka\.so\.0 => $dest/tests/|libstaxtune\.so => $dest/(bin/\.\./)?lib/|statically linked" || true)
    if [ -n "$foreign" ]; then
        printf '%s needs\n%s\n' "$file" "$foreign" >&2
        bad=1
    fi
done < <(find "$dest/bin" "$dest/lib" "$dest/tests" -type f \( -perm -u+x -o -name '*.so*' \) \
    -not -path "$dest/tests/data/*" -not -path "$dest/tests/support/*")
for program in bin/stax-tune bin/stax-worker lib/libstaxtune.so; do
    [ -e "$dest/$program" ] || { say "$program was not built"; bad=1; }
done
[ "$bad" -eq 0 ] || die "the tree in $dest is not relocatable"
say "installed $dest ($(du -sh "$dest" | cut -f1), $checked binaries checked)"
