// Writes recommendations as files for Offramp and for MPI libraries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/advice/advice.hpp"

namespace offramp {

/// The mix as sections of an offramp.toml.
std::string routes_toml(const Mix& mix);

/// The fastest algorithms as dynamic rules for Open MPI's "tuned" component, by collective, communicator
/// size, and message size. Empty if the component has none of the algorithms.
std::string tuned_rules(const std::vector<AlgorithmChoice>& choices);
/// These rules in JSON, as Open MPI reads them from release 6 on.
std::string tuned_rules_json(const std::vector<AlgorithmChoice>& choices);

/// The fastest algorithms as a selection tree of MPICH from 4.1 to 5.0; MPICH's own choices apply to all
/// other cases.
std::string mpich_rules(const std::vector<AlgorithmChoice>& choices);
/// For MPICH 4.0, whose barrier has another name.
std::string mpich_4_0_rules(const std::vector<AlgorithmChoice>& choices);
/// The subtrees of these collectives alone, by name, as proposed for MPICH's releases after 5.0.
std::string mpich_subtrees(const std::vector<AlgorithmChoice>& choices);

/// The format that a library reads, which a recording names ("Open MPI v6.0.0"): openmpi, openmpi-6,
/// mpich-4.0, or mpich.
std::string_view tuning_format_of(std::string_view library);

}  // namespace offramp
