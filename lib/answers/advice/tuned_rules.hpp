// What advice recommends, as files that Offramp and MPI libraries read.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/advice/advice.hpp"

namespace offramp {

/// The mix as sections of an offramp.toml.
std::string routes_toml(const Mix& mix);

/// The fastest algorithms as a file of dynamic rules for Open MPI's component "tuned": each collective at
/// each size of communicator, from a message size on. Empty: the component has none of them.
std::string tuned_rules(const std::vector<AlgorithmChoice>& choices);

/// The fastest algorithms as a selection tree of MPICH 4, with MPICH's own choices for all else.
std::string mpich_rules(const std::vector<AlgorithmChoice>& choices);

}  // namespace offramp
