// MPI's matching, for the receives of a rank that wait for a message and for its messages that wait for a
// receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace offramp::world {

/// What is matched. source and tag of a receive may be wildcards (negative).
struct MatchKey {
  std::uint64_t context = 0;
  int source = 0;  // world rank
  int tag = 0;

  /// Whether a receive with this key takes a message with that one.
  [[nodiscard]] bool accepts(const MatchKey& message) const {
    return context == message.context && (source < 0 || source == message.source) &&
           (tag < 0 || tag == message.tag);
  }
};

/// Base of what can be in a queue.
struct Matchable {
  MatchKey key;
  std::uint64_t order = 0;  // of entering the queue
  Matchable* next = nullptr;
  Matchable* previous = nullptr;
  Matchable* next_alike = nullptr;  // of the same context and source, while the queue has an index
  Matchable* previous_alike = nullptr;
  bool queued = false;
};

/// In the order of entering. Few entries are searched one by one; once there are many, entries of one context
/// and source are found through an index.
class MatchQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Matchable* first() const { return head_; }

  void push(Matchable& entry);
  void remove(Matchable& entry);
  /// The first message that a receive with this key takes; null: none.
  [[nodiscard]] Matchable* find_message(const MatchKey& receive) const;
  /// The first receive that takes a message with this key; null: none.
  [[nodiscard]] Matchable* find_receive(const MatchKey& message) const;

 private:
  static constexpr std::size_t kFew = 16;
  struct Chain {
    Matchable* head = nullptr;
    Matchable* tail = nullptr;
  };

  [[nodiscard]] Chain& chain(std::uint64_t context, int source) const {
    const std::uint64_t mixed =
        (context * 0x9E3779B97F4A7C15U) ^ (static_cast<std::uint32_t>(source) * 0xD1B54A32D192ED03U);
    return (*index_)[(mixed >> 32) & (index_->size() - 1)];
  }
  void link(Matchable& entry);
  void rebuild();

  Matchable* head_ = nullptr;
  Matchable* tail_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t entered_ = 0;
  std::unique_ptr<std::vector<Chain>> index_;  // a power of two of chains; null while there are few entries
};

}  // namespace offramp::world
