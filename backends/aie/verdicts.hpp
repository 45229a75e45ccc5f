// What the array carries, and why not the rest.
#pragma once

#include <string>
#include <string_view>

#include "backends/aie/planner.hpp"
#include "offramp/model/operation.hpp"

namespace offramp::aie {

/// What the function takes of the engine per element; 0: not in its instruction set.
int operations_of(ReduceFunction function);
/// Of one element in bytes; 0: the engine does not compute with it.
std::size_t element_bytes_of(ElementType type);

/// The reason where the ranks of a world do not find a tile each.
std::string too_few_tiles(const Setup& setup, int ranks);

/// Why the array cannot carry a collective; empty if it can. Does not look at messages between ranks.
std::string_view collective_decline(Planner& planner, const Operation& operation);

}  // namespace offramp::aie
