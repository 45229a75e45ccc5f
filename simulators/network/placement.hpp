// Where the nodes of a program are in a machine.
#pragma once

#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp {

/// The node of the machine on which each node of the program is. "order": one after the other. "scattered":
/// neighbours as far from each other as the machine allows. "random" or "random:SEED": drawn, without two on
/// one. "list:A,B,...": these nodes; one each. machine: nodes of the machine, not fewer than the program's.
/// An error names what is wrong.
Result<std::vector<int>> place_nodes(const std::string& text, int nodes, int machine);

}  // namespace offramp
