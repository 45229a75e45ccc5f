// Collectives: every rank runs its kernel (simulators/aie/kernels.hpp) over windows to its neighbours in the
// tree. Ranks are numbered from the root on in preorder, so that a subtree is a run of ranks and partial
// results are in the order of ranks.
#pragma once

#include "backends/aie/device.hpp"
#include "backends/aie/graphs.hpp"
#include "backends/aie/planner.hpp"
#include "backends/aie/setup.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

/// When kernels ran, without the host's part.
struct KernelTimes {
  Time begin = Time::never();
  Time end;
};

struct Model {
  const Setup& setup;
  Planner& planner;
  Graphs& graphs;
  Device& device;
  WireCounters& wire;
  SpanSink* spans = nullptr;
  Time skew;                     // the root's first kernel begins this much later
  KernelTimes* times = nullptr;  // where to note them; null: they do not count
};
/// For the second part of a collective, whose kernels run already.
inline Model following(Model model) {
  model.skew = {};
  return model;
}

Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers);

}  // namespace offramp::aie
