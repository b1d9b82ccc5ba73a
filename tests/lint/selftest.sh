#!/usr/bin/env bash
# Each lint can fail: a small tree passes, then one violation at a time is planted and must be named.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
unset STAX_BUILD_DIR
bad=0

fresh() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{base,codegen,search,measure,results,tuner,tests}
    local folder
    for folder in base codegen search measure results; do
        printf '#ifndef G_%s\n#define G_%s\n#include <stddef.h>\nextern int %s_x;\n#endif\n' \
            "$folder" "$folder" "$folder" >"$tree/$folder/$folder.h"
        printf '#include "%s/%s.h"\n\nint %s_x;\n' "$folder" "$folder" "$folder" >"$tree/$folder/$folder.c"
    done
    printf '#ifndef G_P\n#define G_P\nextern int private_x;\n#endif\n' >"$tree/codegen/private.h"
    printf '#ifndef G_T\n#define G_T\nint stax_go(void);\n#endif\n' >"$tree/tuner/stax_tune.h"
    printf '#include "codegen/codegen.h"\n#include "results/results.h"\n' >"$tree/tuner/session.c"
    printf '#include "tuner/stax_tune.h"\n' >"$tree/tuner/main.c"
}

# expect LINT STATUS PATTERN WHAT
expect() {
    local status=0 output
    output=$(bash "$here/$1.sh" "$tree" 2>&1) || status=$?
    if [ "$status" -ne "$2" ] || ! grep -qE "$3" <<<"$output"; then
        printf '%s: %s: expected status %d and /%s/, got %d:\n%s\n' "$1" "$4" "$2" "$3" "$status" "$output"
        bad=1
    fi
}

# planted LINT PATTERN FILE TEXT: TEXT at the end of FILE makes LINT fail and say PATTERN.
planted() {
    fresh
    mkdir -p "$(dirname "$tree/$3")"
    printf '%b' "$4" >>"$tree/$3"
    expect "$1" 1 "$2" "$3 with $4"
}

for lint in include_graph file_size headers_alone words; do
    fresh
    expect "$lint" 0 '[1-9][0-9]* (files|headers)' "clean tree"
    rm -rf "${tree:?}"/*
    expect "$lint" 1 'no (source |)(files|headers)' "empty tree"
done

planted include_graph 'base/base.c:4: base/ may not include "search/search.h"' base/base.c '#include "search/search.h"\n'
planted include_graph 'search/ may not include "codegen/codegen.h"' search/search.c '#include "codegen/codegen.h"\n'
planted include_graph 'measure/ may not include "results/results.h"' measure/worker/a.c '  #  include "results/results.h"\n'
planted include_graph 'tuner/ may not include "codegen/private.h"' tuner/session.c \
    '#include "codegen/private.h"\n'
planted include_graph '"search.h" is not a path from the root' search/search.c '#include "search.h"\n'
planted include_graph 'tuner/ may not include "base/base.h"' tuner/main.c '#include "base/base.h"\n'
planted include_graph 'tuner/ may not include "results/results.h"' tuner/cli_show.c '#include "results/results.h"\n'
planted include_graph '<hdf5.h> belongs to results' tuner/session.c '#include <hdf5.h>\n'
planted include_graph '<jansson.h> belongs to results tuner' search/search.c '#include <jansson.h>\n'
planted include_graph '<cuda.h> belongs to measure' codegen/codegen.c '#include <cuda.h>\n'
planted include_graph 'tuner/ may not include "base/base.h"' tuner/stax_tune.h '#include "base/base.h"\n'
planted include_graph 'codegen/ may not include "build_id.h"' codegen/codegen.c '#include "build_id.h"\n'
planted include_graph 'device code has no #include' measure/flush.cu '#include <stdint.h>\n'
planted file_size 'search/search.c: 6[0-9][0-9] lines' search/search.c "$(printf '\\n%.0s' $(seq 600))"
planted headers_alone 'base/base.h does not compile alone' base/base.h 'extern size_u wrong;\n'
planted headers_alone 'base/twice.h does not compile alone' base/twice.h 'struct twice { int x; };\n'
planted words 'left over' base/base.c '/* TO''DO: later */\n'
planted words 'does not belong' search/search.c '/* see iss''ue 7 */\n'
planted words 'does not belong' README.md 'in /wor''k/main\n'

# Symbols: a library with a foreign export, and one that differs from its list.
if command -v "${CC:-cc}" >/dev/null; then
    fresh
    printf 'int stax_one(void){return 1;}\nint other(void){return 2;}\n' >"$tree/a.c"
    "${CC:-cc}" -shared -fPIC -o "$tree/a.so" "$tree/a.c"
    printf 'other\nstax_one\n' >"$tree/list"
    if bash "$here/symbols.sh" "$tree/a.so" "$tree/list" >/dev/null; then
        printf 'symbols: a foreign export passed\n'
        bad=1
    fi
    printf 'int stax_one(void){return 1;}\n' >"$tree/a.c"
    "${CC:-cc}" -shared -fPIC -o "$tree/a.so" "$tree/a.c"
    if bash "$here/symbols.sh" "$tree/a.so" "$tree/list" >/dev/null; then
        printf 'symbols: a missing export passed\n'
        bad=1
    fi
    printf 'stax_one\n' >"$tree/list"
    if ! bash "$here/symbols.sh" "$tree/a.so" "$tree/list" >/dev/null; then
        printf 'symbols: the right list failed\n'
        bad=1
    fi
fi
exit "$bad"
