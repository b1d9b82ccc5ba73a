#!/usr/bin/env bash
# Installs what the build needs (--tests: also what the tests need) on Debian and Ubuntu. Asks dpkg first, so a
# machine that has everything sees no apt at all. Never needs a GPU; a CUDA toolkit is used when there is one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(gcc libc6-dev binutils cmake ninja-build
    libhdf5-dev libaec-dev zlib1g-dev libjansson-dev libxxhash-dev libxgboost-dev)
case "${1:-}" in
'') packages+=(libcmocka-dev) ;;
--tests) packages+=(g++ libcmocka-dev hdf5-tools gnuplot-nox jq python3 python3-h5py python3-pandas) ;;
*) die "usage: scripts/setup.sh [--tests]" ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    say "not Debian or Ubuntu: install by hand CMake 3.25, Ninja, GCC 12 or Clang 14, and the" \
        "development files of HDF5 (static), libaec, zlib, jansson (static), xxhash, cmocka and XGBoost 1.7"
    exit 0
fi

missing=()
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
    grep -qx "ii $package" <<<"$installed" || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || die "run as root or with sudo: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    log=$(mktemp)
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
        --no-install-recommends "${missing[@]}")
    # The package lists may be old or empty: refresh them, but an unreachable mirror is no reason to stop
    # as long as the install itself works.
    "${as_root[@]}" apt-get update -q >"$log" 2>&1 || true
    if ! "${install[@]}" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "apt-get could not install ${missing[*]} (whole output in $log)"
    fi
    rm -f "$log"
fi

if dir=$(cuda_root); then
    say "CUDA toolkit: $dir"
else
    say "no CUDA toolkit (CUDA_HOME or /usr/local/cuda): cpu only"
fi
