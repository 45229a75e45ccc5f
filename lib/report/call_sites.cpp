#include "lib/report/call_sites.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <string_view>

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
  site.object = path.substr(path.rfind('/') + 1);
  // A program at a fixed address is loaded where its symbol table says.
  site.offset = reinterpret_cast<std::uintptr_t>(call) - static_cast<const link_map*>(map)->l_addr;
  if (info.dli_sname != nullptr) site.symbol = info.dli_sname;
  return site;
}

std::string to_string(const CallSite& site) {
  if (site.object.empty()) return "an unknown place";
  const std::string place = fmt::format("{}+{:#x}", site.object, site.offset);
  return site.symbol.empty() ? place : fmt::format("{} ({})", site.symbol, place);
}

}  // namespace offramp
