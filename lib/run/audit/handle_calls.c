/* An audit library for the dynamic linker (LD_AUDIT, rtld-audit(7)). It redirects MPI calls to Offramp that
 * LD_PRELOAD does not reach, because their symbol search does not include preloaded libraries:
 *
 * - The program looks MPI functions up in a handle: dlopen("libmpi.so.40"), then dlsym(handle, "MPI_Send"),
 * as Python's ctypes, Julia, and Rust bindings do.
 * - A library is opened with RTLD_DEEPBIND, so its own dependencies are searched first.
 *
 * The dynamic linker calls la_symbind64() for each symbol that it finds in a library whose name begins with
 * libmpi. If that is the MPI library that Offramp itself calls, the caller is bound to Offramp's function of
 * that name instead. Bindings of Offramp and of MPI libraries stay unchanged.
 *
 * Audit libraries are loaded in a namespace of their own, with a second copy of each dependency. So this one
 * has none, not even libc. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* The interposing library: the first object of the main namespace whose name begins with libofframp. Other
 * libraries of that name serve other MPI libraries or define no MPI functions, and are not preloaded. */
static const struct link_map* offramp;

static int begins_with(const char* text, const char* start) {
  while (*start != '\0' && *text == *start) ++text, ++start;
  return *start == '\0';
}

static int is_equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

static const char* base_name(const char* path) {
  const char* base = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') base = path + 1;
  }
  return base;
}

/* A table of the dynamic section, or NULL. The dynamic linker has converted offsets to addresses, except in
 * objects whose dynamic section is read-only. */
static const void* table_of(const struct link_map* map, ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != tag) continue;
    const ElfW(Addr) at = entry->d_un.d_ptr;
    return (const void*)(at < map->l_addr ? at + map->l_addr : at);
  }
  return NULL;
}

typedef struct {
  const struct link_map* map;
  const ElfW(Sym) * symbols;
  const char* strings;
  const char* name;
} search;

static uintptr_t address_if_found(const search* wanted, uint32_t index) {
  const ElfW(Sym)* const symbol = &wanted->symbols[index];
  const int is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
  return is_function && is_equal(wanted->strings + symbol->st_name, wanted->name)
             ? wanted->map->l_addr + symbol->st_value
             : 0;
}

/* DT_GNU_HASH: a header of four words, a filter, the first symbol of each bucket, and the hash of each
 * symbol, whose lowest bit ends a bucket. */
static uintptr_t search_gnu_hash(const search* wanted, const uint32_t* table) {
  uint32_t hash = 5381;
  for (const unsigned char* at = (const unsigned char*)wanted->name; *at != '\0'; ++at)
    hash = hash * 33 + *at;
  const uint32_t buckets = table[0];
  const uint32_t first = table[1];
  const uint32_t* const bucket = (const uint32_t*)((const ElfW(Addr)*)(table + 4) + table[2]);
  const uint32_t* const chain = bucket + buckets;
  uint32_t index = buckets > 0 ? bucket[hash % buckets] : 0;
  if (index < first || index == 0) return 0;
  for (;; ++index) {
    const uint32_t other = chain[index - first];
    const uintptr_t found = (other | 1) == (hash | 1) ? address_if_found(wanted, index) : 0;
    if (found != 0 || (other & 1) != 0) return found;
  }
}

/* The second word of DT_HASH is the number of symbols. */
static uintptr_t search_all(const search* wanted, const uint32_t* table) {
  for (uint32_t index = 1; index < table[1]; ++index) {
    const uintptr_t found = address_if_found(wanted, index);
    if (found != 0) return found;
  }
  return 0;
}

/* The address of a function that an object defines. 0 if it defines no function of that name. */
static uintptr_t definition(const struct link_map* map, const char* name) {
  const search wanted = {map, table_of(map, DT_SYMTAB), table_of(map, DT_STRTAB), name};
  if (wanted.symbols == NULL || wanted.strings == NULL) return 0;
  const uint32_t* const gnu_hash = table_of(map, DT_GNU_HASH);
  if (gnu_hash != NULL) return search_gnu_hash(&wanted, gnu_hash);
  const uint32_t* const hash = table_of(map, DT_HASH);
  return hash != NULL ? search_all(&wanted, hash) : 0;
}

/* Every MPI library defines this function. */
static const char kMark[] = "PMPI_Init";

/* True for the MPI library that Offramp finds with RTLD_NEXT: the next object that defines the functions.
 * Another MPI library, which a program may also open, has its own handles, so it stays unchanged. */
static int is_native_library(const struct link_map* map) {
  static const struct link_map* native;
  const struct link_map* next = native == NULL ? offramp->l_next : NULL;
  for (; next != NULL && native == NULL; next = next->l_next) {
    if (definition(next, kMark) != 0) native = next;
  }
  return native == map;
}

/* Returns 0 (declines) before version 2 (glibc 2.35), where an audit library slows down every call between
 * libraries. */
EXPORT unsigned la_version(unsigned version) {
  return version < 2 ? 0 : 2;
}

EXPORT unsigned la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  *cookie = (uintptr_t)map;
  if (space != LM_ID_BASE) return 0;
  const char* const name = base_name(map->l_name);
  if (offramp == NULL && begins_with(name, "libofframp")) offramp = map;
  return begins_with(name, "libmpi") ? LA_FLG_BINDTO | LA_FLG_BINDFROM : LA_FLG_BINDFROM;
}

EXPORT uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned index, uintptr_t* caller, uintptr_t* definer,
                              unsigned* flags, const char* name) {
  (void)index, (void)flags;
  const struct link_map* const from = (const struct link_map*)*caller;
  const struct link_map* const to = (const struct link_map*)*definer;
  const uintptr_t found = symbol->st_value;
  if (offramp == NULL || from == offramp || !(begins_with(name, "MPI") || begins_with(name, "PMPI")))
    return found;
  if (!is_native_library(to) || definition(from, kMark) != 0) return found;
  const uintptr_t own = definition(offramp, name);
  return own != 0 ? own : found;
}
