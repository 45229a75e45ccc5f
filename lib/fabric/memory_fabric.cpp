#include "lib/fabric/memory_fabric.hpp"

#include <algorithm>
#include <cstring>

namespace offramp {

int FinishedSends::notify_all() {
  int count = 0;
  for (; !waiting_.empty(); ++count) {
    FabricWaiter& waiter = *waiting_.front();
    waiting_.pop_front();
    waiter.notify(waiter, true);
  }
  return count;
}

bool MemoryQueue::push(int source, std::span<const std::byte> header, std::span<const std::byte> payload,
                       FabricWaiter& waiter, FinishedSends& sender, bool stays) {
  auto message = std::make_unique<Message>();
  message->source = source;
  message->header.assign(header.begin(), header.end());
  const bool eager = !stays && payload.size() <= eager_limit_;
  if (eager) {
    message->copy.assign(payload.begin(), payload.end());
    message->payload = message->copy;
  } else {
    message->payload = payload;
    message->waiter = &waiter;
    message->sender = &sender;
  }
  messages_.push_back(std::move(message));
  return eager;
}

bool MemoryQueue::deliver_one(Fabric::Sink& sink, std::uint64_t choice) {
  if (messages_.empty()) return false;
  auto picked = messages_.begin() + static_cast<std::ptrdiff_t>(choice % messages_.size());
  const int source = (*picked)->source;
  picked =
      std::find_if(messages_.begin(), messages_.end(), [&](const auto& m) { return m->source == source; });
  std::unique_ptr<Message> message = std::move(*picked);
  messages_.erase(picked);

  Fabric::Inbound inbound{message->header, message->payload.data(), message->payload.size(), nullptr};
  if (message->waiter == nullptr) {
    sink.deliver(inbound);
    return true;
  }
  inbound.data = nullptr;
  inbound.remote = message.get();
  const std::vector<std::byte> header = message->header;  // pull() may end the message during deliver()
  inbound.header = header;
  (void)message.release();  // owned by whoever pulls or drops it
  sink.deliver(inbound);
  return true;
}

void MemoryQueue::pull(void* remote, std::span<std::byte> into) {
  const std::unique_ptr<Message> message(static_cast<Message*>(remote));
  std::memcpy(into.data(), message->payload.data(), std::min(into.size(), message->payload.size()));
  message->sender->add(*message->waiter);
}

void MemoryQueue::drop(void* remote) {
  const std::unique_ptr<Message> message(static_cast<Message*>(remote));
  message->sender->add(*message->waiter);
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

  int progress(Sink& sink) override {
    int events = finished_.notify();
    while (queue_.deliver_one(sink, next_choice())) {
      ++events;
      if (hub_.shuffle_ != 0) break;
    }
    return events;
  }

 private:
  std::uint64_t next_choice() {
    if (hub_.shuffle_ == 0) return 0;
    hub_.shuffle_ ^= hub_.shuffle_ << 13;
    hub_.shuffle_ ^= hub_.shuffle_ >> 7;
    return hub_.shuffle_ ^= hub_.shuffle_ << 17;
  }

  MemoryHub& hub_;
  int rank_;
  MemoryQueue queue_;
  FinishedSends finished_;
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
