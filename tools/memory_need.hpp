// How much memory a simulation of many ranks needs, found out before it begins.
#pragma once

#include <functional>
#include <string>

namespace offramp::tool {

/// Bytes that this process may still use: what the machine has free, and what its control groups and its
/// limit of address space allow.
double available_memory();

/// Lets an allocation fail when this process has taken what is available, so that a command ends with a
/// message before the kernel ends it, or another process in its place.
void limit_memory();

/// Runs a simulation at a few smaller numbers of ranks, each in a process of its own, and extrapolates.
/// Throws Misuse if it needs more memory than is available, with the number of ranks that would fit. Tries
/// nothing if a message between each two ranks fits, and decides nothing if the trials do not end. what: for
/// the message, as in "alltoall over host". run: simulates so many ranks.
void check_memory(const std::string& what, int ranks, const std::function<void(int ranks)>& run);

/// The part of check_memory() that looks at figures: the memory of two trials, the second at twice the ranks
/// of the first. Empty, or the message.
std::string memory_problem(const std::string& what, int ranks, int trial_ranks, double first, double second,
                           double available);

}  // namespace offramp::tool
