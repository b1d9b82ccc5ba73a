#!/usr/bin/env bash
# words.sh [ROOT]: the project speaks of itself alone, and leaves nothing marked as left over. Looks through every
# text file git knows, or every file where ROOT is no repository.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$root"
# Each word is broken by [] so that this file does not find itself.
left_over='\bTO[D]O\b|\bFIX[M]E\b|\bXX[X]\b|not implemente[d]|\bstu[b]bed\b'
foreign='sub[a]gent|/wor[k]/|\.\./share[d]\b|(^|[^a-z0-9_])\.librar[y]\b|\bclaud[e]\b|\banthropi[c]\b|this sessio[n]\b|\bCI machin[e]\b|\bissue #?[0-9]|co-authored-b[y]'
hosts='\bpypi\.or[g]|registry\.npmj[s]|deb\.debian\.or[g]|crates\.i[o]|archive\.ubuntu\.co[m]|conda\.anaconda\.or[g]'

if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ]; then
    list() { git ls-files -z --cached --others --exclude-standard; }
else
    list() { find . -type f -print0; }
fi
# .ci/run alone may know what lies beside the checkout; recorded data speaks of whatever was recorded.
files=$(list | grep -zvE '^(\./)?(\.ci/run$|tests/data/|LICENSE$)' | tr '\0' '\n' | sed '/^$/d' || true)
[ -n "$files" ] || { printf 'no files in %s\n' "$root"; exit 1; }
bad=0
hits=$(tr '\n' '\0' <<<"$files" | xargs -0 grep -nIE "$left_over" -- 2>/dev/null || true)
if [ -n "$hits" ]; then
    printf 'left over:\n%s\n' "$hits"
    bad=1
fi
hits=$(tr '\n' '\0' <<<"$files" | xargs -0 grep -nIiE "$foreign|$hosts" -- 2>/dev/null || true)
if [ -n "$hits" ]; then
    printf 'does not belong in the project:\n%s\n' "$hits"
    bad=1
fi
printf '%d files\n' "$(wc -l <<<"$files")"
exit "$bad"
