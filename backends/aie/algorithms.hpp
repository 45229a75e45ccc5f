// Collectives: every rank runs its kernel (simulators/aie/kernels.hpp) over windows to its neighbours in the
// tree. Ranks are numbered from the root on in preorder, so that a subtree is a run of ranks and partial
// results are in the order of ranks.
#pragma once

#include "backends/aie/graphs.hpp"
#include "backends/aie/planner.hpp"
#include "backends/aie/setup.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

/// When this rank's kernels ran, without the host's part.
struct KernelTimes {
  Time begin = Time::never();
  Time end;
};

struct Model {
  const Setup& setup;
  Planner& planner;
  Graphs& graphs;
  WireCounters& wire;
  SpanSink* spans = nullptr;
  Time skew;                     // the root's first kernel begins this much later
  KernelTimes* times = nullptr;  // of this rank; where to note them
};

/// What the function takes of the engine per element; 0: not in its instruction set.
int operations_of(ReduceFunction function);
/// Of one element in bytes; 0: the engine does not compute with it.
std::size_t element_bytes_of(ElementType type);

/// Valid until the next question.
const Need& need_of(Planner& planner, const Operation& operation);
Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers);

}  // namespace offramp::aie
