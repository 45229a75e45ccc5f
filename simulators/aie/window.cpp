// A lock call has cycles before its effect and after it. An acquire spends its tail after the lock is
// available. A release flips the lock so early that the partner continues hand_over cycles after the call.
// The split of an acquire is assumed; the totals are published or inferred (Costs).
#include "simulators/aie/window.hpp"

namespace offramp::aie {
namespace {

// Before the lock is asked for.
double acquire_cycles(const Costs& costs, Acquire how) {
  return (how == Acquire::kInLoop ? costs.acquire_loop : costs.acquire_single) - costs.acquire_tail;
}
/// Cycles of a release until the lock flips. The partner then needs its acquire's tail.
double until_flip(const Costs& costs) {
  return costs.hand_over - costs.acquire_tail;
}

}  // namespace

LockCall acquire(Core core, Input& input, Acquire how) {
  const Costs& costs = core.timing.costs();
  core.spend(acquire_cycles(costs, how));
  const Time begin = core.clock;
  return {core, begin, input.wait_full(), "wait for input", costs.acquire_tail};
}

LockCall acquire(Core core, Output& output, Acquire how) {
  const Costs& costs = core.timing.costs();
  core.spend(acquire_cycles(costs, how));
  const Time begin = core.clock;
  return {core, begin, output.wait_empty(), "wait for output", costs.acquire_tail};
}

LockCall release(Core core, Input& input) {
  const Costs& costs = core.timing.costs();
  core.spend(until_flip(costs));
  return {core, {}, input.set_empty(), {}, costs.release - until_flip(costs)};
}

LockCall release(Core core, Output& output) {
  const Costs& costs = core.timing.costs();
  core.spend(until_flip(costs));
  return {core, {}, output.set_full(), {}, costs.release - until_flip(costs)};
}

}  // namespace offramp::aie
