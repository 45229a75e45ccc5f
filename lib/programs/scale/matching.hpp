// Maps the folded programs of ranks to one shape: the same calls and loops, with any numbers of turns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/programs/scale/folding.hpp"

namespace offramp::scale {

/// A rank's nodes for the calls and loops of a shape, in program order.
struct Matched {
  std::vector<const Node*> calls;   // null: in a loop without turns
  std::vector<std::int64_t> turns;  // of the loops
};

/// `nullopt` if the rank does not match the shape.
std::optional<Matched> match(std::span<const Node> shape, std::span<const Node> nodes);

}  // namespace offramp::scale
