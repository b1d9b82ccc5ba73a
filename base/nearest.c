/* Suggestions for misspelt names: edit distance with swaps of neighbours (optimal string
 * alignment), at most a third of the name's length (chosen). */
#include <string.h>

#include "base/nearest.h"

enum { LONGEST = 64 };

static int distance(const char *a, const char *b)
{
    int row[3][LONGEST + 1]; /* the row above the one above, above, and this one, in turn */
    int length_b = (int)strlen(b), length_a = (int)strlen(a);
    if (length_a > LONGEST || length_b > LONGEST) return LONGEST;
    for (int j = 0; j <= length_b; j++) row[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int least = (now[j - 1] < above[j] ? now[j - 1] : above[j]) + 1;
            int change = above[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = change < least ? change : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[length_a % 3][length_b];
}

const char *nearest_name(const char *name, const char *(*each)(const void *data, int index),
                         const void *data, int count)
{
    const char *best = NULL;
    int limit = (int)strlen(name) / 3, least = (limit < 1 ? 1 : limit) + 1;
    for (int i = 0; i < count; i++) {
        const char *known = each(data, i);
        int away = distance(name, known);
        if (known[0] != '_' && away < least) {
            least = away;
            best = known;
        }
    }
    return best;
}

const char *nearest_in_array(const void *names, int index)
{
    return ((const char *const *)names)[index];
}
