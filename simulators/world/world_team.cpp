// Runs a collective's algorithm, a coroutine, in a world. Each send and receive is an operation (part) of the
// rank. If the algorithm runs on the rank's processor (by_processor_), charge_work() charges the clock's
// advance between two team calls to that processor, where noise may delay it. A nonblocking collective
// without hardware uses turns: it continues when an awaited part is done and the processor is available.
// begin_turn() and end_turn() delimit the processor time of a turn.
#include "simulators/world/world_team.hpp"

#include <memory>
#include <utility>

namespace offramp::world {

void Operation::operator delete(Operation* operation, std::destroying_delete_t) {
  const auto destroy = []<typename Made>(Made* made) {
    std::destroy_at(made);
    offramp::detail::FramePool::release(made, sizeof(Made));
  };
  if (operation->kind == Kind::kCollective) return destroy(static_cast<Collective*>(operation));
  if (operation->kind == Kind::kMeeting) return destroy(static_cast<Meeting*>(operation));
  destroy(operation);
}

Collective::Collective(Thread& thread, const Communicator& communicator, std::uint8_t backend, int tag,
                       bool waits)
    : Operation(Kind::kCollective, thread.rank()),
      Team(communicator.rank(), communicator.size(), false),
      group_(communicator.group_),
      backend_(backend),
      tag_(tag),
      by_processor_(thread.core().is_by_processor(backend)),
      program_waits_(waits),
      left_(thread.clock) {
  Rank& rank = own();
  clock = thread.clock;
  ++rank.collectives;
  thread.take_turn();
  if (core().is_observed()) number() = ++rank.operations;
  Team::operation = rank.id_of(*this);
  if (core().log() != nullptr) core().log()->used(rank.number(), Team::operation);
}

Collective::~Collective() {
  task_.reset();
  while (parts_ != nullptr) delete std::exchange(parts_, parts_->next_part);
}

void Collective::start(Thread& thread, Task<Outcome> algorithm) {
  task_ = std::move(algorithm);
  task_.start([](void* self) { static_cast<Collective*>(self)->ended(); }, this);
  thread.clock = later(thread.clock, host_free);
}

void Collective::start(Thread& thread, const offramp::Operation& question, const CollectiveSizes& sizes) {
  if (WorldLog* const log = core().log(); log != nullptr)
    log->began(Team::operation, {question.kind, question.bytes,
                                 has_root(question.kind) ? world_rank(question.root) : -1, 0, context()});
  CollectiveBuffers buffers;
  buffers.block = sizes.block;
  buffers.receive = no_memory_.reserve(sizes.receive);
  buffers.send = no_memory_.reserve(sizes.send);
  for (const std::size_t size : sizes.send_blocks) send_blocks_.emplace_back(no_memory_.reserve(size));
  for (const std::size_t size : sizes.receive_blocks) receive_blocks_.push_back(no_memory_.reserve(size));
  buffers.send_blocks = send_blocks_;
  buffers.receive_blocks = receive_blocks_;
  if (sizes.in_place) put_in_place(question.kind, buffers);
  begin_progress(thread, question.kind, question.nonblocking);
  start(thread, own_backend().collective(question, *this, buffers));
  end_first_round(thread);
}

void Collective::start_neighbours(Thread& thread, std::span<const CarriedBlock> to,
                                  std::span<const RankHandle::Block> from, bool nonblocking) {
  if (WorldLog* const log = core().log(); log != nullptr) {
    std::size_t sent = 0;
    for (const CarriedBlock& block : to) sent += block.bytes;
    log->began(Team::operation, {OperationKind::kAlltoallv, sent, -1, 0, context()});
  }
  begin_progress(thread, OperationKind::kAlltoallv, nonblocking);
  start(thread, send_to_neighbours(to, from));
  end_first_round(thread);
}

/// All messages begin before the first wait, after which the lists are not used.
Task<Outcome> Collective::send_to_neighbours(std::span<const CarriedBlock> to,
                                             std::span<const RankHandle::Block> from) {
  PooledVector<Pending> pending;
  for (const RankHandle::Block& block : from)
    pending.push_back(receive(block.rank, no_memory_.reserve(block.bytes)));
  for (const CarriedBlock& block : to) {
    backend_ = block.backend;
    pending.push_back(send(block.rank, no_memory_.reserve(block.bytes)));
  }
  Outcome all = Outcome::kOk;
  for (const Pending& one : pending) offramp::note(all, co_await one);
  co_return all;
}

void Collective::begin_progress(const Thread& thread, OperationKind of, bool nonblocking) {
  if (!nonblocking) return;
  progress_ = core().progress(backend_, of);
  if (progress_ == Progress::kCalls) ++own().going_on;
  if (takes_turns()) begin_turn(thread.clock, nullptr);
}

/// The call itself runs the first round.
void Collective::end_first_round(Thread& thread) {
  if (takes_turns()) thread.clock = later(thread.clock, own().busy);
}

void Collective::begin_turn(Time at, Thread* interrupts) {
  left_ = turn_began_ = clock = later(clock, later(at, own().busy));
  interrupts_ = interrupts;
}

void Collective::end_turn() {
  charge_work();
  Rank& rank = own();
  rank.busy = later(rank.busy, clock);
  if (interrupts_ != nullptr) interrupts_->interrupted += clock - turn_began_;
  turn_began_ = clock;
}

void Collective::resume(Operation& part) {
  const Time now = core().now();
  begin_turn(now, progress_ == Progress::kCalls ? own().interrupted_at(now) : nullptr);
  std::exchange(part.waiter, nullptr).resume();  // may delete this collective
}

bool Collective::ready(Handle handle) {
  if (is_sent_token(handle)) return true;
  const auto& part = *static_cast<Operation*>(handle);
  return part.done && (!takes_turns() || part.done_at <= clock);
}

void Collective::wait(Handle handle, std::coroutine_handle<> algorithm) {
  auto& part = *static_cast<Operation*>(handle);
  part.waiter = algorithm;
  if (!takes_turns()) return;
  end_turn();
  part.in_turn = true;
  if (part.done) core().resume(part, part.done_at);
}

/// Implements MPI_IN_PLACE. Algorithms for alltoall and reduce_scatter make their own copy to send from.
void Collective::put_in_place(OperationKind of, CollectiveBuffers& buffers) {
  const auto own_rank = static_cast<std::size_t>(Team::rank());
  switch (of) {
    case OperationKind::kGather:
    case OperationKind::kAllgather:
      if (!buffers.receive.empty())
        buffers.send = Bytes(buffers.receive).subspan(buffers.block * own_rank, buffers.block);
      break;
    case OperationKind::kScatter:
      if (!buffers.send.empty())
        buffers.receive = writable(buffers.send.subspan(buffers.block * own_rank, buffers.block));
      break;
    case OperationKind::kGatherv:
    case OperationKind::kAllgatherv:
      if (!receive_blocks_.empty()) buffers.send = receive_blocks_[own_rank];
      break;
    case OperationKind::kScatterv:
      if (!send_blocks_.empty()) buffers.receive = writable(send_blocks_[own_rank]);
      break;
    case OperationKind::kAlltoall:
    case OperationKind::kAlltoallv:
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterv:
      break;
    case OperationKind::kBcast:
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
    case OperationKind::kScan:
    case OperationKind::kExscan:
      // Both use the same memory.
      if (buffers.receive.size() < buffers.send.size()) buffers.receive = writable(buffers.send);
      buffers.send = Bytes(buffers.receive).first(buffers.send.size());
      break;
    case OperationKind::kSend:
    case OperationKind::kBarrier:
    case OperationKind::kCount:
      break;
  }
}

void Collective::charge_work() {
  if (by_processor_) clock = core().processed(own(), left_, clock - left_);
  left_ = clock;
}

void Collective::ended() {
  takes_turns() ? end_turn() : charge_work();
  if (progress_ == Progress::kCalls) --own().going_on;
  --own().collectives;
  outcome = task_.result();
  if (failed_ && outcome == Outcome::kOk) outcome = Outcome::kFault;
  core().done(*this, clock);
}

Time Collective::observe(Time at) {
  const Time complete = later(at, clock);
  const Time begin = later(at, host_begin);
  const Time work = host_time(begin);
  return work == Time() ? complete : later(complete, core().processed(own(), begin, work));
}

Operation* Collective::begin(Kind part_kind) {
  auto* const part = new Operation(part_kind, own());
  part->collective = this;
  part->next_part = parts_;
  if (parts_ != nullptr) parts_->previous_part = part;
  return parts_ = part;
}

std::unique_ptr<Operation> Collective::end(Handle handle) {
  std::unique_ptr<Operation> part(static_cast<Operation*>(handle));
  (part->previous_part != nullptr ? part->previous_part->next_part : parts_) = part->next_part;
  if (part->next_part != nullptr) part->next_part->previous_part = part->previous_part;
  return part;
}

Team::Handle Collective::start_send(int peer, Bytes data, const Stamp* stamp) {
  charge_work();
  SendArguments arguments;
  arguments.destination = world_rank(peer);
  arguments.source_in_group = Team::rank();
  arguments.context = context();
  arguments.tag = tag_;
  arguments.bytes = data.size();
  arguments.synchronous = synchronous;
  arguments.signal = signals;
  arguments.footprint = footprint;
  arguments.by_processor = by_processor_;
  arguments.backend = backend_;
  arguments.failed = failed_;
  arguments.token = stamp;
  arguments.latency = latency_;
  arguments.collective = Team::operation;
  if (stamp != nullptr) {  // is done at once
    Operation token(Kind::kSend, own());
    left_ = clock = later(clock, core().send(own(), token, arguments, clock));
    return failed_ ? &failed_ : nullptr;
  }
  Operation* const send = begin(Kind::kSend);
  left_ = clock = later(clock, core().send(own(), *send, arguments, clock));
  return send;
}

Team::Handle Collective::start_receive(int peer, MutableBytes data, bool token) {
  charge_work();
  Operation* const receive = begin(Kind::kReceive);
  receive->key = {context(), world_rank(peer), tag_};
  receive->bytes = data.size();
  if (!token) clock += own_backend().post_receive_cost();
  charge_work();
  core().receive(*receive, clock);
  return receive;
}

Outcome Collective::finish(Handle handle) {
  charge_work();
  const std::unique_ptr<Operation> part = end(handle);
  left_ = clock = part->kind == Kind::kSend ? core().observe_send(*part, clock, this, by_processor_)
                                            : core().observe_receive(*part, clock, this, by_processor_);
  failed_ = failed_ || part->outcome == Outcome::kFault;
  return part->outcome;
}

Team::Arrival Collective::finish_token(Handle handle) {
  charge_work();
  Arrival arrival;
  if (is_sent_token(handle)) {
    if (handle != nullptr) arrival.outcome = Outcome::kFault;
    return arrival;
  }
  const std::unique_ptr<Operation> part = end(handle);
  arrival = core().finish_token(*part, *this);
  failed_ = failed_ || arrival.outcome == Outcome::kFault || arrival.stamp.failed();
  return arrival;
}

}  // namespace offramp::world
