// Chakra's execution traces: see chakra.cpp and chakra_format.hpp.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes PATH.0.et and so on, one for each rank, and PATH.json with the groups of collectives.
/// unsaid: gets a line for each kind of thing that the format cannot say.
Result<void> write_chakra(const Program& program, const std::string& path, std::vector<std::string>& unsaid);

}  // namespace offramp::trace
