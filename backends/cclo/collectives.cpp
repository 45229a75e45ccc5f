// Collectives: one call of the engine, whose firmware runs against its peers'.
#include <algorithm>

#include "backends/cclo/backend.hpp"

namespace offramp::cclo {

Scenario CcloBackend::scenario_of_kind(OperationKind kind) {
  switch (kind) {
    case OperationKind::kBcast:
      return Scenario::kBcast;
    case OperationKind::kReduce:
      return Scenario::kReduce;
    case OperationKind::kGather:
      return Scenario::kGather;
    case OperationKind::kAllreduce:
      return Scenario::kAllreduce;
    case OperationKind::kScatter:
      return Scenario::kScatter;
    case OperationKind::kAllgather:
      return Scenario::kAllgather;
    case OperationKind::kReduceScatter:
      return Scenario::kReduceScatter;
    case OperationKind::kAlltoall:
      return Scenario::kAlltoall;
    case OperationKind::kBarrier:
      return Scenario::kBarrier;
    default:
      return Scenario::kNop;
  }
}

CcloBackend::Staged CcloBackend::staged_of(const Operation& operation, const Team& team,
                                           const CollectiveBuffers& buffers) {
  if (operation.kind != OperationKind::kBcast) return {buffers.send.size(), buffers.receive.size()};
  const bool root = team.rank() == operation.root;
  return {root ? buffers.receive.size() : 0, root ? 0 : buffers.receive.size()};
}

Time CcloBackend::stage_in(Arbiter& pcie, Time at, Time duration) const {
  if (!configuration_.host.staged || duration == Time()) return at;
  return pcie.acquire(at, duration).end + spec_.pcie_latency;
}

Task<Outcome> CcloBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const Driver::Placed placed =
      driver_.place(static_cast<std::uint32_t>(operation.ranks), static_cast<std::uint32_t>(team.rank()), 0);
  const std::uint64_t element = operation.elements > 0 ? operation.bytes / operation.elements : 1;
  const std::uint64_t unit =
      spec_.generation == Generation::kSecond ? std::max<std::uint64_t>(1, element) : 1;
  const ArithmeticLane* lane = find_lane(spec_.generation, operation.element, operation.function);
  const std::uint32_t function =
      lane == nullptr ? 0U
                      : static_cast<std::uint32_t>(spec_.generation == Generation::kFirst
                                                       ? lane->gen1_function
                                                       : lane->function == ReduceFunction::kMaximum);
  const Driver::Started started =
      driver_.start(call_words(spec_.generation, scenario_of_kind(operation.kind), operation.bytes / unit,
                               static_cast<std::uint32_t>(operation.root), placed.address, function));
  const std::uint64_t first_packet = kCollectivePackets | (++collectives_ << 34);
  CallContext context{spec_,        driver_.space(), team,           placed.address, faults_,
                      first_packet, spans_,          team.operation, tap_.get()};
  context.state = &driver_.state();
  context.link_in = &link_in_;
  EngineUnits units(team.units());
  const Staged staged = staged_of(operation, team, buffers);
  const Time copied = stage_in(units[Unit::kPcieDown], team.clock, spec_.pcie_time(staged.in));
  const Time begin = copied + placed.cost + started.cost;
  Processor processor(context, begin);
  if (copied > team.clock) processor.span("pcie", "copy to card", team.clock, copied);
  processor.span("host", "start call", copied, begin);
  const CallMemory memory{buffers.send, buffers.receive, element};
  (void)co_await run_call(processor, driver_.space(), started.words, memory);
  wire_ += processor.wire();
  const Driver::Finished finished = driver_.finish();
  team.clock = processor.now() + finished.cost;
  processor.span("host", "finish call", processor.now(), team.clock);
  if (configuration_.host.staged && staged.out > 0) {
    const Time finish = team.clock;
    team.clock = share(units[Unit::kPcieUp], finish, spec_.pcie_time(staged.out)) + spec_.pcie_latency;
    processor.span("pcie", "copy from card", finish, team.clock);
  }
  // Another call may have completed since and left its own return code: the processor's is this call's.
  co_return processor.error() == Error::kNone ? Outcome::kOk : Outcome::kFault;
}

}  // namespace offramp::cclo
