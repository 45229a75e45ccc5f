// The native times of a recorded program over all ranks: how long it ran where it was recorded, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Times are of the recorded run on its own machine, without any modelled hardware.
struct NativeTimes {
  int ranks = 0;
  std::uint64_t run = 0;  // of the rank that ran longest, in nanoseconds
  double in_mpi = 0;      // the mean share of a rank's run
  std::uint64_t longest_init = 0;
  std::uint64_t hosts = 0;
  std::uint64_t ranks_per_host = 0;  // on the host with the most
  bool is_in_blocks = true;          // ranks are placed host by host, and only the last host may have fewer
  /// Ranks waited for a processor for more than 5 % of their time, or share fewer cores than they are.
  bool cores_are_short = false;
  bool has_ready_time = true;    // false: on some rank gaps between calls count as CPU time only
  std::vector<CallTimes> calls;  // by function and site, over all ranks; the longest sum first
};

/// `nullopt` if any rank has none. Fails if they are damaged.
Result<std::optional<NativeTimes>> native_times_of(const Recording& recording);

}  // namespace offramp::recording
