// Converts programs to graphs for formats that only have graphs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Returns the graph of each rank; ranks must come in order. unsaid: receives a line per kind of construct
/// that graphs cannot express. no_collectives: why the format has no collectives, or empty.
std::function<Result<Graph>(int rank)> graphs_of(const Program& program,
                                                 std::vector<std::string>& unsupported,
                                                 std::string_view no_collectives);

}  // namespace offramp::trace
