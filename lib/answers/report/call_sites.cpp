// Uses the dynamic loader only: dladdr1() finds the object and its load address, and dl_iterate_phdr() its
// notes in memory, so no file is opened or parsed. The offset is the address less the load address, as in the
// object's symbol table, which makes it independent of address randomisation.
#include "lib/answers/report/call_sites.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace offramp {

CallSite call_site(const void* returns_to) {
  CallSite site;
  if (returns_to == nullptr) return site;
  // The last byte of the call: behind it may be another line, or another function.
  const auto* const call = static_cast<const char*>(returns_to) - 1;
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(call, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr || info.dli_fname == nullptr)
    return site;
  const std::string_view path = info.dli_fname;
  site.path = static_cast<const link_map*>(map)->l_name;
  if (site.path.empty()) {
    std::error_code none;
    site.path = std::filesystem::read_symlink("/proc/self/exe", none).string();
  }
  site.object = path.substr(path.rfind('/') + 1);
  // A program at a fixed address is loaded where its symbol table says.
  site.offset = reinterpret_cast<std::uintptr_t>(call) - static_cast<const link_map*>(map)->l_addr;
  if (info.dli_sname != nullptr) site.symbol = info.dli_sname;
  return site;
}

namespace {

struct Wanted {
  std::string_view path;
  std::string build_id = {};
};

/// The note of the linker among those of a segment; empty: it is not there.
std::string build_id_in(const char* at, std::size_t size) {
  constexpr std::string_view kOwner("GNU\0", 4);
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    const std::size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) return {};
    const std::string_view owner(at + sizeof note, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == kOwner) {
      std::string text;
      for (const char byte : std::string_view(at + sizeof note + padded(note.n_namesz), note.n_descsz))
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return text;
    }
    at += whole;
    size -= whole;
  }
  return {};
}

int find_build_id(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  Wanted& wanted = *static_cast<Wanted*>(data);
  const std::string_view name = object->dlpi_name;  // empty: the program
  if (name != wanted.path) return 0;
  for (int i = 0; i < object->dlpi_phnum && wanted.build_id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      wanted.build_id =
          build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const std::string& path) {
  std::error_code none;
  Wanted wanted{std::filesystem::read_symlink("/proc/self/exe", none) == path ? std::string_view() : path};
  dl_iterate_phdr(find_build_id, &wanted);
  return wanted.build_id;
}

std::string to_string(const CallSite& site) {
  if (site.object.empty()) return "an unknown place";
  const std::string place = fmt::format("{}+{:#x}", site.object, site.offset);
  return site.symbol.empty() ? place : fmt::format("{} ({})", site.symbol, place);
}

}  // namespace offramp
