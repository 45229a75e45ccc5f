// Whether the user's UCX_TLS allows shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace offramp {

/// Whether a list of UCX's transports lets ranks of one node share memory. The list has names of transports
/// or groups, separated by commas; a ^ in front excludes them. Null means that UCX chooses.
inline bool shares_memory(const char* transports) {
  constexpr std::array<std::string_view, 5> kShared = {"posix", "mm", "sm", "shm", "all"};
  if (transports == nullptr) return true;
  std::string_view list = transports;
  const bool excludes = !list.empty() && list.front() == '^';
  if (excludes) list.remove_prefix(1);
  bool named = false;
  while (!list.empty()) {
    std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (!name.empty() && name.front() == '\\') name.remove_prefix(1);  // a transport, not a group
    named = named || std::find(kShared.begin(), kShared.end(), name) != kShared.end();
  }
  return named != excludes;
}

}  // namespace offramp
