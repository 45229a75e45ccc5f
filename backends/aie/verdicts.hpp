// What the array carries, and why not the rest.
#pragma once

#include <string>
#include <string_view>

#include "backends/aie/planner.hpp"
#include "offramp/model/operation.hpp"

namespace offramp::aie {

/// How a reduction goes over its data.
struct Loop {
  std::size_t element_bytes = 4;  // a step's, of integers of 64 bits a word; 0: it does not know the type
  int operations = 1;             // of a step and one input; 0: it does not know the function
  bool scalar = false;            // there are no vectors of the type
};
Loop loop_of(ElementType type, ReduceFunction function);

/// [aie-thesis] has this collective, built or designed, with elements of this size.
bool is_published(const Operation& operation);

/// The reason where the ranks of a world do not find a tile each.
std::string too_few_tiles(const Setup& setup, int ranks);

/// Why the array cannot carry a collective; empty if it can. Does not look at messages between ranks.
std::string_view collective_decline(Planner& planner, const Operation& operation);

}  // namespace offramp::aie
