#include "lib/core/free_communication.hpp"

namespace offramp {

WorldSetting free_communication(const BackendDescription& host, const WorldSetting& like) {
  Settings settings = Settings::defaults(host.parameters);
  constexpr double kPicosecond = 1e-3;  // in nanoseconds; 0 stands for what the NIC has
  for (const char* time :
       {"latency", "overhead", "gap", "fetch", "post", "memory_latency", "memory_overhead", "single_copy"})
    settings.set(time, {kPicosecond, {}});
  for (const char* rate : {"bandwidth", "pcie", "memory_bandwidth", "copy_bandwidth", "combine_bandwidth"})
    settings.set(rate, {1e5, {}});  // Gb/s: 82 ps for a KiB
  for (const char* limit : {"eager_limit", "memory_eager_limit"})
    settings.set(limit, {1e9, {}});  // no sender waits
  settings.set("progress", {0, "hardware"});
  // No rank waits for one that only passes data on.
  for (const char* rooted : {"bcast", "gather", "scatter"}) settings.set(rooted, {0, "basic_linear"});
  settings.set("reduce", {0, "linear"});
  WorldSetting free{host, std::move(settings), {}, like.machine};
  free.stragglers = like.stragglers;
  return free;
}

}  // namespace offramp
