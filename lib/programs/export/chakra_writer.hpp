// Writes Chakra's execution traces: see chakra.cpp and chakra_format.hpp.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes PATH.0.et and so on, one file per rank, and PATH.json with the groups of collectives. unsaid:
/// receives a line for each kind of construct that the format cannot express.
Result<void> write_chakra(const Program& program, const std::string& path,
                          std::vector<std::string>& unsupported);

}  // namespace offramp::trace
