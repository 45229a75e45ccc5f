// Collectives: every rank runs its kernel (simulators/aie/kernels.hpp) with windows to its neighbours in the
// tree. Ranks are numbered in preorder from the root, so subtrees are ranges of ranks and partial results are
// in rank order.
#pragma once

#include "backends/aie/device.hpp"
#include "backends/aie/graphs.hpp"
#include "backends/aie/parameters.hpp"
#include "backends/aie/planner.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

/// The run time of kernels, without the host's part.
struct KernelTimes {
  /// The first of all kernels.
  Time begin = Time::never();
  Time end;
};

/// Refers to parts of the backend, which outlive each collective.
struct Model {
  const Setup& setup;
  Planner& planner;
  Graphs& graphs;
  Device& device;
  WireCounters& wire;
  SpanSink* spans = nullptr;
  Time skew;                     // delay of the root's first kernel
  KernelTimes* times = nullptr;  // receives the times; nullptr: they are not counted
};
/// The model for the second part of a collective, whose kernels are already running.
inline Model following(Model model) {
  model.skew = {};
  return model;
}

/// The order of combination: that of the kernels in the tree, or of the butterfly.
[[nodiscard]] Fold fold_of(Planner& planner, const Operation& operation, const TeamMembers& team);
/// This rank's part of a collective: the host's commands, the load of the graph, and the kernels. kFault if
/// the array has a limit, for which supports() declines the operation.
Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers);

}  // namespace offramp::aie
