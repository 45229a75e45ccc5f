// The operations that the array carries, and the reasons of declines.
#pragma once

#include <string>
#include <string_view>

#include "backends/aie/planner.hpp"
#include "offramp/model/operation.hpp"

namespace offramp::aie {

/// The loop of a reduction over its data.
struct Loop {
  std::size_t element_bytes = 4;  // per step, of 64-bit integers one word; 0: unsupported type
  int operations = 1;             // per step and input; 0: unsupported function
  bool scalar = false;            // there are no vectors of the type
};
Loop loop_of(ElementType type, ReduceFunction function);

/// True if [aie-thesis] has this collective, built or designed, with elements of this size.
bool is_published(const Operation& operation);

/// The reason if a world has more ranks than the array has tiles.
std::string too_few_tiles(const Setup& setup, int ranks);

/// The reason why the array cannot carry a collective; empty if it can. Ignores messages between ranks.
std::string_view collective_decline(Planner& planner, const Operation& operation);

}  // namespace offramp::aie
