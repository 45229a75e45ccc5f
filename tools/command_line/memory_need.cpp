// The kernel says what is free, and control groups and limits of the process may allow less.
#include "tools/command_line/memory_need.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace offramp::tool {
namespace {

/// Share of the available memory; the rest is left to other processes.
constexpr double kUsable = 0.95;

/// The number after a word in one of the kernel's files, in bytes if its unit is kB. `nullopt` if missing.
std::optional<double> figure_in(const std::string& path, std::string_view word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(word)) continue;
    try {
      const double value = std::stod(line.substr(word.size()));
      return line.ends_with("kB") ? value * 1024 : value;
    } catch (const std::exception&) {
      return std::nullopt;  // "max"
    }
  }
  return std::nullopt;
}

/// The least memory left in the control groups of this process, up to the root.
double left_in_groups() {
  constexpr std::string_view kFirstVersion = ":memory:/";
  double left = std::numeric_limits<double>::infinity();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool is_second = line.starts_with("0::/");
    const std::size_t first = line.find(kFirstVersion);
    if (!is_second && first == std::string::npos) continue;
    std::string path = is_second ? line.substr(3) : line.substr(first + kFirstVersion.size() - 1);
    for (;; path.resize(path.rfind('/'))) {
      const std::string folder = (is_second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") + path + "/";
      const auto most = figure_in(folder + (is_second ? "memory.max" : "memory.limit_in_bytes"), "");
      const auto used = figure_in(folder + (is_second ? "memory.current" : "memory.usage_in_bytes"), "");
      const auto cached =
          figure_in(folder + "memory.stat", is_second ? "inactive_file " : "total_inactive_file ");
      if (most && used) left = std::min(left, *most - *used + cached.value_or(0));
      if (path.find('/') == std::string::npos) break;
    }
  }
  return left;
}

}  // namespace

double available_memory() {
  double bytes =
      figure_in("/proc/meminfo", "MemAvailable:").value_or(std::numeric_limits<double>::infinity());
  bytes = std::min(bytes, left_in_groups());
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min(
        bytes, static_cast<double>(limit.rlim_cur) - figure_in("/proc/self/status", "VmSize:").value_or(0));
  return std::max(0.0, bytes);
}

void limit_memory() {
  rlimit limit{};
  const double used = figure_in("/proc/self/status", "VmData:").value_or(0);
  const double most = used + kUsable * available_memory();
  if (!std::isfinite(most) || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(most));
  (void)setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace offramp::tool
