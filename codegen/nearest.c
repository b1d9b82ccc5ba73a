/* Suggestions for misspelt names: the Levenshtein distance, at most a third of the name's length
 * (chosen). */
#include <string.h>

#include "codegen/parse.h"

enum { LONGEST = 64 };

static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1], length_b = (int)strlen(b);
    if (strlen(a) > LONGEST || length_b > LONGEST) {
        return LONGEST;
    }
    for (int j = 0; j <= length_b; j++) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int above = row[j];
            int least = row[j - 1] < above ? row[j - 1] + 1 : above + 1;
            int change = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = change < least ? change : least;
            diagonal = above;
        }
    }
    return row[length_b];
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
