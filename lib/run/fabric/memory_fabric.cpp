// One queue per receiver. A short message is copied into the queue, and its send is done. A longer one stays
// at its sender until the receiver pulls or drops it; the holder of its `remote` owns it. With a seed,
// progress() delivers the oldest message of a random source.
#include "lib/run/fabric/memory_fabric.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp {

int FinishedSends::notify_all() {
  int count = 0;
  for (; !waiting_.empty(); ++count) {
    // Removed first: the callback may finish further sends.
    FabricWaiter& waiter = *waiting_.front();
    waiting_.pop_front();
    waiter.notify(waiter, true);
  }
  return count;
}

void MemoryQueue::End::operator()(QueuedMessage* message) const {
  detail::FramePool::release(message, message->size);
}

MemoryQueue::~MemoryQueue() {
  while (!empty()) pop(0);
}

bool MemoryQueue::push(int source, std::span<const std::byte> header, std::span<const std::byte> payload,
                       FabricWaiter& waiter, FinishedSends& sender, bool stays_at_sender) {
  const bool eager = !stays_at_sender && payload.size() <= eager_limit_;
  const std::size_t size = sizeof(QueuedMessage) + header.size() + (eager ? payload.size() : 0);
  // Header and copied payload follow the struct in one block: a small message is one allocation.
  auto* const message = ::new (detail::FramePool::allocate(size)) QueuedMessage;
  message->size = size;
  message->source = source;
  auto* const behind = reinterpret_cast<std::byte*>(message + 1);
  message->header = {behind, header.size()};
  if (!header.empty()) std::memcpy(behind, header.data(), header.size());
  if (eager) {
    message->payload = {behind + header.size(), payload.size()};
    if (!payload.empty()) std::memcpy(behind + header.size(), payload.data(), payload.size());
  } else {
    message->payload = payload;
    message->waiter = &waiter;
    message->sender = &sender;
  }
  (last_ != nullptr ? last_->next : first_) = message;
  last_ = message;
  ++count_;
  return eager;
}

/// Removes the oldest message of the chosen source. The queue must not be empty.
MemoryQueue::Owned MemoryQueue::pop(std::uint64_t choice) {
  QueuedMessage* before = nullptr;
  QueuedMessage* message = first_;
  if (choice != 0) {
    // The choice selects a message. The oldest message of its source is delivered, so the order of a source
    // stays.
    const QueuedMessage* chosen = first_;
    for (std::uint64_t i = choice % count_; i > 0; --i) chosen = chosen->next;
    while (message->source != chosen->source) {
      before = message;
      message = message->next;
    }
  }
  (before != nullptr ? before->next : first_) = message->next;
  if (last_ == message) last_ = before;
  --count_;
  return Owned(message);
}

bool MemoryQueue::deliver_one(Fabric::Sink& sink, std::uint64_t choice) {
  if (empty()) return false;
  Owned message = pop(choice);
  Fabric::Inbound inbound{message->header, message->payload.data(), message->payload.size(), nullptr};
  if (message->waiter == nullptr) {
    sink.deliver(inbound);
    return true;
  }
  // A copy, since pull() may release the message during deliver().
  std::array<std::byte, Fabric::kMaxHeader> header;
  std::copy(message->header.begin(), message->header.end(), header.begin());
  inbound.header = {header.data(), message->header.size()};
  inbound.data = nullptr;
  inbound.remote = message.release();  // pull() or drop() releases it
  sink.deliver(inbound);
  return true;
}

void MemoryQueue::pull(void* remote, std::span<std::byte> into) {
  const Owned message(static_cast<QueuedMessage*>(remote));
  std::memcpy(into.data(), message->payload.data(), std::min(into.size(), message->payload.size()));
  message->sender->add(*message->waiter);
}

void MemoryQueue::drop(void* remote) {
  const Owned message(static_cast<QueuedMessage*>(remote));
  message->sender->add(*message->waiter);
}

/// Sets the lowest bit of the handles that it passes on.
class SelfPath::Marking final : public Fabric::Sink {
 public:
  explicit Marking(Fabric::Sink& sink) : sink_(sink) {}
  void deliver(const Fabric::Inbound& message) override {
    Fabric::Inbound marked = message;
    // Handles are aligned, so the bit is free.
    if (marked.remote != nullptr) marked.remote = static_cast<std::byte*>(marked.remote) + 1;
    sink_.deliver(marked);
  }

 private:
  Fabric::Sink& sink_;
};

int SelfPath::progress_with_all(Fabric::Sink& sink) {
  int events = finished_.notify();
  Marking marking(sink);
  while (queue_.deliver_one(marking, 0)) ++events;
  return events;
}

class MemoryHub::Endpoint final : public Fabric {
 public:
  Endpoint(MemoryHub& hub, int rank, std::size_t eager_limit) : hub_(hub), rank_(rank), queue_(eager_limit) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return hub_.ranks(); }

  State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
             FabricWaiter& waiter) override {
    MemoryQueue& queue = hub_.endpoints_[static_cast<std::size_t>(peer)]->queue_;
    const bool done = queue.push(rank_, header, payload, waiter, finished_);
    return done ? State::kDone : State::kPending;
  }
  State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
              FabricWaiter& waiter) override {
    hub_.endpoints_[static_cast<std::size_t>(peer)]->queue_.push(rank_, header, payload, waiter, finished_,
                                                                 true);
    return State::kPending;
  }
  State pull(void* remote, std::span<std::byte> into, FabricWaiter&) override {
    MemoryQueue::pull(remote, into);
    return State::kDone;
  }
  void drop(void* remote) override { MemoryQueue::drop(remote); }

  std::span<std::byte> shared_memory(int peer) override {
    return hub_.endpoints_[static_cast<std::size_t>(peer)]->shared();
  }
  bool reserve(std::span<std::byte> /*part*/) override { return true; }

  int progress(Sink& sink) override {
    int events = finished_.notify();
    // Shuffled delivery takes one message per call, so that the receiver acts between two messages.
    while (queue_.deliver_one(sink, next_choice())) {
      ++events;
      if (hub_.shuffle_ != 0) break;
    }
    return events;
  }

 private:
  std::span<std::byte> shared() {
    constexpr std::size_t kBytes = std::size_t{1} << 19;
    constexpr std::size_t kLine = 64;
    // Made at the first use: in most tests no rank needs it.
    if (shared_.empty()) shared_.resize(kBytes + kLine);
    std::byte* const begin = shared_.data();
    // The fabric promises memory that begins at a cache line.
    return {begin + (kLine - reinterpret_cast<std::uintptr_t>(begin) % kLine) % kLine, kBytes};
  }
  std::uint64_t next_choice() { return hub_.shuffle_ == 0 ? 0 : xorshift(hub_.shuffle_); }

  MemoryHub& hub_;
  int rank_;
  MemoryQueue queue_;
  FinishedSends finished_;
  std::vector<std::byte> shared_;  // of this rank
};

MemoryHub::MemoryHub(int ranks, std::size_t eager_limit, std::uint64_t shuffle_seed)
    : shuffle_(shuffle_seed) {
  for (int rank = 0; rank < ranks; ++rank)
    endpoints_.push_back(std::make_unique<Endpoint>(*this, rank, eager_limit));
}
MemoryHub::~MemoryHub() = default;

Fabric& MemoryHub::at(int rank) {
  return *endpoints_[static_cast<std::size_t>(rank)];
}

}  // namespace offramp
