// Brings the folded programs of several ranks onto one shape: the same calls in the same loops, which may
// take other numbers of turns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/programs/scale/folding.hpp"

namespace offramp::scale {

/// What a rank has at each call and each loop of a shape, both counted in the order of the program.
struct Matched {
  std::vector<const Node*> calls;   // null: it lies in a loop that takes no turn
  std::vector<std::int64_t> turns;  // of the loops
};

/// Nothing: the rank does something else.
std::optional<Matched> match(std::span<const Node> shape, std::span<const Node> nodes);

}  // namespace offramp::scale
