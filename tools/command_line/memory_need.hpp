// Predicts how much memory a simulation of many ranks needs before it begins.
#pragma once

#include <functional>
#include <string>

#include "tools/command_line/setup.hpp"

namespace offramp::tool {

/// Bytes that this process may still use, by free memory, control groups, and address space limit.
double available_memory();

/// Makes allocations fail beyond this share of the available memory, so that a command ends with a message
/// before the kernel ends it or another process.
void limit_memory(double share = 1);

/// Runs the simulation at a few smaller numbers of ranks, each in a child process, and extrapolates. If the
/// prediction exceeds the available memory, tries the full simulation with an eighth of it. Returns a message
/// with the number of ranks that would fit; empty if the simulation fits or the need is unknown.
/// - what: for the message, such as "alltoall over host".
/// - run: simulates this number of ranks.
std::string memory_problem(const std::string& what, int ranks, const std::function<void(int ranks)>& run);

/// memory_problem() for `pattern:...`. Empty for other programs, unknown at fewer ranks.
std::string pattern_memory_problem(const Setup& setup, const BackendDescription& backend,
                                   const std::string& name);

/// The extrapolation of memory_problem(), from the memory of two trials, the second with twice the ranks of
/// the first. The model is a * ranks + b * ranks^2: memory per rank, and per pair of ranks.
std::string memory_text(const std::string& what, int ranks, int trial_ranks, double first, double second,
                        double available);

}  // namespace offramp::tool
