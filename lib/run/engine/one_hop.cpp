// An operation of a correct program:
//
//   start() -> kUnpublished -> kWaiting -> kDone
//
// Set-up: with a communicator's second collective its first member reserves slots in its own shared memory
// and sends their offset to the others. From the fourth collective on, operations use the slots. An offset of
// 0 means that there is no memory; the algorithm then carries all collectives of the communicator.
//
// kUnpublished: a rank waits while its slot is still being read. If it reads nothing itself, it then sends
// its contribution as messages: a program may start many small collectives before another rank reaches the
// first of them.
//
// Ranks that disagree about the collective: one_hop_mismatch.cpp.
#include "lib/run/engine/one_hop.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/run/engine/collective.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/engine/hop_sources.hpp"

namespace offramp {
namespace {

/// Each rank reads the slots of all others, so the time grows with the ranks. Measured: docs/performance.md.
constexpr int kMostRanks = 16;
static_assert(kMostRanks <= CombinePlan::kMostRanks);
// Turns are calls of progress() without an advance of the operation. They are limits of patience, not times.
constexpr unsigned kCallsBeforeInvitation = 1;
constexpr unsigned kCallsBeforeSlots = 3;
constexpr unsigned kTurnsBeforeMessages = 1000;
constexpr unsigned kTurnsBeforeLook = 64;
constexpr std::size_t kPage = 4096;

SlotRing::Label label_of(const HopOperation& operation) {
  return {operation.operation.kind, operation.operation.root, operation.buffers.send.size()};
}

/// The block for one rank in a contribution of equal blocks. The receiver may expect another size.
Bytes block_of(Bytes all, const Operation& operation, int index) {
  const std::size_t block = all.size() / static_cast<std::size_t>(operation.ranks);
  return all.subspan(block * static_cast<std::size_t>(index), block);
}

}  // namespace

HopRing::~HopRing() {
  // The first member may then reuse the memory.
  if (state_ == State::kReady) slots_.leave();
}

void HopRing::finish(std::uint64_t number) {
  if (number != finished_) {
    finished_early_.insert(number);
    return;
  }
  ++finished_;
  while (!finished_early_.empty() && *finished_early_.begin() == finished_) {
    finished_early_.erase(finished_early_.begin());
    ++finished_;
  }
  if (state_ == State::kReady) slots_.finish_before(finished_);
}

// --- set-up ---

/// Counts a communicator's first collectives, which the algorithm carries, and starts the set-up.
void OneHop::prepare(Context& context, std::uint8_t backend) {
  if (context.hop == nullptr) {
    context.hop = std::make_unique<HopRing>();
    // Faults of wires strike messages. Slots have none, so collectives stay with the algorithm.
    bool fits = context.size() >= 2 && context.size() <= kMostRanks && !engine_.lane().faulty;
    for (int rank = 0; rank < context.size() && fits; ++rank)
      fits = !fabric_.shared_memory(context.world_rank(rank)).empty();
    if (!fits) context.hop->state_ = HopRing::State::kUnfit;
  }
  HopRing& ring = *context.hop;
  if (ring.state_ != HopRing::State::kUnfit && ring.calls_ == kCallsBeforeInvitation) join(context, backend);
  ++ring.calls_;
}

OneHop::Answer OneHop::query(Context& context, const Operation& operation, std::uint8_t backend) {
  HopRing* const ring = context.hop.get();
  if (ring == nullptr || ring->calls_ < kCallsBeforeSlots) {
    prepare(context, backend);
    return {};
  }
  if (ring->state_ == HopRing::State::kUnfit) return {};
  Answer answer{.is_numbered = true, .number = ring->started_++};
  const HopRing::Plan* const recent = ring->recent_plan_;
  if (recent != nullptr && recent->operation == operation && recent->backend == backend) {
    answer.plan = recent->get();
    answer.by_algorithm = answer.plan == nullptr;
    return answer;
  }
  const bool is_small =
      hop::has_slots(operation.kind) && hop::contributed_bytes(operation) <= SlotRing::kMostBytes;
  if (is_small && reduces(operation.kind)) answer.plan = plan_of(context, operation, backend);
  answer.by_algorithm = !is_small || (reduces(operation.kind) && answer.plan == nullptr);
  return answer;
}

/// Returns null if the operation has no plan. All members get the same answer.
const CombinePlan* OneHop::plan_of(Context& context, const Operation& operation, std::uint8_t backend) {
  HopRing& ring = *context.hop;
  const auto is_it = [&](const HopRing::Plan* known) {
    return known != nullptr && known->operation == operation && known->backend == backend;
  };
  std::size_t at = Lane::hash_of(operation) + backend;
  for (; ring.plans_[at % HopRing::kPlans] != nullptr; ++at) {
    const HopRing::Plan* const known = ring.plans_[at % HopRing::kPlans].get();
    if (is_it(known)) return (ring.recent_plan_ = known)->get();
  }
  // Only now is it certain that no operation uses a plan that was evicted.
  if (waiting_.empty()) replaced_.clear();
  // A full table is emptied at once: the shapes that the program still uses are derived again.
  if (++ring.plan_count_ > HopRing::kPlans / 2) {
    for (std::unique_ptr<HopRing::Plan>& plan : ring.plans_)
      if (plan != nullptr) replaced_.push_back(std::move(plan));
    ring.plan_count_ = 1;
  }
  const CombinePlan::Members members{context.rank(), *context.members(), context.id(), context.setup_id};
  std::unique_ptr<HopRing::Plan>& plan = ring.plans_[at % HopRing::kPlans];
  plan = std::make_unique<HopRing::Plan>(HopRing::Plan{
      operation, backend, CombinePlan::derive(engine_.lane().backend(backend), operation, members)});
  return (ring.recent_plan_ = plan.get())->get();
}

void OneHop::join(Context& context, std::uint8_t backend) {
  HopRing& ring = *context.hop;
  ring.state_ = HopRing::State::kJoining;
  const std::int32_t tag = collective_tag(context.collective_number++);
  const MutableBytes place = std::as_writable_bytes(std::span(&ring.offset_, 1));
  if (context.rank() == 0) {
    ring.offset_ = allocate_area(context.size());
    for (int rank = 1; rank < context.size(); ++rank)
      send(context, rank, tag, {place.begin(), place.end()}, backend);
    on_invitation(context);
    return;
  }
  ring.invitation_.owner = this;
  ring.invitation_.on_complete = [](ReceiveRecord& record) {
    static_cast<OneHop*>(record.owner)->on_invitation(*record.context);
  };
  engine_.receive(ring.invitation_, context, 0, tag, place);
}

void OneHop::on_invitation(Context& context) {
  HopRing& ring = *context.hop;
  const std::span<std::byte> memory = fabric_.shared_memory(context.world_rank(0));
  const std::size_t bytes = SlotRing::bytes(context.size());
  // The offset comes from another process, so it is checked before its use.
  const bool good = ring.offset_ > 0 && ring.offset_ % kPage == 0 && ring.offset_ <= memory.size() &&
                    memory.size() - ring.offset_ >= bytes;
  ring.state_ = good ? HopRing::State::kReady : HopRing::State::kUnfit;
  if (!good) return;
  ring.slots_ = SlotRing(memory.data() + ring.offset_, context.rank(), context.size());
  for (const std::uint64_t number : ring.unlabelled_) {
    if (ring.slots_.has_credit(number)) ring.slots_.publish(number, SlotRing::Label::by_algorithm(), {});
  }
  ring.unlabelled_.clear();
  ring.slots_.finish_before(ring.finished_);
}

/// Returns the offset of free memory for slots in this rank's shared memory; 0 if it is full.
std::uint64_t OneHop::allocate_area(int ranks) {
  const std::span<std::byte> memory = fabric_.shared_memory(engine_.rank());
  const std::size_t bytes = (SlotRing::bytes(ranks) + kPage - 1) / kPage * kPage;
  for (Area& area : areas_) {
    if (area.bytes != bytes || !area.slots.all_have_left()) continue;
    // A SlotRing begins with zeros.
    std::memset(memory.data() + area.offset, 0, area.bytes);
    area.slots = SlotRing(memory.data() + area.offset, 0, ranks);
    return area.offset;
  }
  // The first page stays unused, because offset 0 means that there is no memory.
  const std::size_t offset = areas_.empty() ? kPage : areas_.back().offset + areas_.back().bytes;
  if (offset + bytes > memory.size() || !fabric_.reserve(memory.subspan(offset, bytes))) return 0;
  areas_.push_back({offset, bytes, SlotRing(memory.data() + offset, 0, ranks)});
  return offset;
}

// --- operations ---

void OneHop::start(HopOperation& operation) {
  const int rank = operation.context->rank();
  const bool is_published = !hop::contributes(operation.operation, rank);
  operation.state = is_published ? HopOperation::State::kWaiting : HopOperation::State::kUnpublished;
  const hop::Sources sources = hop::read_by(operation.operation, rank);
  operation.first = operation.next = sources.first;
  operation.end = sources.end;
  if (!advance(operation)) return waiting_.push_back(operation);
  operation.on_end(operation);
}

int OneHop::advance_all() {
  int ended = 0;
  for (HopOperation* next = waiting_.front(); next != nullptr;) {
    // Read before advance(): the operation may be deleted by its callback.
    HopOperation& operation = *std::exchange(next, waiting_.next(*next));
    if (!advance(operation)) continue;
    waiting_.remove(operation);
    operation.on_end(operation);
    ++ended;
  }
  return ended;
}

/// Returns true if the operation has ended.
bool OneHop::advance(HopOperation& operation) {
  const HopRing& ring = *operation.context->hop;
  if (ring.state_ != HopRing::State::kReady) {
    if (ring.state_ != HopRing::State::kUnfit) return false;
    operation.state = HopOperation::State::kRefused;
    return true;
  }
  if (operation.state == HopOperation::State::kUnpublished && !publish(operation)) return false;
  if (operation.state != HopOperation::State::kWaiting) return advance_watched(operation);
  if (!read_labels(operation)) return false;
  if (operation.algorithm_ranks == 0 && operation.mismatched == 0) [[likely]] {
    end(operation);
    collect(operation);
  } else {
    resolve_mismatch(operation);
  }
  operation.context->hop->finish(operation.number);
  return true;
}

void OneHop::end(HopOperation& operation) {
  ++carried_;
  operation.state = HopOperation::State::kDone;
}

/// Reads the labels of all contributors. Returns false if one is missing.
bool OneHop::read_labels(HopOperation& operation) {
  const SlotRing& slots = operation.context->hop->slots_;
  const SlotRing::Label expected(operation.operation.kind, operation.operation.root, 0);
  for (int& rank = operation.next; rank < operation.end; ++rank) {
    if (rank == operation.context->rank()) continue;
    SlotRing::Label label;
    if (slots.has_arrived(rank, operation.number)) [[likely]]
      label = slots.label(rank, operation.number);
    else if (!has_arrived_otherwise(operation, rank, label))
      return false;
    if (label.belongs_to(expected)) [[likely]]
      continue;
    if (label.is_by_algorithm()) {
      operation.algorithm_ranks |= 1U << static_cast<unsigned>(rank);
    } else {
      ++operation.mismatched;
    }
  }
  return true;
}

bool OneHop::publish(HopOperation& operation) {
  SlotRing& slots = operation.context->hop->slots_;
  const SlotRing::Label label = label_of(operation);
  const Bytes& all = operation.buffers.send;
  const Bytes data = all.first(std::min(all.size(), SlotRing::kMostBytes));
  if (slots.has_credit(operation.number)) {
    slots.publish(operation.number, label, data);
  } else {
    if (hop::is_mutual(operation.operation.kind) || ++operation.failed_turns < kTurnsBeforeMessages)
      return false;
    send_to_readers(operation, label, data);
  }
  operation.state = HopOperation::State::kWaiting;
  return true;
}

void OneHop::send_to_readers(const HopOperation& operation, SlotRing::Label label, Bytes data) {
  Context& context = *operation.context;
  std::vector<std::byte> message(HopOperation::Arrived::kLabelBytes + data.size());
  std::memcpy(message.data(), &label, sizeof label);
  std::copy(data.begin(), data.end(), message.begin() + HopOperation::Arrived::kLabelBytes);
  for (int rank = 0; rank < context.size(); ++rank) {
    const hop::Sources sources = hop::read_by(operation.operation, rank);
    if (rank != context.rank() && context.rank() >= sources.first && context.rank() < sources.end)
      send(context, rank, operation.tag | kContributionTag, message, operation.backend);
  }
}

void OneHop::send(Context& context, int to, std::int32_t tag, std::vector<std::byte> data,
                  std::uint8_t backend) {
  // Messages that have left are freed here: most runs send only the invitations.
  std::erase_if(sent_, [](const std::unique_ptr<Sent>& one) { return one->record.done; });
  Sent& sent = *sent_.emplace_back(std::make_unique<Sent>());
  sent.data = std::move(data);
  engine_.send(sent.record, {context, to, tag, sent.data}, TeamSend{backend, false});
}

/// The rank's slot is empty. Returns true, and the label, if it contributes in another way.
bool OneHop::has_arrived_otherwise(HopOperation& operation, int rank, SlotRing::Label& label) {
  Context& context = *operation.context;
  const SlotRing& slots = context.hop->slots_;
  if (hop::is_mutual(operation.operation.kind)) {
    // The look costs a cache line of the other rank, so it happens in some turns only.
    if (++operation.failed_turns % kTurnsBeforeLook != 0 || !slots.has_finished(rank, operation.number))
      return false;
    // The rank may have written into the slot before it finished.
    label = slots.has_arrived(rank, operation.number) ? slots.label(rank, operation.number)
                                                      : SlotRing::Label::by_algorithm();
    return true;
  }
  if (const HopOperation::Arrived* const arrived = receive_from(operation, rank)) {
    if (arrived->record.done) std::memcpy(&label, arrived->message.data(), sizeof label);
    return arrived->record.done;
  }
  // A message of its algorithm: the rank had no slot for a label.
  label = SlotRing::Label::by_algorithm();
  return context.unexpected_count() > 0 && context.find_unexpected(rank, operation.tag) != nullptr;
}

/// Receives a contribution or notice that comes as a message. Returns null if none has arrived.
const HopOperation::Arrived* OneHop::receive_from(HopOperation& operation, int rank) {
  Context& context = *operation.context;
  const std::int32_t tag = operation.tag | kContributionTag;
  if (context.unexpected_count() > 0 && context.find_unexpected(rank, tag) != nullptr) {
    operation.arrived.push_back(std::make_unique<HopOperation::Arrived>());
    HopOperation::Arrived& arrived = *operation.arrived.back();
    arrived.rank = rank;
    engine_.receive(arrived.record, context, rank, tag, arrived.message);
  }
  return arrived_from(operation, rank);
}

/// Returns null if no such message has arrived.
const HopOperation::Arrived* OneHop::arrived_from(const HopOperation& operation, int rank) {
  for (const auto& arrived : operation.arrived) {
    if (arrived->rank == rank) return arrived.get();
  }
  return nullptr;
}

Bytes OneHop::contribution(const HopOperation& operation, int rank) {
  const Context& context = *operation.context;
  if (rank == context.rank()) return operation.buffers.send;
  constexpr std::size_t kLabelBytes = HopOperation::Arrived::kLabelBytes;
  if (const HopOperation::Arrived* const arrived = arrived_from(operation, rank))
    return {arrived->message.data() + kLabelBytes,
            std::max(arrived->record.received, kLabelBytes) - kLabelBytes};
  return context.hop->slots_.contribution(rank, operation.number);
}

/// Writes this rank's result.
void OneHop::collect(HopOperation& operation) {
  const CollectiveBuffers& buffers = operation.buffers;
  const int rank = operation.context->rank();
  const auto deliver = [&](Bytes from, MutableBytes to) {
    if (from.size() > to.size()) operation.outcome = Outcome::kTruncated;
    const std::size_t bytes = std::min(from.size(), to.size());
    if (from.data() != to.data()) copy_small(to.data(), from.data(), bytes);
  };
  const auto deliver_blocks = [&](auto sent) {
    for (int from = 0; from < operation.operation.ranks; ++from)
      deliver(sent(from),
              buffers.receive.subspan(buffers.block * static_cast<std::size_t>(from), buffers.block));
  };
  switch (operation.operation.kind) {
    case OperationKind::kBcast:
      if (rank != operation.operation.root)
        deliver(contribution(operation, operation.operation.root), buffers.receive);
      break;
    case OperationKind::kScatter:
      deliver(block_of(contribution(operation, operation.operation.root), operation.operation, rank),
              buffers.receive);
      break;
    case OperationKind::kGather:
      if (rank != operation.operation.root) break;
      [[fallthrough]];
    case OperationKind::kAllgather:
      deliver_blocks([&](int from) { return contribution(operation, from); });
      break;
    case OperationKind::kAlltoall:
      deliver_blocks(
          [&](int from) { return block_of(contribution(operation, from), operation.operation, rank); });
      break;
    case OperationKind::kBarrier:
      break;
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
    case OperationKind::kReduceScatter:
    case OperationKind::kScan:
    case OperationKind::kExscan:
      if (!buffers.receive.empty()) combine(operation);
      break;
    case OperationKind::kSend:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;  // has_slots() excludes them
  }
}

void OneHop::combine(HopOperation& operation) {
  const int own = operation.context->rank();
  const CollectiveBuffers& buffers = operation.buffers;
  if (operation.plan == nullptr) {
    operation.outcome = Outcome::kTruncated;
    return;
  }
  std::array<const std::byte*, kMostRanks> contributions;
  for (int rank = operation.first; rank < operation.end; ++rank) {
    if (rank == own) continue;
    const Bytes one = contribution(operation, rank);
    if (one.size() > buffers.send.size()) {
      operation.outcome = Outcome::kTruncated;
      return;
    }
    contributions[static_cast<std::size_t>(rank)] = one.data();
  }
  const bool in_place = buffers.send.data() == buffers.receive.data();
  alignas(std::max_align_t) std::array<std::byte, SlotRing::kMostBytes>
      copy;  // of data that the result overwrites
  if (in_place) std::memcpy(copy.data(), buffers.send.data(), buffers.send.size());
  contributions[static_cast<std::size_t>(own)] = in_place ? copy.data() : buffers.send.data();
  operation.plan->run(contributions.data(), buffers.receive, *operation.reducer);
}

std::string OneHop::describe() const {
  std::string text;
  for (const HopOperation* one = waiting_.front(); one != nullptr; one = waiting_.next(*one)) {
    const Operation& operation = one->operation;
    const bool is_published = one->state != HopOperation::State::kUnpublished;
    if (is_published && one->state != HopOperation::State::kWaiting) continue;
    text += fmt::format("    {} of {} bytes on communicator {:#x} (collective): ", to_string(operation.kind),
                        operation.bytes, one->context->id() & ~kCollectiveContext);
    text += is_published ? fmt::format("waits for rank {}\n", one->next)
                         : std::string("waits until all ranks have read the last ones\n");
  }
  return text;
}

}  // namespace offramp
