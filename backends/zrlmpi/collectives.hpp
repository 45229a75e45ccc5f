// Collectives as built by the ZRLMPI tool chain from send and receive: linear, or a two-level tree of groups
// of four (one replicator and up to three members; the root communicates with replicators only). Read in
// [zrlmpi-src]; corrected for all roots and for non-commutative operations.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::zrlmpi {

/// The two orders of the tool chain.
enum class Order : std::uint8_t { kLinear, kTree };

/// Maximum number of ranks' blocks in one message of a gather or scatter.
std::uint64_t most_blocks(Order order, int ranks);

/// The role's algorithm and its costs.
struct CollectiveModel {
  Order order = Order::kTree;
  Bandwidth copy = Bandwidth::gigabits_per_second(1);     // by the role within its memory
  Bandwidth combine = Bandwidth::gigabits_per_second(1);  // by the role's reduction loop
  SpanSink* spans = nullptr;
};

/// The order of combination: that of the tree.
[[nodiscard]] Fold fold_of(Order order, const Operation& operation, const TeamMembers& team);
/// Ranks take part in MPI's order; the roles' calls block.
Task<Outcome> run_collective(const CollectiveModel& model, Operation operation, Team& team,
                             CollectiveBuffers buffers);

}  // namespace offramp::zrlmpi
