// A simulation needs memory per rank and per pair of ranks, so two trials at n and 2n ranks determine a
// quadratic.
// - If even kMostOfPair bytes per pair fit, no trial runs. Otherwise trials double until one is long or
//   large.
// - More ranks may use another algorithm, so a predicted problem is confirmed by a run with all ranks and an
//   eighth of the memory.
#include "tools/command_line/memory_need.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/format.hpp"
#include "lib/base/trial_process.hpp"
#include "lib/programs/import/pattern.hpp"

namespace offramp::tool {
namespace {

constexpr int kFirstTrial = 256;        // ranks
constexpr double kLongTrial = 0.5;      // CPU seconds after which no larger trial runs
constexpr double kLargeTrial = 0.1;     // share of the usable memory after which no larger trial runs
constexpr unsigned kTrialLimit = 20;    // CPU seconds
constexpr double kPartOfTrial = 0.125;  // share of the usable memory for a trial with all ranks
/// Share of the available memory; the rest is left to other processes.
constexpr double kUsable = 0.95;
/// An upper bound in bytes per pair of ranks: twice the most that trials needed. That was 1000 for a message
/// under way over host (alltoall of 1 KiB to 1 MiB, 512 to 2048 ranks), 80 for cclo's tables (bcast, 4096).
constexpr double kMostOfPair = 2000;

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

/// CPU seconds of the trials so far.
double children_seconds() {
  rusage usage{};
  (void)getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The bytes that a trial needs. `nullopt` if it fails.
std::optional<double> memory_of(const std::function<void(int)>& run, int ranks) {
  const auto answer = in_trial_process(kTrialLimit, [&] {
    const double before = figure_in("/proc/self/status", "VmRSS:").value_or(0);
    run(ranks);
    return fmt::format("{}", std::max(0.0, figure_in("/proc/self/status", "VmHWM:").value_or(0) - before));
  });
  return answer ? std::optional(std::stod(*answer)) : std::nullopt;
}

/// True if the full simulation ends with an eighth of the memory, or still runs at the time limit of a trial.
/// Smaller trials may have used another algorithm.
bool finishes(int ranks, const std::function<void(int)>& run) {
  const double begin = children_seconds();
  const auto answer = in_trial_process(kTrialLimit, [&] {
    limit_memory(kPartOfTrial);
    run(ranks);
    return std::string();
  });
  return answer || children_seconds() - begin >= kTrialLimit;
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

std::string memory_text(const std::string& what, int ranks, int trial_ranks, double first, double second,
                        double available) {
  const double n = trial_ranks;
  // If the two trials used different algorithms, their ratio may be anything, so the square term is clamped.
  const double square = std::clamp((second - 2 * first) / (2 * n * n), 0.0, second / (4 * n * n));
  const double linear = second / (2 * n) - square * 2 * n;
  const double need = linear * ranks + square * ranks * ranks;
  if (need <= available) return {};
  const double fits = square > 0
                          ? (std::sqrt(linear * linear + 4 * square * available) - linear) / (2 * square)
                          : available / linear;
  return fmt::format("{} on {} needs about {} of memory, but only {} is available; about {} would fit", what,
                     counted(static_cast<std::uint64_t>(ranks), "rank"), bytes_text(need),
                     bytes_text(available), counted(static_cast<std::uint64_t>(fits), "rank"));
}

void limit_memory(double share) {
  rlimit limit{};
  const double used = figure_in("/proc/self/status", "VmData:").value_or(0);
  const double most = used + share * kUsable * available_memory();
  if (!std::isfinite(most) || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(most));
  (void)setrlimit(RLIMIT_DATA, &limit);
}

std::string memory_problem(const std::string& what, int ranks, const std::function<void(int)>& run) {
  const double usable = kUsable * available_memory();
  if (kMostOfPair * ranks * ranks < usable) return {};
  std::string problem;
  std::optional<double> last;
  for (int tried = kFirstTrial; 2 * tried <= ranks / 2; tried *= 2) {
    const double begin = children_seconds();
    if (!last) last = memory_of(run, tried);
    const auto next = memory_of(run, 2 * tried);
    if (!last || !next) return {};
    problem = memory_text(what, ranks, tried, *last, *next, usable);
    if (children_seconds() - begin > kLongTrial || *next > kLargeTrial * usable) break;
    last = next;
  }
  return problem.empty() || finishes(ranks, run) ? std::string() : problem;
}

std::string pattern_memory_problem(const Setup& setup, const BackendDescription& backend,
                                   const std::string& name) {
  if (!name.starts_with(kPatternPrefix)) return {};
  Result<Pattern> asked = parse_pattern(name);
  if (!asked) return {};
  return memory_problem(fmt::format("{} over {}", name, backend.name), asked->ranks, [&](int ranks) {
    Pattern pattern = *asked;
    pattern.ranks = ranks;
    const ReplaySource source{.ranks = ranks, .read = [&](int rank) { return pattern.read(rank); }};
    const auto setting = world_setting(*setup.configuration, setup.registry, backend, ranks);
    if (setting) (void)offramp::replay(*setting, source, ReplayOptions());
  });
}

}  // namespace offramp::tool
