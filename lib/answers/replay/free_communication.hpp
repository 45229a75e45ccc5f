// Replays of a program with its computing: over hardware, and with communication that takes no time. The
// latter is the part of the run that no hardware can shorten.
#pragma once

#include <mutex>
#include <optional>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/replay/world_setting.hpp"

namespace offramp {

/// A world in which communication takes no time: ranks only wait for other ranks' computing. Keeps the
/// machine and stragglers of `like`, which affect computing; drops its network and faults.
WorldSetting free_communication(const WorldSetting& like);

/// With the recorded computing, times the given factors.
Compute with_computing(Compute compute);

/// Repeats a replay with the recorded computing. `nullopt` if the replay fails or is stopped.
std::optional<ReplayResult> replay_with_computing(const WorldSetting& setting, const ReplaySource& source,
                                                  ReplayOptions options);

/// Completes replays that leave out the program's computing: finds the duration of the whole run.
/// Computes the run over free communication once; it is the same for all hardware. Several threads may find
/// runs at once.
class WholeRuns {
 public:
  /// The run over hardware whose replay without computing is `result`. `nullopt` if nothing was computed, or
  /// if the replay includes it already.
  std::optional<WholeRun> run_of(const WorldSetting& setting, const ReplaySource& source,
                                 const ReplayOptions& options, const ReplayResult& result);
  /// A replay and its run_of(), simulated side by side if the process may use several cores. Needs the memory
  /// of two worlds then.
  Result<ReplayResult> replay_and_run(const WorldSetting& setting, const ReplaySource& source,
                                      const ReplayOptions& options, std::optional<WholeRun>& run);
  /// Set by the first successful run_of() or replay_and_run(). Not to be called during either.
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return program_; }

 private:
  void find_program(const WorldSetting& setting, const ReplaySource& source, const ReplayOptions& options,
                    const Computing& computing);

  std::mutex mutex_;  // while program_ is sought
  std::optional<ProgramTimes> program_;
};

}  // namespace offramp
