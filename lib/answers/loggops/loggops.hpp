// Times of schedules as LogGOPSim computes them, identical to the unit. No backend takes part: a rank has
// processors and NICs, and the network is a latency.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// LogGOPSim's options and defaults. Times are in the schedule's unit, 1 ns here.
struct LogGopsParameters {
  std::uint64_t latency = 2500;         // L
  std::uint64_t overhead = 1500;        // o: processor time per message, at each end
  std::uint64_t gap = 1000;             // g: NIC time per message
  std::uint64_t gap_per_byte = 6;       // G
  std::uint64_t overhead_per_byte = 0;  // O
  std::uint64_t eager_limit = 65535;    // S, bytes: the sender of a larger message waits for the receiver
};

/// Parses "o=1500,L=2500"; other parameters keep their defaults. An error quotes the invalid part.
Result<LogGopsParameters> parse_loggops(std::string_view text);

struct LogGopsTimes {
  std::vector<std::uint64_t> ends;  // per rank: when the last of its processors is free
  /// Unfinished operations, as text: receives without a message, messages without a receive, or operations
  /// that never begin. Empty if the schedule completes.
  std::vector<std::string> left;
};

/// The program must be a graph of messages and computing, without collectives.
Result<LogGopsTimes> run_by_loggops(const Program& program, const LogGopsParameters& parameters);

}  // namespace offramp::trace
