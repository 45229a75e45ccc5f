// A program with its computing: over hardware, and with communication that takes no time, which leaves what
// of it no hardware changes.
#pragma once

#include <optional>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/replay/world_setting.hpp"

namespace offramp {

/// A world in which communication takes no time: what ranks still wait in MPI calls there is waiting for each
/// other's computing. like: the setting with the ranks per node, and the stragglers, which delay computing.
/// Its network and its faults are communication, and left out.
WorldSetting free_communication(const WorldSetting& like);

/// A replay once more, with the computing that the recording has. Nothing: it has no result.
std::optional<ReplayResult> replay_with_computing(const WorldSetting& setting, const ReplaySource& source,
                                                  ReplayOptions options);

/// What replays over several hardware tell of the whole run of a program, where they leave out its computing.
class WholeRuns {
 public:
  /// The run over hardware, a replay of which has this result. Nothing: the recording has no computing, or
  /// the result has it already.
  std::optional<WholeRun> run_of(const WorldSetting& setting, const ReplaySource& source,
                                 const ReplayOptions& options, const ReplayResult& result);
  /// From the first of them on.
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return program_; }

 private:
  std::optional<ProgramTimes> program_;
};

}  // namespace offramp
