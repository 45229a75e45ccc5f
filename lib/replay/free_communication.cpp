#include "lib/replay/free_communication.hpp"

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

std::optional<ReplayResult> replay_with_computing(const WorldSetting& setting, const ReplaySource& source,
                                                  ReplayOptions options) {
  options.compute.kind = Compute::Kind::kMeasured;
  options.details = options.sizes = options.certificate = false;
  options.compare_undisturbed = false;
  options.observer = nullptr;
  options.clock_reads = nullptr;
  Result<ReplayResult> result = replay(setting, source, options);
  return result && !result->stopped ? std::optional(std::move(*result)) : std::nullopt;
}

std::optional<WholeRun> WholeRuns::of(const WorldSetting& setting, const ReplaySource& source,
                                      const ReplayOptions& options, const ReplayResult& result) {
  const Computing computing = computing_of(result);
  if (options.compute.kind != Compute::Kind::kNone || !computing.any()) return std::nullopt;
  if (!program_) {
    if (const auto free = replay_with_computing(free_communication(host_, setting), source, options))
      program_ = {computing, whole_run_of(*free)};
  }
  const auto run = replay_with_computing(setting, source, options);
  return run ? std::optional(whole_run_of(*run)) : std::nullopt;
}

}  // namespace offramp
