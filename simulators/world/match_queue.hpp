// MPI matching: the queues of posted receives and of unexpected messages of a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace offramp::world {

/// The fields that MPI matches. A receive may use wildcards (negative) for source and tag.
struct MatchKey {
  std::uint64_t context = 0;
  int source = 0;  // world rank
  int tag = 0;

  /// Returns whether a receive with this key matches a message with that key.
  [[nodiscard]] bool accepts(const MatchKey& message) const {
    return context == message.context && (source < 0 || source == message.source) &&
           (tag < 0 || tag == message.tag);
  }
};

/// Base class of queue entries.
struct Matchable {
  MatchKey key;
  Matchable* next = nullptr;
  Matchable* previous = nullptr;
  /// In a queue with an index: the next one with the same context and source. After the queue: null, or what
  /// it was matched with.
  Matchable* alike = nullptr;
  std::uint32_t order = 0;  // position in order of entry
  bool queued = false;
};

/// Entries in order of arrival. Long queues have an index by context and source.
class MatchQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Matchable* first() const { return head_; }

  void push(Matchable& entry);
  void remove(Matchable& entry);
  /// The oldest message that this receive matches. Null if there is none.
  [[nodiscard]] Matchable* find_message(const MatchKey& receive) const;
  /// The oldest receive that matches this message. Null if there is none.
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
  std::uint32_t size_ = 0;
  std::uint32_t entered_ = 0;                  // wraps around
  std::unique_ptr<std::vector<Chain>> index_;  // a power of two of chains; null while the queue is short
};

}  // namespace offramp::world
