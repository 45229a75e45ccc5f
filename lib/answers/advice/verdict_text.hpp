// Advice in sentences, and as files that programs read.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/advice/advice.hpp"

namespace offramp {

/// The answer in a sentence or two: which hardware, by how much of the run, and how sure that is. program:
/// its name, for the beginning.
std::string verdict_text(const Advisor& advisor, const std::string& program);

/// The mix as sections of an offramp.toml.
std::string routes_toml(const Mix& mix);

/// The fastest algorithms as a file of dynamic rules for Open MPI's component "tuned": each collective at
/// each size of communicator, from a message size on. Empty: there is nothing that it can say.
std::string tuned_rules(const std::vector<AlgorithmChoice>& choices);

/// The same as a selection tree of MPICH 4, with MPICH's own choices for all else.
std::string mpich_rules(const std::vector<AlgorithmChoice>& choices);

}  // namespace offramp
