// Collectives as the ZRLMPI tool chain builds them from send and receive: linear, or a two-level tree of
// groups of four (one replicator and up to three members; the root talks to replicators only). Read in
// [zrlmpi-src]; corrected for every root, and for operations that do not commute.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::zrlmpi {

enum class Order : std::uint8_t { kLinear, kTree };

/// How many ranks' blocks a message of a gather or a scatter has at most.
std::uint64_t most_blocks(Order order, int ranks);

struct CollectiveModel {
  Order order = Order::kTree;
  Bandwidth copy = Bandwidth::gigabits_per_second(1);     // of the role within its memory
  Bandwidth combine = Bandwidth::gigabits_per_second(1);  // of the role's reduction loop
  SpanSink* spans = nullptr;
};

/// Where only data moves: contributions are combined in the tree's order.
Task<Outcome> carry(Order order, const Operation& operation, Team& team, const CollectiveBuffers& buffers);
Task<Outcome> run_collective(const CollectiveModel& model, const Operation& operation, Team& team,
                             CollectiveBuffers buffers);

}  // namespace offramp::zrlmpi
