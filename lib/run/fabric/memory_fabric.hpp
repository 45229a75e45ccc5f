// The fabric within one process, on one thread: for tests, predictions, and messages of a rank to itself.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "lib/run/fabric/fabric.hpp"

namespace offramp {

/// Senders whose payloads were pulled or dropped. Each sender's own progress() notifies them, so that no rank
/// runs within another rank's call.
class FinishedSends {
 public:
  /// The waiter must live until its sender's next progress().
  void add(FabricWaiter& waiter) { waiting_.push_back(&waiter); }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// Returns the number of callbacks.
  int notify() { return waiting_.empty() ? 0 : notify_all(); }

 private:
  int notify_all();

  std::deque<FabricWaiter*> waiting_;
};

/// The messages for one rank. Payloads up to the eager limit are copied; larger ones stay at the sender.
class MemoryQueue {
 public:
  explicit MemoryQueue(std::size_t eager_limit) : eager_limit_(eager_limit) {}
  MemoryQueue& operator=(MemoryQueue&&) = delete;
  ~MemoryQueue();

  /// Queues a message. Returns true if the payload was copied. Otherwise it must stay valid until `sender`
  /// notifies the waiter. stays_at_sender: never copy.
  bool push(int source, std::span<const std::byte> header, std::span<const std::byte> payload,
            FabricWaiter& waiter, FinishedSends& sender, bool stays_at_sender = false);
  /// Delivers the oldest message; with a nonzero choice, a source's oldest. False if the queue is empty.
  bool deliver_one(Fabric::Sink& sink, std::uint64_t choice);
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

  /// End the life of a payload that stayed at its sender: pull() after a copy, drop() without one. The
  /// sender's next progress() notifies the waiter.
  static void pull(void* remote, std::span<std::byte> into);
  static void drop(void* remote);

 private:
  /// One block of memory from the pool, followed by the header and a copied payload.
  struct QueuedMessage {
    QueuedMessage* next = nullptr;
    std::size_t size = 0;  // of the block in bytes
    int source = 0;
    std::span<const std::byte> header;
    std::span<const std::byte> payload;  // the copy, or the sender's own memory
    FabricWaiter* waiter = nullptr;      // if the payload stays at the sender
    FinishedSends* sender = nullptr;
  };
  /// Returns a message to the frame pool.
  struct End {
    void operator()(QueuedMessage* message) const;
  };
  using Owned = std::unique_ptr<QueuedMessage, End>;

  Owned pop(std::uint64_t choice);

  std::size_t eager_limit_;
  QueuedMessage* first_ = nullptr;
  QueuedMessage* last_ = nullptr;
  std::size_t count_ = 0;
};

/// The path of a rank to itself, beside another fabric for its peers. Its handles have the lowest bit set;
/// handles of other fabrics are pointers with an alignment of at least 2.
class SelfPath {
 public:
  explicit SelfPath(int rank) : rank_(rank), queue_(kEagerLimit) {}

  /// See Fabric. Payloads above kEagerLimit stay where they are.
  Fabric::State send(std::span<const std::byte> header, std::span<const std::byte> payload,
                     FabricWaiter& waiter) {
    return queue_.push(rank_, header, payload, waiter, finished_) ? Fabric::State::kDone
                                                                  : Fabric::State::kPending;
  }
  Fabric::State offer(std::span<const std::byte> header, std::span<const std::byte> payload,
                      FabricWaiter& waiter) {
    queue_.push(rank_, header, payload, waiter, finished_, true);
    return Fabric::State::kPending;
  }

  /// True for a handle that deliver() got from this path: only pull() and drop() below accept it.
  static bool owns(void* remote) { return (reinterpret_cast<std::uintptr_t>(remote) & 1U) != 0; }
  static void pull(void* remote, std::span<std::byte> into) { MemoryQueue::pull(untag(remote), into); }
  static void drop(void* remote) { MemoryQueue::drop(untag(remote)); }

  /// Notifies senders before it delivers. Returns the number of callbacks and deliveries.
  int progress(Fabric::Sink& sink) {
    return queue_.empty() && finished_.empty() ? 0 : progress_with_all(sink);
  }

 private:
  static constexpr std::size_t kEagerLimit = 8192;
  class Marking;
  /// progress(), if there is something to do. Kept out of line, as most ranks send nothing to themselves.
  int progress_with_all(Fabric::Sink& sink);
  static void* untag(void* remote) { return static_cast<std::byte*>(remote) - 1; }

  int rank_;
  MemoryQueue queue_;
  FinishedSends finished_;
};

/// The ranks of one process. A nonzero seed shuffles the delivery between sources, never within one;
/// progress() then delivers one message at a time. Must outlive all users of its fabrics.
class MemoryHub {
 public:
  explicit MemoryHub(int ranks, std::size_t eager_limit = 8192, std::uint64_t shuffle_seed = 0);
  ~MemoryHub();
  /// The fabric of a rank, owned by the hub.
  [[nodiscard]] Fabric& at(int rank);
  [[nodiscard]] int ranks() const { return static_cast<int>(endpoints_.size()); }

 private:
  class Endpoint;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::uint64_t shuffle_;
};

}  // namespace offramp
