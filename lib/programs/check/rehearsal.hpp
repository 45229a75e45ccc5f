// A program without time: whether its calls fit together, before any replay. Ranks go on until they wait for
// something that has not happened; sends do not wait for their receives.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

struct Findings {
  /// What keeps the program from its end, or is not done by all ranks that should.
  std::vector<std::string> problems;
  /// What may be meant so.
  std::vector<std::string> remarks;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t collectives = 0;  // each rank's call counts
};

/// Unmatched messages, cycles of ranks that wait for each other, collectives that not all members call, or
/// not alike, ranks without events, messages longer than their receives; and sizes of 0 as remarks. Of each
/// kind the first few are named, and the others counted. An error: the program cannot be read.
Result<Findings> rehearse(const Program& program);

}  // namespace offramp::trace
