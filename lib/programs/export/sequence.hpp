// Programs as graphs, for formats that have graphs alone: what is a sequence of calls becomes one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The graph of each rank; ranks come in order. unsaid: gets a line for each kind of thing that graphs cannot
/// say. no_collectives: why the format has none; empty: it has them.
std::function<Result<Graph>(int rank)> graphs_of(const Program& program, std::vector<std::string>& unsaid,
                                                 std::string_view no_collectives);

}  // namespace offramp::trace
