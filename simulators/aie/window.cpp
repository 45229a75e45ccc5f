#include "simulators/aie/window.hpp"

namespace offramp::aie {
namespace {

double acquire_cycles(const Costs& costs, Acquire how) {
  return (how == Acquire::kInLoop ? costs.acquire_loop : costs.acquire_single) - costs.acquire_tail;
}
/// Into the release until the lock flips: the partner needs its acquire's tail after that.
double until_flip(const Costs& costs) {
  return costs.hand_over - costs.acquire_tail;
}

}  // namespace

Task<void> acquire(Core core, Input& input, Acquire how) {
  core.spend(acquire_cycles(core.timing.costs(), how));
  const Time begin = core.clock;
  co_await input.wait_full();
  core.span("wait for input", begin);
  core.spend(core.timing.costs().acquire_tail);
}

Task<void> acquire(Core core, Output& output, Acquire how) {
  core.spend(acquire_cycles(core.timing.costs(), how));
  const Time begin = core.clock;
  co_await output.wait_empty();
  core.span("wait for output", begin);
  core.spend(core.timing.costs().acquire_tail);
}

Task<void> release(Core core, Input& input) {
  const Costs& costs = core.timing.costs();
  core.spend(until_flip(costs));
  co_await input.set_empty();
  core.spend(costs.release - until_flip(costs));
}

Task<void> release(Core core, Output& output) {
  const Costs& costs = core.timing.costs();
  core.spend(until_flip(costs));
  co_await output.set_full();
  core.spend(costs.release - until_flip(costs));
}

}  // namespace offramp::aie
