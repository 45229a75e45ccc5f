// Collectives: one call of the engine per rank, whose firmware communicates with its peers'. Its algorithms
// are in simulators/cclo/firmware_eager.cpp and firmware_rendezvous.cpp; is_rendezvous() selects between
// them. This file has the call with the copies of staged memory around it, and the order in which the
// firmware combines.
#include <algorithm>
#include <utility>

#include "backends/cclo/backend.hpp"

namespace offramp::cclo {

Scenario CcloBackend::scenario_of_kind(OperationKind kind) {
  static constexpr std::pair<OperationKind, Scenario> kScenarios[] = {
      {OperationKind::kBcast, Scenario::kBcast},
      {OperationKind::kReduce, Scenario::kReduce},
      {OperationKind::kGather, Scenario::kGather},
      {OperationKind::kAllreduce, Scenario::kAllreduce},
      {OperationKind::kScatter, Scenario::kScatter},
      {OperationKind::kAllgather, Scenario::kAllgather},
      {OperationKind::kAlltoall, Scenario::kAlltoall},
      {OperationKind::kReduceScatter, Scenario::kReduceScatter},
      {OperationKind::kBarrier, Scenario::kBarrier}};
  for (const auto& [known, scenario] : kScenarios) {
    if (known == kind) return scenario;
  }
  return Scenario::kNop;  // declined by supports()
}

/// The top combines all contributions. The hardware does so in the order of arrival; the order of a run is
/// that of a simultaneous start, with the rank before the top first.
static Fold flat_fold(const TeamMembers& team, int top) {
  Fold fold;
  if (team.rank() != top) {
    fold.parent = top;
    return fold;
  }
  for (int distance = 1; distance < team.size(); ++distance)
    fold.add_child((top - distance + team.size()) % team.size());
  return fold;
}

CcloBackend::Staged CcloBackend::staged_of(const Operation& operation, const Team& team,
                                           const CollectiveBuffers& buffers) {
  // A bcast has one buffer, which the root sends and the others receive.
  if (operation.kind != OperationKind::kBcast) return {buffers.send.size(), buffers.receive.size()};
  const bool root = team.rank() == operation.root;
  return {root ? buffers.receive.size() : 0, root ? 0 : buffers.receive.size()};
}

Time CcloBackend::stage_in(RankEngine& engine, Time at, Time duration) const {
  if (!configuration_.host.staged || duration == Time()) return at;
  return engine.bus.to_card.acquire(at, duration).end + spec_.pcie_latency;
}

/// Accounts for messages in the order of arrival, independent of the calls that wait for them.
void CcloBackend::land(const Transfer& transfer, Passage& passage, const Resources& receiver) {
  const MessageType type = type_of({{}, {}, transfer.detail});
  if (type == MessageType::kRendezvousInit) {  // to the control processor
    passage.stored = spec_.notified_at(passage.last);
    return;
  }
  const bool write = type == MessageType::kWriteDone;
  const Time first = passage.first + spec_.first_on_link(transfer.bytes);
  EngineUnits units(receiver);
  passage.stored = Receiver(spec_, units).land(first, passage.last, transfer.bytes, write);
  if (!write || !spec_.host_memory || transfer.bytes == 0) return;
  const Time written =
      engine(transfer.destination).bus.from_card.acquire(first, spec_.pcie_time(transfer.bytes)).end;
  passage.stored = later(passage.stored, written) + spec_.pcie_latency;
}

/// The driver copies within the MPI call that waits, as it copies before the engine's call.
void CcloBackend::copy_back(RankEngine& engine, Team& team, std::uint64_t bytes) const {
  if (!configuration_.host.staged || bytes == 0) return;
  team.host_begin = team.clock;
  team.host_end = [this, &bus = engine.bus.from_card, duration = spec_.pcie_time(bytes),
                   operation = team.operation, rank = team.world_rank(team.rank())](Time begin) {
    const Time end = bus.acquire(begin, duration).end + spec_.pcie_latency;
    if (spans_ != nullptr) spans_->record({"pcie", "copy from card", begin, end, operation, rank});
    return end;
  };
}

std::optional<ReductionOrder> CcloBackend::order(const Operation& operation, const TeamMembers& team) {
  // The conditions are those of the firmware.
  const Tuning& tuning = configuration_.tuning;
  // The rank at which results are combined.
  const int top = top_of(operation);
  const bool scatters = operation.kind == OperationKind::kReduceScatter;
  const auto ranks = static_cast<std::uint64_t>(team.size());
  if (is_rendezvous(spec_, scenario_of_kind(operation.kind), operation.bytes)) {
    const bool flat = ranks <= tuning.reduce_flat_ranks ||
                      operation.bytes * (scatters ? ranks : 1) <= tuning.reduce_flat_bytes;
    return flat ? flat_fold(team, top) : Fold::binomial(team, top);
  }
  if (operation.kind == OperationKind::kReduce) return Fold::chain(team, top);
  if (scatters || spec_.generation == Generation::kFirst) return Ring{};
  // One RX buffer of whole chunks at a time.
  const std::uint64_t element = operation.elements > 0 ? operation.bytes / operation.elements : 1;
  const std::uint64_t unit = std::max<std::uint64_t>(1, element) * ranks;
  return Ring{std::max(unit, spec_.rx_buffer_bytes / unit * unit)};
}

Task<Outcome> CcloBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const int place = team.world_rank(team.rank());
  RankEngine& own = engine(place);
  Driver& driver = own.driver;
  const Driver::Placed placed =
      // Writes the communicator if the exchange memory lacks it.
      driver.place(static_cast<std::uint32_t>(operation.ranks), static_cast<std::uint32_t>(team.rank()), 0);
  const std::uint64_t element = operation.elements > 0 ? operation.bytes / operation.elements : 1;
  const std::uint64_t unit =
      // The second generation counts elements, the first one bytes.
      spec_.generation == Generation::kSecond ? std::max<std::uint64_t>(1, element) : 1;
  const ArithmeticLane* lane = find_lane(spec_.generation, operation.element, operation.function);
  const std::uint32_t function =
      lane == nullptr ? 0U
                      : static_cast<std::uint32_t>(spec_.generation == Generation::kFirst
                                                       ? lane->gen1_function
                                                       : lane->function == ReduceFunction::kMaximum);
  const Driver::Started started =
      driver.start(call_words(spec_.generation, scenario_of_kind(operation.kind), operation.bytes / unit,
                              static_cast<std::uint32_t>(operation.root), placed.address, function));
  // Room for 2^34 packets per collective.
  const std::uint64_t first_packet = kCollectivePackets | (++own.collectives << 34);
  CallContext context{spec_,        driver.space(), team,           placed.address, faults_,
                      first_packet, spans_,         team.operation, tap_.get()};
  context.place = place;
  context.own_steps = own_steps(team.devices());
  // The driver copies before the call, and again after it.
  const Staged staged = staged_of(operation, team, buffers);
  const Time copied = stage_in(own, team.clock, spec_.pcie_time(staged.in));
  const Time begin = copied + placed.cost + started.cost;
  Processor processor(context, begin);
  if (copied > team.clock) processor.span("pcie", "copy to card", team.clock, copied);
  processor.span("host", "start call", copied, begin);
  // The program's buffers, on which the firmware works in the simulation.
  const CallMemory memory{buffers.send, buffers.receive, element};
  (void)co_await run_call(processor, driver.space(), started.words, memory);
  // Packets are counted even if the call fails.
  wire_ += processor.wire();
  const Driver::Finished finished = driver.finish();
  team.clock = processor.now() + finished.cost;
  processor.span("host", "finish call", processor.now(), team.clock);
  copy_back(own, team, staged.out);
  // Use the processor's code: a call that completed meanwhile may have overwritten the return code.
  co_return processor.error() == Error::kNone ? Outcome::kOk : Outcome::kFault;
}

}  // namespace offramp::cclo
