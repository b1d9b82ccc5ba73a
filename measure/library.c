/* The search path of CUDA's libraries; see library.h. */
#include "measure/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

static const char *const subfolders[] = {"lib64", "lib", "extras/CUPTI/lib64",
                                         "targets/x86_64-linux/lib"};

static void *open_one(const char *path, struct text *tried)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    const char *error = dlerror();
    /* A file that exists and does not load deserves its own words; absence is said once for all. */
    if (error && !strstr(error, "No such file")) text_printf(tried, "; %s", error);
    return NULL;
}

static const char *found_path(void *handle, struct arena *arena, const char *asked)
{
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        return arena_text(arena, map->l_name);
    return arena_text(arena, asked);
}

void *library_open(const char *const *names, struct arena *arena, const char **path,
                   const char **why)
{
    struct text tried = text_make(arena);
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (int i = 0; names[i]; i++) {
        void *handle = open_one(names[i], &tried);
        if (handle) {
            *path = found_path(handle, arena, names[i]);
            return handle;
        }
    }
    for (size_t r = 0; r < STAX_COUNT(roots); r++) {
        for (size_t s = 0; roots[r] && s < STAX_COUNT(subfolders); s++) {
            for (int i = 0; names[i]; i++) {
                const char *full = arena_printf(arena, "%s/%s/%s", roots[r], subfolders[s],
                                                names[i]);
                void *handle = open_one(full, &tried);
                if (!handle) continue;
                *path = found_path(handle, arena, full);
                return handle;
            }
        }
    }
    *why = arena_printf(arena,
                        "%s is not on the library path, in $CUDA_HOME or in /usr/local/cuda%s",
                        names[0], text_string(&tried));
    return NULL;
}

struct build_id_search {
    uintptr_t address;
    struct arena *arena;
    const char *id;
};

static void read_notes(const unsigned char *notes, size_t length, struct build_id_search *search)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= length;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note;
        size_t body = name + (note.n_namesz + 3u) / 4u * 4u;
        at = body + (note.n_descsz + 3u) / 4u * 4u;
        if (at > length) return;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp(notes + name, "GNU", 4) != 0)
            continue;
        struct text hex = text_make(search->arena);
        for (size_t i = 0; i < note.n_descsz; i++) text_printf(&hex, "%02x", notes[body + i]);
        search->id = text_string(&hex);
        return;
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct build_id_search *search = data;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && search->address >= from &&
            search->address < from + header->p_memsz)
            holds = true;
    }
    if (!holds) return 0;
    for (int i = 0; i < info->dlpi_phnum && !search->id[0]; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE)
            read_notes((const unsigned char *)(info->dlpi_addr + header->p_vaddr), header->p_memsz,
                       search);
    }
    return 1;
}

const char *library_build_id(const void *symbol, struct arena *arena)
{
    struct build_id_search search = {.address = (uintptr_t)symbol, .arena = arena, .id = ""};
    dl_iterate_phdr(visit, &search);
    return search.id;
}
