// Finds the first message of a source with a tag among many unexpected ones, without a search through all.
//
// A hash table contains the heads: the oldest message of each (source, tag), which links to the younger ones.
// So messages need no allocation. Receives only ever remove a head: by MPI's rules, messages of one source
// and tag do not overtake each other.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/run/engine/records.hpp"

namespace offramp {

/// Owns no message. Its context reports every arrival and removal to it.
class UnexpectedIndex {
 public:
  /// With fewer messages, a search costs less than the index.
  static constexpr std::size_t kWorthIt = 64;

  [[nodiscard]] bool in_use() const { return !buckets_.empty(); }

  /// Builds the index of all messages from the first one on, in the order of their arrival.
  void build(UnexpectedMessage* first, std::size_t count) {
    buckets_.assign(std::bit_ceil(count), nullptr);
    heads_ = 0;
    for (UnexpectedMessage* m = first; m != nullptr; m = m->by_arrival.next) append(*m);
  }

  /// Adds the last message of the list that begins with `first`.
  void add(UnexpectedMessage& message, UnexpectedMessage* first) {
    // At most one head per bucket on average keeps the chains short.
    if (heads_ == buckets_.size()) return build(first, 2 * buckets_.size());
    append(message);
  }

  /// Null if the source has sent no message with this tag.
  [[nodiscard]] UnexpectedMessage* find(int source, int tag) const {
    return *place_of(const_cast<UnexpectedIndex&>(*this).buckets_, source, tag);
  }

  /// Removes a message, which must be a head.
  void remove(UnexpectedMessage& message) {
    const Envelope& e = message.envelope;
    UnexpectedMessage** const place = place_of(buckets_, e.source, e.tag);
    UnexpectedMessage* const next = message.next_alike;
    if (next == nullptr) {
      *place = message.next_head;
      --heads_;
      return;
    }
    // The next message of the same source and tag becomes the head.
    next->next_head = message.next_head;
    next->last_alike = message.last_alike;
    *place = next;
  }

  void clear() {
    buckets_ = {};
    heads_ = 0;
  }

 private:
  using Buckets = std::vector<UnexpectedMessage*>;

  /// Returns the pointer to the head, or the null pointer at the end of its chain.
  static UnexpectedMessage** place_of(Buckets& buckets, int source, int tag) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio (Knuth)
    const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32U |
                              static_cast<std::uint32_t>(tag);
    const std::uint64_t hash = (key ^ key >> 32U) * kGolden;
    UnexpectedMessage** place = &buckets[(hash >> 32U) & (buckets.size() - 1)];
    while (*place != nullptr) {
      const Envelope& e = (*place)->envelope;
      if (e.source == source && e.tag == tag) break;
      place = &(*place)->next_head;
    }
    return place;
  }

  /// Adds a message behind those of its source and tag.
  void append(UnexpectedMessage& message) {
    const Envelope& e = message.envelope;
    message.next_alike = nullptr;
    UnexpectedMessage*& head = *place_of(buckets_, e.source, e.tag);
    if (head == nullptr) {
      message.next_head = nullptr;
      message.last_alike = &message;
      head = &message;
      ++heads_;
      return;
    }
    head->last_alike->next_alike = &message;
    head->last_alike = &message;
  }

  Buckets buckets_;  // their number is a power of two
  std::size_t heads_ = 0;
};

}  // namespace offramp
