// Checks before a replay, without timing, that the calls of a program fit together. Ranks run until they wait
// for something that has not happened. Sends never wait for their receives.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The result of rehearse(). Both lists are whole sentences for the user.
struct Findings {
  /// Reasons why the program cannot end, and calls that some ranks omit.
  std::vector<std::string> problems;
  /// Oddities that may be intended.
  std::vector<std::string> remarks;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t collectives = 0;  // each rank's call counts
};

/// Finds unmatched messages, cycles of waiting ranks, incomplete or inconsistent collectives, ranks without
/// events, and messages longer than their receives. Also finds blocks that neighbours do not exchange alike,
/// epochs of windows that never end, and accesses outside of epochs. Sizes of 0 are remarks. Names the first
/// few findings of each kind and counts the others. Fails if the program cannot be read.
Result<Findings> rehearse(const Program& program);

}  // namespace offramp::trace
