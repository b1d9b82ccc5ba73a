/* Text for a person: lines, tables, documents. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/tuner.h"

void say(stax_tuner *tuner, int stream, const char *format, ...)
{
    if (!tuner->write) return;
    struct arena *scratch = arena_create();
    va_list args;
    va_start(args, format);
    tuner->write(tuner->write_data, stream, arena_vprintf(scratch, format, args));
    va_end(args);
    arena_destroy(scratch);
}

/* Columns on screen: bytes that do not continue a UTF-8 sequence. */
static int width_of(const char *cell)
{
    int width = 0;
    for (; *cell; cell++) width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

void say_table(stax_tuner *tuner, int stream, int columns, int rows, const char *const *cells)
{
    struct arena *scratch = arena_create();
    int *width = ARENA_ARRAY(scratch, int, columns);
    for (int i = 0; i < rows * columns; i++) {
        int w = width_of(cells[i]);
        if (w > width[i % columns]) width[i % columns] = w;
    }
    struct text text = text_make(scratch);
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            const char *cell = cells[row * columns + column];
            text_printf(&text, "%s%s", column ? "  " : "", cell);
            if (column + 1 < columns) text_printf(&text, "%*s", width[column] - width_of(cell), "");
        }
        text_add(&text, "\n");
    }
    say(tuner, stream, "%s", text_string(&text));
    arena_destroy(scratch);
}

enum stax_status write_file(const char *path, const char *bytes, size_t length)
{
    struct arena *scratch = arena_create();
    char *temporary = arena_printf(scratch, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(temporary, "w");
    enum stax_status status = STAX_OK;
    if (!file) {
        status = status_set(STAX_IO, "cannot write %s: %s", path, strerror(errno));
    } else {
        int bad = fwrite(bytes, 1, length, file) != length;
        bad |= fclose(file) != 0;
        if (bad || rename(temporary, path) != 0) {
            status = status_set(STAX_IO, "cannot write %s: %s", path, strerror(errno));
            unlink(temporary);
        }
    }
    arena_destroy(scratch);
    return status;
}

/* Written under a temporary name and renamed, so that a reader never sees half a document. */
enum stax_status write_document(stax_tuner *tuner, const char *path, const char *document)
{
    if (strcmp(path, "-") == 0) {
        say(tuner, 1, "%s\n", document);
        return STAX_OK;
    }
    struct arena *scratch = arena_create();
    const char *text = arena_printf(scratch, "%s\n", document);
    enum stax_status status = write_file(path, text, strlen(text));
    arena_destroy(scratch);
    return status;
}

/* A path that cannot be written is said before a long run, not after it. */
enum stax_status check_document(const char *path)
{
    if (!path || strcmp(path, "-") == 0) return STAX_OK;
    struct arena *scratch = arena_create();
    char *folder = arena_text(scratch, path), *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    bool good = access(slash ? folder : ".", W_OK | X_OK) == 0;
    int error = errno;
    arena_destroy(scratch);
    if (!good) STAX_RETURN(STAX_IO, "cannot write %s: %s", path, strerror(error));
    return STAX_OK;
}

char *time_text(double ns, struct arena *arena)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    if (!isfinite(ns)) return arena_text(arena, "-");
    for (size_t i = 0; i < STAX_COUNT(units); i++) {
        if (ns < units[i].ns && i + 1 < STAX_COUNT(units)) continue;
        double value = ns / units[i].ns;
        int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3; /* four digits */
        return arena_printf(arena, "%.*f %s", decimals, value, units[i].unit);
    }
    return arena_text(arena, "-");
}
