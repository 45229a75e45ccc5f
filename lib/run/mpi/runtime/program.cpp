// Questions about the process, answered from the loader's list of objects and their dynamic sections. They
// are asked before MPI_Init. Of a possibly different MPI library only MPI_Get_library_version is called,
// which MPI allows at that time. program_calls() reads relocations: they show whether a program can call a
// function, not whether it does.
#include "lib/run/mpi/runtime/program.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/launched_job.hpp"
#include "lib/base/mpi_family.hpp"
#include "lib/run/native/native.h"

namespace offramp {
namespace {

namespace fs = std::filesystem;

/// A loaded object, with what its dynamic section contains.
struct Object {
  const link_map* map = nullptr;
  std::string file;    // a link may have given the library another name: libmpi.so.12 for libmpich.so.12
  std::string soname;  // empty without DT_SONAME
  std::vector<std::string> needed;

  /// Returns true if an entry of DT_NEEDED means this object.
  [[nodiscard]] bool answers_to(const std::string& name) const { return name == file || name == soname; }
};

/// A value of the dynamic section. 0 if it has none.
ElfW(Addr) dynamic_value(const link_map& map, ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == tag) return entry->d_un.d_ptr;
  }
  return 0;
}

/// A table that the dynamic section names. Null if it has none. The loader replaces offsets by addresses,
/// except in objects whose dynamic section is read-only.
template <typename Element>
const Element* table_of(const link_map& map, ElfW(Sxword) tag) {
  const ElfW(Addr) at = dynamic_value(map, tag);
  return reinterpret_cast<const Element*>(at != 0 && at < map.l_addr ? at + map.l_addr : at);
}

const char* string_table(const link_map& map) {
  return table_of<char>(map, DT_STRTAB);
}

/// Returns true if a relocation in the table refers to the function.
bool relocates(const link_map& map, ElfW(Sxword) table, ElfW(Sxword) bytes, std::string_view function) {
  const auto* const relocations = table_of<ElfW(Rela)>(map, table);
  const auto* const symbols = table_of<ElfW(Sym)>(map, DT_SYMTAB);
  const char* const strings = string_table(map);
  if (relocations == nullptr || symbols == nullptr || strings == nullptr) return false;
  return std::any_of(relocations, relocations + dynamic_value(map, bytes) / sizeof *relocations,
                     [&](const ElfW(Rela) & one) {
                       const auto symbol = ELF64_R_SYM(one.r_info);
                       return symbol != 0 && strings + symbols[symbol].st_name == function;
                     });
}

Object object_of(const link_map& map) {
  Object object{&map, fs::path(map.l_name).filename().string(), {}, {}};
  const char* const strings = map.l_ld != nullptr ? string_table(map) : nullptr;
  if (strings == nullptr) return object;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) object.soname = strings + entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) object.needed.push_back(fs::path(strings + entry->d_un.d_val).filename());
  }
  return object;
}

bool is_own(const Object& object) {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&is_own), &info) != 0 &&
         reinterpret_cast<ElfW(Addr)>(info.dli_fbase) == object.map->l_addr;
}

/// The program comes first. This library is left out.
std::vector<Object> loaded_objects() {
  std::vector<Object> objects;
  void* const program = dlopen(nullptr, RTLD_LAZY);
  link_map* map = nullptr;
  if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) return objects;
  for (; map != nullptr; map = map->l_next) {
    Object object = object_of(*map);
    // This library depends on its own MPI library, which must not count as the program's.
    if (!is_own(object)) objects.push_back(std::move(object));
  }
  return objects;
}

/// The program and what it needs, in the loader's order of symbol lookup.
std::vector<Object> needed_by_program() {
  const std::vector<Object> all = loaded_objects();
  std::vector<Object> wanted;
  if (!all.empty()) wanted.push_back(all.front());
  const auto same_map = [](const Object& a) { return [&a](const Object& b) { return a.map == b.map; }; };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // A copy, since push_back() moves the objects that the loop reads from.
    for (const std::string& name : std::vector<std::string>(wanted[i].needed)) {
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Object& object) { return object.answers_to(name); });
      if (found != all.end() && std::none_of(wanted.begin(), wanted.end(), same_map(*found)))
        wanted.push_back(*found);
    }
  }
  return wanted;
}

/// The object's own definition of a function. Null if only its dependencies may define it.
void* own_symbol(void* handle, const Object& object, const char* name) {
  void* const symbol = dlsym(handle, name);
  Dl_info info{};
  const bool own = symbol != nullptr && dladdr(symbol, &info) != 0 &&
                   // dlsym() also searches the dependencies of the handle, whose definitions do not count.
                   reinterpret_cast<ElfW(Addr)>(info.dli_fbase) == object.map->l_addr;
  return own ? symbol : nullptr;
}

/// Returns true for an MPI library other than the one that this library was built for. A wrapper of that one
/// identifies itself through its version, which MPI allows before MPI_Init.
bool is_other_mpi(const Object& object) {
  if (*object.map->l_name == '\0') return false;  // the program: nothing can precede its own MPI
  void* const handle = dlopen(object.map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  bool other = false;
  if (own_symbol(handle, object, "PMPI_Init") != nullptr) {
    const auto version =
        reinterpret_cast<decltype(&PMPI_Get_library_version)>(dlsym(handle, "PMPI_Get_library_version"));
    other = version == nullptr || offramp_native_supports(version) == 0;
  }
  dlclose(handle);
  return other;
}

std::string first_other_mpi(const std::vector<Object>& objects) {
  const auto found = std::find_if(objects.begin(), objects.end(), is_other_mpi);
  return found != objects.end() ? found->map->l_name : std::string();
}

/// An entry without a folder is found along the loader's search path.
bool names_own_file(const std::string& entry) {
  const fs::path own = own_path();
  if (entry.find('/') == std::string::npos) {
    const std::string name = own.filename();
    const std::string stem = name.substr(0, name.find(".so")) + ".so";
    return entry == name || entry == stem || entry.starts_with(stem + ".");
  }
  std::error_code ignored;
  return entry == own || fs::equivalent(entry, own, ignored);
}

/// Removes entries from a list of libraries in the environment and replaces the first by `instead`. Returns
/// false if the list has none of them.
bool replace_entries(const char* variable, auto is_meant, const std::string& instead = {}) {
  const char* const list = std::getenv(variable);
  if (list == nullptr) return false;
  bool found = false;
  std::string kept;
  std::string entry;
  for (const char* p = list;; ++p) {
    if (*p != ':' && *p != ' ' && *p != '\0') {
      entry += *p;
      continue;
    }
    // The first entry is replaced, and further ones are removed.
    if (!entry.empty() && is_meant(entry)) entry = std::exchange(found, true) ? std::string() : instead;
    if (!entry.empty()) kept += (kept.empty() ? "" : ":") + entry;
    entry.clear();
    if (*p == '\0') break;
  }
  if (found) kept.empty() ? unsetenv(variable) : setenv(variable, kept.c_str(), 1);
  return found;
}

/// Removes the entry that offramp run has appended to the tunables of glibc.
void drop_room_for_audit() {
  const char* const variable = std::getenv("GLIBC_TUNABLES");
  const std::string tunables = variable == nullptr ? "" : variable;
  const std::size_t last = tunables.rfind(':') + 1;
  if (!tunables.substr(last).starts_with(kStaticTls)) return;
  last == 0 ? unsetenv("GLIBC_TUNABLES") : setenv("GLIBC_TUNABLES", tunables.substr(0, last - 1).c_str(), 1);
}

/// Returns true for an MPI library that the program has initialised.
bool is_initialized_mpi(const Object& object) {
  if (*object.map->l_name == '\0') return false;
  void* const handle = dlopen(object.map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  int initialized = 0;
  if (void* const symbol = own_symbol(handle, object, "PMPI_Initialized"); symbol != nullptr)
    // MPI allows this call at any time.
    reinterpret_cast<decltype(&PMPI_Initialized)>(symbol)(&initialized);
  dlclose(handle);
  return initialized != 0;
}

}  // namespace

std::string own_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_path), &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

std::string audit_path() {
  const fs::path path = fs::path(own_path()).parent_path() / "offramp/offramp-audit.so";
  std::error_code ignored;
  return fs::exists(path, ignored) ? path.string() : std::string();
}

std::string initialized_mpi() {
  const std::vector<Object> objects = loaded_objects();
  const auto found = std::find_if(objects.begin(), objects.end(), is_initialized_mpi);
  return found != objects.end() ? found->map->l_name : std::string();
}

std::string other_mpi_of_program() {
  return first_other_mpi(needed_by_program());
}

std::string other_mpi_loaded() {
  return first_other_mpi(loaded_objects());
}

bool program_calls(std::string_view function) {
  const std::vector<Object> objects = loaded_objects();
  if (objects.empty() || objects.front().map->l_ld == nullptr) return false;
  const link_map& program = *objects.front().map;
  // Addresses of functions are in one table or the other, depending on lazy binding.
  return relocates(program, DT_JMPREL, DT_PLTRELSZ, function) ||
         relocates(program, DT_RELA, DT_RELASZ, function);
}

std::string interposer_for(const std::string& other_mpi) {
  const std::string_view family = family_of_mpi_library(fs::path(other_mpi).filename().string());
  if (family.empty() || family == OFFRAMP_MPI_FAMILY) return {};
  const fs::path own = own_path();
  std::error_code ignored;
  for (const std::string& name : {interposer_of_family(family), std::string("libofframp.so")}) {
    const fs::path candidate = own.parent_path() / name;
    if (fs::exists(candidate, ignored) && !fs::equivalent(candidate, own, ignored)) return candidate;
  }
  return {};
}

bool clear_preload(const std::string& instead) {
  if (instead.empty() && replace_entries("LD_AUDIT", [](const std::string& entry) {
        return fs::path(entry).filename() == fs::path(audit_path()).filename();
      }))
    drop_room_for_audit();
  return replace_entries("LD_PRELOAD", names_own_file, instead);
}

}  // namespace offramp
