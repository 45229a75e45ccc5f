// If one rank lacks native times, so does the program: a mean over the others would be misleading. Ranks are
// placed in blocks if each host appears once in rank order and all but the last have equally many ranks.
#include "lib/programs/recording/native_times.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace offramp::recording {

Result<std::optional<NativeTimes>> native_times_of(const Recording& recording) {
  // A node by its name: its ranks, and its cores as a rank saw them.
  struct Host {
    std::uint64_t ranks = 0;
    std::uint64_t cores = 0;
  };
  constexpr double kShort = 0.05;  // of a run
  NativeTimes times;
  times.ranks = recording.description().ranks;
  if (times.ranks == 0) return std::optional<NativeTimes>();
  std::map<std::string, Host> hosts;
  std::vector<std::string> order;  // the hosts in the order of ranks, without repetitions
  std::map<std::pair<std::string, std::string>, CallTimes> calls;
  for (int rank = 0; rank < times.ranks; ++rank) {
    const auto native = recording.native(rank);
    if (!native) return failure(native.error());
    // A run of no length has no shares.
    if (!*native || (*native)->run == 0) return std::optional<NativeTimes>();
    const NativeRun& own = **native;
    const auto run = static_cast<double>(own.run);
    times.run = std::max(times.run, own.run);
    times.longest_init = std::max(times.longest_init, own.init);
    times.in_mpi += static_cast<double>(own.in_mpi()) / run / times.ranks;
    times.has_ready_time = times.has_ready_time && own.ready;
    times.cores_are_short =
        times.cores_are_short || static_cast<double>(own.ready.value_or(0)) > kShort * run;
    Host& host = hosts[own.host];
    ++host.ranks;
    if (order.empty() || order.back() != own.host) order.push_back(own.host);
    host.cores = std::max(host.cores, own.cores);
    for (const CallTimes& call : own.calls) {
      CallTimes& all =
          // least begins with the first value rather than 0.
          calls.try_emplace({call.function, call.site}, CallTimes{{}, {}, 0, 0, call.least, 0}).first->second;
      all.count += call.count;
      all.sum += call.sum;
      all.least = std::min(all.least, call.least);
      all.greatest = std::max(all.greatest, call.greatest);
    }
  }
  times.hosts = hosts.size();
  times.is_in_blocks = order.size() == hosts.size() &&
                       std::all_of(order.begin(), order.end() - 1, [&](const std::string& name) {
                         return hosts[name].ranks == hosts[order.front()].ranks;
                       });
  for (const auto& [name, host] : hosts) {
    times.ranks_per_host = std::max(times.ranks_per_host, host.ranks);
    // 0 means that the number of cores is unknown.
    times.cores_are_short = times.cores_are_short || (host.cores > 0 && host.ranks > host.cores);
  }
  for (auto& [key, call] : calls) {
    std::tie(call.function, call.site) = key;
    times.calls.push_back(std::move(call));
  }
  // Equal sums stay in alphabetical order.
  std::stable_sort(times.calls.begin(), times.calls.end(),
                   [](const CallTimes& a, const CallTimes& b) { return a.sum > b.sum; });
  return std::optional(std::move(times));
}

}  // namespace offramp::recording
