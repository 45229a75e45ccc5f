// Writes recommendations as files for Offramp and for MPI libraries.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/advice/advice.hpp"

namespace offramp {

/// The mix as sections of an offramp.toml.
std::string routes_toml(const Mix& mix);

/// The fastest algorithms as dynamic rules for Open MPI's "tuned" component, by collective, communicator
/// size, and message size. Empty if the component has none of the algorithms.
std::string tuned_rules(const std::vector<AlgorithmChoice>& choices);

/// The fastest algorithms as a selection tree of MPICH 4; MPICH's own choices apply to all other cases.
std::string mpich_rules(const std::vector<AlgorithmChoice>& choices);

}  // namespace offramp
