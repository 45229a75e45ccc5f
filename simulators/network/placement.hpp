// Placement of a program's nodes on a machine.
#pragma once

#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp {

/// The machine node of each program node:
/// "order": consecutive nodes.
/// "scattered": neighbours as far from each other as the machine allows.
/// "random" or "random:SEED": distinct random nodes.
/// "list:A,B,...": these distinct nodes.
/// machine: its number of nodes, at least the program's. Returns an error that describes the invalid part.
Result<std::vector<int>> place_nodes(const std::string& text, int nodes, int machine);

}  // namespace offramp
