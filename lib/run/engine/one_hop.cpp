// A communicator gets slots with its second small collective: its first member chooses their place in its own
// shared memory and sends it to the others, where operations wait for it. A place of 0 says that there is no
// memory, and the algorithm carries all of them.
//
// A rank whose slot is still being read waits for a while, and then sends its contribution as messages: some
// programs go on through many small collectives before another rank comes to the first of them.
#include "lib/run/engine/one_hop.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "lib/run/engine/collective.hpp"
#include "lib/run/engine/engine.hpp"

namespace offramp {
namespace {

/// Reading all slots costs each rank time for every other one. Measured: see docs/performance.md.
constexpr int kMostRanks = 16;
static_assert(kMostRanks <= CombinePlan::kMostRanks);
constexpr unsigned kCallsBeforeSlots = 2;
constexpr unsigned kTurnsBeforeMessages = 1000;
constexpr std::size_t kPage = 4096;

constexpr OperationSet kFromRoot = {OperationKind::kBcast, OperationKind::kScatter};
constexpr OperationSet kToRoot = {OperationKind::kReduce, OperationKind::kGather};
constexpr OperationSet kBlocksForEach = {OperationKind::kScatter, OperationKind::kAlltoall,
                                         OperationKind::kReduceScatter};

constexpr bool has_slots(OperationKind kind) {
  return kind != OperationKind::kSend && !has_blocks_of_different_sizes(kind);
}

/// What a rank writes into its slot if it contributes.
std::size_t contributed_bytes(const Operation& operation) {
  const bool for_each = kBlocksForEach.contains(operation.kind);
  return operation.bytes * (for_each ? static_cast<std::size_t>(operation.ranks) : 1);
}

bool contributes(const Operation& operation, int rank) {
  if (kFromRoot.contains(operation.kind)) return rank == operation.root;
  if (kToRoot.contains(operation.kind)) return rank != operation.root;
  return !traits_of(operation.kind).is_prefix || rank < operation.ranks - 1;
}

struct Readers {
  int first = 0;
  int end = 0;
};
/// Whose contributions a rank reads.
Readers read_by(const Operation& operation, int rank) {
  if (kFromRoot.contains(operation.kind))
    return rank == operation.root ? Readers() : Readers{operation.root, operation.root + 1};
  if (kToRoot.contains(operation.kind) && rank != operation.root) return {};
  if (traits_of(operation.kind).is_prefix) return {0, rank};
  return {0, operation.ranks};
}

/// Of blocks of one size, whatever the receiver expects.
Bytes block_of(Bytes all, const Operation& operation, int index) {
  const std::size_t block = all.size() / static_cast<std::size_t>(operation.ranks);
  return all.subspan(block * static_cast<std::size_t>(index), block);
}

}  // namespace

HopRing::~HopRing() {
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
  slots_.finish_before(finished_);
}

// --- which collectives, and where ---

/// Null: the members do not share memory.
HopRing* OneHop::ring_of(Context& context) {
  if (context.hop == nullptr) {
    context.hop = std::make_unique<HopRing>();
    bool fits = context.size() <= kMostRanks && !engine_.lane().faulty;
    for (int rank = 0; rank < context.size() && fits; ++rank)
      fits = !fabric_.shared_memory(context.world_rank(rank)).empty();
    if (!fits) context.hop->state_ = HopRing::State::kUnfit;
  }
  return context.hop->state_ == HopRing::State::kUnfit ? nullptr : context.hop.get();
}

OneHop::Answer OneHop::takes(Context& context, const Operation& operation, std::uint8_t backend) {
  if (context.size() < 2 || !has_slots(operation.kind) || contributed_bytes(operation) > SlotRing::kMostBytes)
    return {};
  HopRing* const ring = ring_of(context);
  if (ring == nullptr) return {};
  if (ring->state_ == HopRing::State::kNew) {
    if (++ring->calls_ < kCallsBeforeSlots) return {};
    join(context, backend);
  }
  if (!reduces(operation.kind)) return {true, nullptr};
  const CombinePlan* const plan = plan_of(context, operation, backend);
  return {plan != nullptr, plan};
}

/// Null: there is none, alike on all members.
const CombinePlan* OneHop::plan_of(Context& context, const Operation& operation, std::uint8_t backend) {
  const std::size_t hash = operation.bytes / 4 + static_cast<std::size_t>(operation.kind) * 7 +
                           static_cast<std::size_t>(operation.root) * 5;
  std::unique_ptr<HopRing::Plan>& known = context.hop->plans_[hash % HopRing::kPlans];
  if (known == nullptr || known->operation != operation || known->backend != backend) {
    if (waiting_.empty()) replaced_.clear();
    if (known != nullptr) replaced_.push_back(std::move(known));
    const CombinePlan::Members members{context.rank(), *context.members(), context.id(), context.setup_id};
    known = std::make_unique<HopRing::Plan>(HopRing::Plan{
        operation, backend, CombinePlan::derive(engine_.lane().backend(backend), operation, members)});
  }
  return known->plan ? &*known->plan : nullptr;
}

void OneHop::join(Context& context, std::uint8_t backend) {
  HopRing& ring = *context.hop;
  ring.state_ = HopRing::State::kJoining;
  const std::int32_t tag = collective_tag(context.collective_number++);
  const MutableBytes place = std::as_writable_bytes(std::span(&ring.place_, 1));
  if (context.rank() == 0) {
    ring.place_ = take_area(context.size());
    for (int rank = 1; rank < context.size(); ++rank) send(context, rank, tag, place, backend);
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
  const bool good = ring.place_ > 0 && ring.place_ % kPage == 0 && ring.place_ <= memory.size() &&
                    memory.size() - ring.place_ >= bytes;
  if (good) ring.slots_ = SlotRing(memory.data() + ring.place_, context.rank(), context.size());
  ring.state_ = good ? HopRing::State::kReady : HopRing::State::kUnfit;
}

/// The offset of free memory for slots in what this rank shares; 0: there is none.
std::uint64_t OneHop::take_area(int ranks) {
  const std::span<std::byte> memory = fabric_.shared_memory(engine_.rank());
  const std::size_t bytes = (SlotRing::bytes(ranks) + kPage - 1) / kPage * kPage;
  for (Area& area : areas_) {
    if (area.bytes != bytes || !area.slots.all_have_left()) continue;
    std::memset(memory.data() + area.offset, 0, area.bytes);
    area.slots = SlotRing(memory.data() + area.offset, 0, ranks);
    return area.offset;
  }
  const std::size_t offset = areas_.empty() ? kPage : areas_.back().offset + areas_.back().bytes;
  if (offset + bytes > memory.size() || !fabric_.reserve(memory.subspan(offset, bytes))) return 0;
  areas_.push_back({offset, bytes, SlotRing(memory.data() + offset, 0, ranks)});
  return offset;
}

void OneHop::send(Context& context, int to, std::int32_t tag, Bytes data, std::uint8_t backend) {
  std::erase_if(sent_, [](const std::unique_ptr<Sent>& one) { return one->record.done; });
  Sent& sent = *sent_.emplace_back(std::make_unique<Sent>());
  sent.data.assign(data.begin(), data.end());
  engine_.send(sent.record, {context, to, tag, sent.data}, TeamSend{backend, false});
}

// --- operations ---

void OneHop::start(HopOperation& operation) {
  HopRing& ring = *operation.context->hop;
  const int rank = operation.context->rank();
  operation.number = ring.started_++;
  operation.published = !contributes(operation.operation, rank);
  const Readers readers = read_by(operation.operation, rank);
  operation.next = readers.first;
  operation.end = readers.end;
  if (!advance(operation)) return waiting_.push_back(operation);
  operation.on_end(operation);
}

int OneHop::advance_all() {
  int ended = 0;
  for (HopOperation* next = waiting_.front(); next != nullptr;) {
    HopOperation& operation = *std::exchange(next, waiting_.next(*next));
    if (!advance(operation)) continue;
    waiting_.remove(operation);
    operation.on_end(operation);
    ++ended;
  }
  return ended;
}

/// True: it has ended.
bool OneHop::advance(HopOperation& operation) {
  HopRing& ring = *operation.context->hop;
  if (ring.state_ != HopRing::State::kReady) {
    operation.refused = ring.state_ == HopRing::State::kUnfit;
    return operation.refused;
  }
  if (!operation.published && !publish(operation)) return false;
  for (; operation.next < operation.end; ++operation.next) {
    if (!has_come(operation, operation.next)) return false;
  }
  collect(operation);
  ring.finish(operation.number);
  ++carried_;
  return true;
}

bool OneHop::publish(HopOperation& operation) {
  Context& context = *operation.context;
  SlotRing& slots = context.hop->slots_;
  if (slots.has_credit(operation.number)) {
    slots.publish(operation.number, operation.buffers.send.first(
                                        std::min(operation.buffers.send.size(), SlotRing::kMostBytes)));
  } else if (++operation.turns_without_credit == kTurnsBeforeMessages) {
    for (int rank = 0; rank < context.size(); ++rank) {
      const Readers readers = read_by(operation.operation, rank);
      if (rank != context.rank() && context.rank() >= readers.first && context.rank() < readers.end)
        send(context, rank, operation.tag, operation.buffers.send, operation.backend);
    }
  } else {
    return false;
  }
  return operation.published = true;
}

bool OneHop::has_come(HopOperation& operation, int rank) {
  Context& context = *operation.context;
  if (rank == context.rank() || context.hop->slots_.has_come(rank, operation.number)) return true;
  if (context.unexpected_count() > 0 && context.find_unexpected(rank, operation.tag) != nullptr) {
    HopOperation::Arrived& arrived =
        *operation.arrived.emplace_back(std::make_unique<HopOperation::Arrived>());
    arrived.rank = rank;
    engine_.receive(arrived.record, context, rank, operation.tag, arrived.data);
  }
  return !operation.arrived.empty() && operation.arrived.back()->rank == rank &&
         operation.arrived.back()->record.done;
}

Bytes OneHop::contribution(const HopOperation& operation, int rank) {
  const Context& context = *operation.context;
  if (rank == context.rank()) return operation.buffers.send;
  for (const auto& arrived : operation.arrived) {
    if (arrived->rank == rank) return {arrived->data.data(), arrived->record.received};
  }
  return context.hop->slots_.contribution(rank, operation.number);
}

/// All contributions are there: makes the result.
void OneHop::collect(HopOperation& operation) {
  const CollectiveBuffers& buffers = operation.buffers;
  const int rank = operation.context->rank();
  const auto deliver = [&](Bytes from, MutableBytes to) {
    if (from.size() > to.size()) operation.outcome = Outcome::kTruncated;
    const std::size_t bytes = std::min(from.size(), to.size());
    if (bytes > 0 && from.data() != to.data()) std::memcpy(to.data(), from.data(), bytes);
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
    default:
      if (!buffers.receive.empty()) combine(operation);
  }
}

void OneHop::combine(HopOperation& operation) {
  Context& context = *operation.context;
  const CollectiveBuffers& buffers = operation.buffers;
  std::array<const std::byte*, kMostRanks> contributions;
  alignas(std::max_align_t) std::array<std::byte, SlotRing::kMostBytes> copy;  // of what the result replaces
  for (int rank = 0; rank < operation.operation.ranks; ++rank) {
    const bool is_read = rank == context.rank() || rank < operation.end;
    const Bytes one = is_read ? contribution(operation, rank) : Bytes();
    if (is_read && one.size() != contributed_bytes(operation.operation)) {
      operation.outcome = Outcome::kTruncated;
      return;
    }
    contributions[static_cast<std::size_t>(rank)] = one.data();
    if (rank != context.rank() || one.data() != buffers.receive.data()) continue;
    std::memcpy(copy.data(), one.data(), one.size());
    contributions[static_cast<std::size_t>(rank)] = copy.data();
  }
  operation.plan->run(contributions.data(), buffers.receive, *operation.reducer);
}

std::string OneHop::describe() const {
  std::string text;
  for (const HopOperation* one = waiting_.front(); one != nullptr; one = waiting_.next(*one)) {
    const Operation& operation = one->operation;
    text += fmt::format("    {} of {} bytes on communicator {:#x} (collective): ", to_string(operation.kind),
                        operation.bytes, one->context->id() & ~kCollectiveContext);
    text += one->published ? fmt::format("waits for rank {}\n", one->next)
                           : std::string("waits until all ranks have read the last ones\n");
  }
  return text;
}

}  // namespace offramp
