/* Files of artifacts and blobs; see cache.h. */
#include "measure/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/protocol.h"

enum {
    FOOTER_BYTES = 32,         /* magic, length of what precedes, checksum of all before it */
    MAX_CACHE_FILES = 1 << 20, /* chosen: what pruning looks at */
};

static const uint64_t footer_magic = 0x3130584154534341ull; /* "ACSTAX01" */

struct hash128 cache_program_key(const char *source, const char *options, const char *arch,
                                 const char *compiler)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_put_string(&text, source);
    text_put_string(&text, options);
    text_put_string(&text, arch);
    text_put_string(&text, compiler);
    struct hash128 key = hash128_bytes(text.bytes, text.length);
    arena_destroy(scratch);
    return key;
}

const char *cache_path(struct arena *arena, const char *folder, struct hash128 key,
                       const char *ending)
{
    char hex[33];
    hash128_hex(key, hex);
    return arena_printf(arena, "%s/%s%s", folder, hex, ending);
}

static enum stax_status write_all(int fd, const char *path, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t wrote = write(fd, from, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) STAX_RETURN(STAX_IO, "cannot write %s: %s", path, strerror(errno));
        from += wrote;
        length -= (size_t)wrote;
    }
    return STAX_OK;
}

static enum stax_status write_renamed(const char *path, const struct text *text)
{
    struct arena *scratch = arena_create();
    char *temporary = arena_printf(scratch, "%s.%d.tmp", path, (int)getpid());
    enum stax_status status;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        status = status_set(STAX_IO, "cannot write %s: %s", temporary, strerror(errno));
    } else {
        status = write_all(fd, temporary, text->bytes, text->length);
        if (close(fd) != 0 && status == STAX_OK)
            status = status_set(STAX_IO, "cannot write %s: %s", temporary, strerror(errno));
        if (status == STAX_OK && rename(temporary, path) != 0)
            status = status_set(STAX_IO, "cannot rename to %s: %s", path, strerror(errno));
        if (status != STAX_OK) unlink(temporary);
    }
    arena_destroy(scratch);
    return status;
}

enum stax_status cache_write(const char *path, const void *bytes, size_t length)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_add_n(&text, bytes, length);
    struct hash128 check = hash128_bytes(text.bytes, text.length);
    text_put_u64(&text, footer_magic);
    text_put_u64(&text, length);
    text_put_u64(&text, check.low);
    text_put_u64(&text, check.high);
    enum stax_status status = write_renamed(path, &text);
    arena_destroy(scratch);
    return status;
}

static enum stax_status read_whole(int fd, const char *path, struct arena *arena,
                                   const unsigned char **bytes, size_t *length)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        STAX_RETURN(STAX_FORMAT, "%s is no regular file", path);
    *length = (size_t)info.st_size;
    unsigned char *to = arena_alloc(arena, *length);
    for (size_t at = 0; at < *length;) {
        ssize_t got = read(fd, to + at, *length - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) STAX_RETURN(STAX_IO, "cannot read %s", path);
        at += (size_t)got;
    }
    *bytes = to;
    return STAX_OK;
}

enum stax_status cache_read(const char *path, struct arena *arena, const void **bytes,
                            size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) STAX_RETURN(STAX_NOTFOUND, "%s does not exist", path);
    if (fd < 0) STAX_RETURN(STAX_IO, "cannot read %s: %s", path, strerror(errno));
    const unsigned char *whole;
    size_t size;
    enum stax_status status = read_whole(fd, path, arena, &whole, &size);
    if (status == STAX_OK) futimens(fd, NULL); /* pruning drops what was not used for longest */
    close(fd);
    if (status != STAX_OK) return status;
    if (size < FOOTER_BYTES) STAX_RETURN(STAX_FORMAT, "%s is cut off", path);
    struct reader footer = {.bytes = whole + size - FOOTER_BYTES, .length = FOOTER_BYTES};
    uint64_t magic = reader_u64(&footer), stated = reader_u64(&footer);
    struct hash128 check = {.low = reader_u64(&footer)};
    check.high = reader_u64(&footer);
    if (magic != footer_magic || stated != size - FOOTER_BYTES ||
        !hash128_equal(check, hash128_bytes(whole, stated)))
        STAX_RETURN(STAX_FORMAT, "%s is damaged", path);
    *bytes = whole;
    *length = stated;
    return STAX_OK;
}

enum stax_status artifact_write(const char *path, const struct artifact *artifact)
{
    struct arena *scratch = arena_create();
    struct text text = text_make(scratch);
    text_add_n(&text, artifact->binary, artifact->length);
    compile_facts_put(&text, &artifact->facts);
    text_put_string(&text, artifact->log ? artifact->log : "");
    text_put_u64(&text, artifact->length);
    enum stax_status status = cache_write(path, text.bytes, text.length);
    arena_destroy(scratch);
    return status;
}

enum stax_status artifact_read(const char *path, struct arena *arena, struct artifact *artifact)
{
    const void *bytes;
    size_t length;
    STAX_TRY(cache_read(path, arena, &bytes, &length));
    struct reader tail = {.bytes = bytes, .length = length, .at = length < 8 ? 0 : length - 8};
    uint64_t binary = reader_u64(&tail);
    if (tail.bad || binary > length) STAX_RETURN(STAX_FORMAT, "%s is damaged", path);
    *artifact = (struct artifact){.binary = bytes, .length = (size_t)binary};
    struct reader rest = {.bytes = bytes, .length = length - 8, .at = (size_t)binary};
    compile_facts_get(&rest, &artifact->facts);
    artifact->log = reader_string(&rest, arena);
    if (rest.bad || !artifact->log) STAX_RETURN(STAX_FORMAT, "%s is damaged", path);
    return STAX_OK;
}

enum stax_status cache_make_folder(const char *path)
{
    struct arena *scratch = arena_create();
    char *part = arena_text(scratch, path);
    enum stax_status status = STAX_OK;
    for (char *at = part + 1; status == STAX_OK; at++) {
        if (*at != '/' && *at != '\0') continue;
        char was = *at;
        *at = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            status = status_set(STAX_IO, "cannot make the folder %s: %s", part, strerror(errno));
        *at = was;
        if (was == '\0') break;
    }
    arena_destroy(scratch);
    return status;
}

struct cached_file {
    const char *path;
    int64_t used_ns, bytes;
};

static int older_first(const void *left, const void *right)
{
    const struct cached_file *a = left, *b = right;
    return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

void cache_prune(const char *folder, int64_t limit_bytes)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    struct arena *scratch = arena_create();
    size_t count = 0, capacity = 64;
    struct cached_file *files = ARENA_ARRAY(scratch, struct cached_file, capacity);
    int64_t total = 0;
    for (struct dirent *entry; (entry = readdir(dir)) && count < MAX_CACHE_FILES;) {
        const char *path = arena_printf(scratch, "%s/%s", folder, entry->d_name);
        struct stat info;
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        if (count == capacity) {
            files = arena_grow(scratch, files, count, 2 * capacity, sizeof *files);
            capacity *= 2;
        }
        int64_t used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        files[count++] = (struct cached_file){path, used_ns, (int64_t)info.st_size};
        total += (int64_t)info.st_size;
    }
    closedir(dir);
    if (total > limit_bytes) {
        qsort(files, count, sizeof *files, older_first);
        for (size_t i = 0; i < count && total > limit_bytes; i++) {
            if (unlink(files[i].path) == 0) total -= files[i].bytes;
        }
    }
    arena_destroy(scratch);
}

const char *cache_default_folder(struct arena *arena)
{
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && base[0] == '/') return arena_printf(arena, "%s/stax-tune", base);
    const char *home = getenv("HOME");
    if (home && home[0] == '/') return arena_printf(arena, "%s/.cache/stax-tune", home);
    return "";
}
