// Schedules by the rules of LogGOPSim: its main loop, step by step, so that what it says of a schedule and
// what is said here is one, to the unit. No backend has a part in it: a rank has processors and NICs, and the
// network is a latency.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// LogGOPSim's options, with its defaults. Times are in the schedule's unit, which is 1 ns here.
struct LogGopsParameters {
  std::uint64_t latency = 2500;         // L
  std::uint64_t overhead = 1500;        // o: of the processor, per message at each end
  std::uint64_t gap = 1000;             // g: of the NIC, per message
  std::uint64_t gap_per_byte = 6;       // G
  std::uint64_t overhead_per_byte = 0;  // O
  std::uint64_t eager_limit = 65535;    // S, bytes: the sender of a larger message waits for the receiver
};

/// "o=1500,L=2500": what is not there has its default. An error names the part that is wrong.
Result<LogGopsParameters> parse_loggops(std::string_view text);

struct LogGopsTimes {
  std::vector<std::uint64_t> ends;  // of each rank: when the last of its processors is free
  /// What is left in the queues: receives that nothing came for, and messages that nobody received; or
  /// operations that never began. Empty: the schedule came to its end.
  std::vector<std::string> left;
};

/// Of programs that are graphs of messages and computing.
Result<LogGopsTimes> run_by_loggops(const Program& program, const LogGopsParameters& parameters);

}  // namespace offramp::trace
