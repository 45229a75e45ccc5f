// How much memory a simulation of many ranks needs, found out before it begins.
#pragma once

#include <functional>
#include <string>

#include "tools/command_line/setup.hpp"

namespace offramp::tool {

/// Bytes that this process may still use: what the machine has free, and what its control groups and its
/// limit of address space allow.
double available_memory();

/// Lets an allocation fail when this process has taken what is available, or this share of it: a command ends
/// with a message before the kernel ends it, or another process in its place.
void limit_memory(double share = 1);

/// Runs a simulation at a few smaller numbers of ranks, each in a process of its own, and extrapolates. If
/// the result is more than is available, tries the simulation itself with an eighth of that. Returns the
/// message with the number of ranks that would fit. Empty if the simulation fits, or if that is not known.
/// what: for the message, as in "alltoall over host". run: simulates so many ranks.
std::string memory_problem(const std::string& what, int ranks, const std::function<void(int ranks)>& run);

/// memory_problem() of a replay of `pattern:...`. Empty for other programs: how they behave at fewer ranks is
/// not known.
std::string pattern_memory_problem(const Setup& setup, const BackendDescription& backend,
                                   const std::string& name);

/// The part of memory_problem() that looks at figures: the memory of two trials, the second at twice the
/// ranks of the first. A rank takes the same with any number of ranks, or so much for each other rank:
/// a * ranks + b * ranks^2.
std::string memory_text(const std::string& what, int ranks, int trial_ranks, double first, double second,
                        double available);

}  // namespace offramp::tool
