/* Creating, opening and closing the HDF5 file; see h5.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "results/h5.h"

enum {
    FINAL_CHUNK =
        4096, /* measured: 17 B of a 200 B record with shuffle and deflate 1, 54 B at 1024 */
    BLOB_CHUNK = 16384,  /* chosen */
    COMPACT_LINKS = 256, /* more than any table has columns: links stay in the group's header */
    RETRY_MS = 20,       /* chosen */
};

void h5_quiet(void)
{
    static bool started;
    if (!started)
        H5dont_atexit(); /* a file that could not be written must not be tried again at exit */
    started = true;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* The innermost entry is the cause; of a failed system call only its error message. */
static herr_t take_cause(unsigned n, const H5E_error2_t *entry, void *data)
{
    char *cause = data;
    if (n > 0) return 0;
    const char *from = strstr(entry->desc, "error message = '");
    snprintf(cause, 256, "%s", from ? from + strlen("error message = '") : entry->desc);
    char *end = from ? strchr(cause, '\'') : NULL;
    if (end) *end = '\0';
    return 0;
}

enum stax_status h5_error(const char *path, const char *format, ...)
{
    char cause[256] = "", what[512];
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_cause, cause);
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    STAX_RETURN(STAX_IO, "%s: cannot %s: %s", path, what,
                cause[0] ? cause : "HDF5 gives no reason");
}

static hid_t enum_type(const char *const *names, int count)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    for (int i = 0; i < count; i++) {
        signed char value = (signed char)i;
        H5Tenum_insert(type, names[i], &value);
    }
    return type;
}

hid_t h5_disk_type(const struct record_column *column)
{
    static const char *const truth[] = {"FALSE",
                                        "TRUE"}; /* the names by which h5py knows a boolean */
    int count;
    const char *const *names;
    hid_t type;
    switch (column->kind) {
    case KIND_BOOL: return enum_type(truth, 2);
    case KIND_ENUM:
        names = record_enum_names((enum record_enum)column->of, &count);
        return enum_type(names, count);
    case KIND_HEX:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, 32);
        H5Tset_strpad(type, H5T_STR_NULLPAD);
        return type;
    case KIND_I32: return H5Tcopy(H5T_STD_I32LE);
    case KIND_U64: return H5Tcopy(H5T_STD_U64LE);
    case KIND_F32: return H5Tcopy(H5T_IEEE_F32LE);
    case KIND_F64: return H5Tcopy(H5T_IEEE_F64LE);
    default: return H5Tcopy(H5T_STD_I64LE);
    }
}

void h5_commit_name(int index, char name[64])
{
    snprintf(name, 64, "%s", index < TABLE_COUNT ? record_tables[index].name : "text_bytes");
}

/* By name, so that a file with other tables still reads. */
hid_t h5_commit_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct h5_commit));
    for (int i = 0; i <= TABLE_COUNT; i++) {
        char name[64];
        h5_commit_name(i, name);
        H5Tinsert(type, name, (size_t)i * sizeof(uint64_t), H5T_STD_U64LE);
    }
    return type;
}

/* Of variable length: h5py gives a str for those, bytes for fixed ones. They are written once, with
 * the file. */
static bool put_text_attribute(hid_t object, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, &value) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool create_dataset(hid_t group, const char *name, hid_t type, int chunk, bool finalised,
                           const char *unit, const char *about)
{
    hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk_rows = (hsize_t)chunk;
    hid_t space = H5Screate_simple(1, &none, &unlimited), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 1, &chunk_rows);
    if (finalised) {
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 9); /* written once; 4 is hardly larger (measured) */
    }
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool good = dataset >= 0 && (!unit[0] || put_text_attribute(dataset, "units", unit)) &&
                put_text_attribute(dataset, "about", about);
    if (dataset >= 0) H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    return good;
}

static bool create_table(hid_t file, enum record_table table, bool finalised)
{
    const struct record_table_row *of = &record_tables[table];
    hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_link_creation_order(plist, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_link_phase_change(plist, COMPACT_LINKS, COMPACT_LINKS - 1);
    hid_t group = H5Gcreate2(file, of->name, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    bool good = group >= 0 && put_text_attribute(group, "about", of->about);
    for (int i = of->first; good && i < of->first + of->count; i++) {
        const struct record_column *column = &record_columns[i];
        hid_t type = h5_disk_type(column);
        char about[256];
        snprintf(about, sizeof about, "%s%s%s", column->about,
                 column->kind == KIND_REF ? "; row of /" : "",
                 column->kind == KIND_REF    ? record_tables[column->of].name
                 : column->kind == KIND_TEXT ? "; row of /texts"
                                             : "");
        good = create_dataset(group, column->name, type, finalised ? FINAL_CHUNK : of->chunk,
                              finalised, column->unit, about);
        H5Tclose(type);
    }
    if (good && table == TABLE_texts) {
        good = create_dataset(group, H5_TEXT_BYTES, H5T_STD_U8LE, BLOB_CHUNK, finalised, "B",
                              "all texts, end to end");
    }
    if (group >= 0) H5Gclose(group);
    return good;
}

static bool create_commit(hid_t file)
{
    struct h5_commit zero = {0};
    hsize_t one = 1;
    hid_t type = h5_commit_type(), space = H5Screate_simple(1, &one, NULL),
          plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(plist, H5D_CONTIGUOUS); /* allocated now, afterwards overwritten in place */
    H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
    hid_t dataset = H5Dcreate2(file, "commit", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool good = dataset >= 0 &&
                H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &zero) >= 0 &&
                put_text_attribute(dataset, "about",
                                   "rows of each table that are whole; trust nothing beyond");
    if (dataset >= 0) H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool create_root(hid_t file, bool finalised)
{
    char text[64];
    time_t now = time(NULL);
    struct tm utc;
    snprintf(text, sizeof text, "%d.%d", RECORD_SCHEMA_MAJOR, RECORD_SCHEMA_MINOR);
    bool good = put_text_attribute(file, "stax_schema", text);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return good && put_text_attribute(file, "created_utc", text) &&
           put_text_attribute(file, "writer", "stax-tune " STAX_BUILD_ID) &&
           put_text_attribute(file, "layout", finalised ? "finalised" : "live");
}

enum stax_status h5_create(const char *path, bool finalised)
{
    h5_quiet();
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_link_creation_order(fcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    /* The newest format has smaller chunk indexes, but needs h5clear after a crash (measured): for
     * copies only. */
    if (finalised) H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_EXCL, fcpl, fapl);
    H5Pclose(fcpl);
    H5Pclose(fapl);
    if (file < 0) return h5_error(path, "create it");
    bool good = create_root(file, finalised) && create_commit(file);
    for (int table = 0; good && table < TABLE_COUNT; table++) {
        good = create_table(file, (enum record_table)table, finalised);
    }
    int *fd;
    good = good && H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 &&
           H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&fd) >= 0 && fsync(*fd) == 0;
    enum stax_status status = good ? STAX_OK : h5_error(path, "create it");
    if (H5Fclose(file) < 0 && status == STAX_OK) status = h5_error(path, "create it");
    return status;
}

/* What can be said before HDF5 is asked. */
static enum stax_status look_at(const char *path, bool write, uint64_t *bytes)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    struct stat info;
    unsigned char head[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        STAX_RETURN(STAX_NOTFOUND, "there is no database %s: name another with --db", path);
    }
    if (fd < 0)
        STAX_RETURN(STAX_IO, "cannot read %s: %s; name another database with --db", path,
                    strerror(errno));
    bool known = fstat(fd, &info) == 0;
    ssize_t got = known && S_ISREG(info.st_mode) ? read(fd, head, sizeof head) : 0;
    close(fd);
    if (known && S_ISDIR(info.st_mode)) {
        STAX_RETURN(STAX_FORMAT, "%s is a folder, not a database: name a file in it with --db",
                    path);
    }
    if (known && S_ISREG(info.st_mode) && info.st_size == 0) {
        STAX_RETURN(STAX_FORMAT, "%s is empty, not a database: remove it or name another with --db",
                    path);
    }
    if (got != (ssize_t)sizeof head || memcmp(head, signature, sizeof head)) {
        STAX_RETURN(STAX_FORMAT,
                    "%s is not a stax-tune database (no HDF5 file): name another with --db", path);
    }
    if (write && access(path, W_OK) != 0) {
        STAX_RETURN(STAX_IO, "cannot write %s: %s; name another database with --db", path,
                    strerror(errno));
    }
    *bytes = (uint64_t)info.st_size;
    return STAX_OK;
}

static herr_t find_lock(unsigned n, const H5E_error2_t *entry, void *data)
{
    (void)n;
    if (strstr(entry->desc, "unable to lock file")) *(bool *)data = true;
    return 0;
}

/* Opens, waiting while another program holds HDF5's own lock. */
static enum stax_status open_waiting(const char *path, bool write, int wait_ms, hid_t *id)
{
    for (int waited = 0;; waited += RETRY_MS) {
        *id = H5Fopen(path, write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT);
        int *fd;
        if (*id >= 0 && H5Fget_vfd_handle(*id, H5P_DEFAULT, (void **)&fd) >= 0)
            fcntl(*fd, F_SETFD, FD_CLOEXEC);
        if (*id >= 0) return STAX_OK;
        bool locked = false;
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_lock, &locked);
        if (!locked) break;
        if (waited >= wait_ms) {
            STAX_RETURN(STAX_IO,
                        "%s is held open by another program: close it there or name another --db",
                        path);
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
    }
    h5_error(path, "open it");
    STAX_RETURN(STAX_FORMAT, "%s; the file is damaged: move it away or name another with --db",
                status_message());
}

/* Either kind of string. */
static bool read_text(hid_t attribute, hid_t type, char *value, size_t bytes)
{
    hid_t memory = H5Tcopy(H5T_C_S1);
    bool variable = H5Tis_variable_str(type) > 0, good;
    H5Tset_size(memory, variable ? H5T_VARIABLE : bytes);
    H5Tset_cset(memory, H5Tget_cset(type));
    if (variable) {
        char *text = NULL;
        good = H5Aread(attribute, memory, &text) >= 0 && text;
        if (good) snprintf(value, bytes, "%s", text);
        if (text) H5free_memory(text);
    } else {
        good = H5Aread(attribute, memory, value) >= 0;
        value[bytes - 1] = '\0';
    }
    H5Tclose(memory);
    return good;
}

static bool get_text_attribute(hid_t object, const char *name, char *value, size_t bytes)
{
    value[0] = '\0';
    if (H5Aexists(object, name) <= 0) return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    bool good = type >= 0 && H5Tget_class(type) == H5T_STRING &&
                H5Sget_simple_extent_npoints(space) == 1 &&
                read_text(attribute, type, value, bytes);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (attribute >= 0) H5Aclose(attribute);
    return good;
}

static enum stax_status read_root(struct h5file *file)
{
    char schema[32], writer[64], layout[32];
    int major = 0;
    if (!get_text_attribute(file->id, "stax_schema", schema, sizeof schema) ||
        sscanf(schema, "%d.%d", &major, &file->minor) != 2) {
        STAX_RETURN(STAX_FORMAT,
                    "%s is not a stax-tune database (an HDF5 file of something else): name another "
                    "with --db",
                    file->path);
    }
    get_text_attribute(file->id, "writer", writer, sizeof writer);
    get_text_attribute(file->id, "layout", layout, sizeof layout);
    file->finalised = strcmp(layout, "live") != 0;
    if (major > RECORD_SCHEMA_MAJOR) {
        STAX_RETURN(
            STAX_FORMAT,
            "%s has schema %s, written by %s; this version reads %d.x: update stax-tune or name "
            "another --db",
            file->path, schema, writer, RECORD_SCHEMA_MAJOR);
    }
    return STAX_OK;
}

static enum stax_status read_commit(struct h5file *file)
{
    struct h5_commit commit = {0};
    hid_t dataset;
    STAX_TRY(h5_open_column(file, NULL, "commit", 1, &dataset));
    hid_t type = h5_commit_type(), own = H5Dget_type(dataset), space = H5Dget_space(dataset);
    bool good = H5Tget_class(own) == H5T_COMPOUND && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &commit) >= 0;
    H5Sclose(space);
    H5Tclose(own);
    H5Tclose(type);
    H5Dclose(dataset);
    if (!good) return h5_error(file->path, "read /commit");
    /* No filter packs better than about 1000 to 1, so larger counts are damage, and would ask for
     * that much memory. */
    uint64_t most = file->file_bytes * 1100;
    for (int i = 0; i < TABLE_COUNT; i++) {
        file->rows[i] = commit.rows[i];
        if (commit.rows[i] > most) STAX_RETURN(STAX_FORMAT, "%s: /commit is damaged", file->path);
    }
    file->text_bytes = commit.text_bytes;
    if (commit.text_bytes > most) STAX_RETURN(STAX_FORMAT, "%s: /commit is damaged", file->path);
    return STAX_OK;
}

enum stax_status h5_open_column(struct h5file *file, const char *table, const char *name,
                                uint64_t rows, hid_t *dataset)
{
    char path[128];
    hsize_t extent = 0;
    snprintf(path, sizeof path, "/%s%s%s", table ? table : "", table ? "/" : "", name);
    *dataset = H5Dopen2(file->id, path, H5P_DEFAULT);
    if (*dataset < 0) return h5_error(file->path, "open %s", path);
    hid_t space = H5Dget_space(*dataset);
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &extent, NULL) == 1 && extent >= rows;
    if (space >= 0) H5Sclose(space);
    if (good) return STAX_OK;
    H5Dclose(*dataset);
    *dataset = -1;
    STAX_RETURN(STAX_FORMAT, "%s: %s is shorter than /commit says: the file is damaged", file->path,
                path);
}

enum stax_status h5_open(const char *path, bool write, int wait_ms, struct h5file **out)
{
    h5_quiet();
    uint64_t bytes = 0;
    STAX_TRY(look_at(path, write, &bytes));
    struct arena *arena = arena_create();
    struct h5file *file = ARENA_NEW(arena, struct h5file);
    *file = (struct h5file){.path = arena_text(arena, path),
                            .id = -1,
                            .write = write,
                            .file_bytes = bytes,
                            .arena = arena};
    enum stax_status status = open_waiting(path, write, wait_ms, &file->id);
    if (status == STAX_OK) status = read_root(file);
    if (status == STAX_OK) status = read_commit(file);
    if (status != STAX_OK) {
        if (file->id >= 0) H5Fclose(file->id);
        arena_destroy(arena);
        return status;
    }
    *out = file;
    return STAX_OK;
}

enum stax_status h5_close(struct h5file *file)
{
    if (!file) return STAX_OK;
    enum stax_status status = STAX_OK;
    if (file->id >= 0 && H5Fclose(file->id) < 0) status = h5_error(file->path, "close it");
    arena_destroy(file->arena);
    return status;
}
