#include "lib/core/free_communication.hpp"

namespace offramp {

WorldSetting free_communication(const BackendDescription& host) {
  Settings settings = Settings::defaults(host.parameters);
  constexpr double kPicosecond = 1e-3;  // in nanoseconds; 0 stands for what the NIC has
  for (const char* time : {"latency", "overhead", "gap", "post"}) settings.set(time, {kPicosecond, {}});
  for (const char* rate : {"bandwidth", "copy_bandwidth", "combine_bandwidth"})
    settings.set(rate, {1e5, {}});         // Gb/s: 80 ps for a KiB
  settings.set("eager_limit", {1e9, {}});  // no sender waits
  settings.set("progress", {0, "hardware"});
  // No rank waits for one that only passes data on.
  for (const char* rooted : {"bcast", "gather", "scatter"}) settings.set(rooted, {0, "basic_linear"});
  settings.set("reduce", {0, "linear"});
  return {host, std::move(settings), {}};
}

}  // namespace offramp
