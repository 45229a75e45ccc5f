// Slots of shared memory for the contributions of a communicator's ranks to small collectives. Each rank has
// a ring of slots that it writes, and reads those of the others.
//
// Operations are numbered equally on all ranks; number n uses slot n % kSlots of each rank. Every rank counts
// the operations that it has finished reading. A slot is reused once all ranks have finished with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/run/fabric/shared_ring.hpp"
#include "offramp/model/message.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

/// A view: the memory belongs to the fabric. Each rank constructs its own over the same memory.
class SlotRing {
 public:
  static constexpr std::uint64_t kSlots = 8;
  static constexpr std::size_t kSlotBytes = 1024;

 private:
  struct Head {
    std::uint64_t arrived;  // the operation's number + 1
    std::uint64_t label;
  };

 public:
  /// The largest contribution.
  static constexpr std::size_t kMostBytes = kSlotBytes - kCacheLine;

  /// Identifies the collective that a rank contributes to, and how its data travels.
  class Label {
   public:
    Label() = default;
    /// bytes: of the contribution; limited to what a slot holds.
    Label(OperationKind kind, int root, std::size_t bytes)
        : word_(static_cast<std::uint64_t>(kind) << 48 |
                static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << kBytesBits |
                std::min(bytes, kMostBytes)) {}
    /// The label of a rank whose data moves along the algorithm.
    static Label by_algorithm() { return Label(kByAlgorithm); }

    [[nodiscard]] bool is_by_algorithm() const { return word_ == kByAlgorithm; }
    // Limited, because the label is in memory that another process writes.
    [[nodiscard]] std::size_t bytes() const { return std::min<std::size_t>(word_ & 0xffff, kMostBytes); }
    /// True if both contribute to one collective. Their sizes may differ.
    [[nodiscard]] bool belongs_to(const Label& other) const {
      return word_ >> kBytesBits == other.word_ >> kBytesBits;
    }

   private:
    friend class SlotRing;
    static constexpr unsigned kBytesBits = 16;
    static constexpr std::uint64_t kByAlgorithm = ~std::uint64_t{0};
    explicit Label(std::uint64_t word) : word_(word) {}
    std::uint64_t word_ = 0;
  };

  /// Memory for the slots of so many ranks.
  static constexpr std::size_t bytes(int ranks) {
    return kCacheLine + static_cast<std::size_t>(ranks) * (kCacheLine + kSlots * kSlotBytes);
  }

  SlotRing() = default;
  /// memory: bytes(ranks) bytes, aligned to a cache line, zero before the first use. Must outlive this
  /// object.
  SlotRing(std::byte* memory, int rank, int ranks) : memory_(memory), rank_(rank), ranks_(ranks) {}

  /// True if this rank's slot of an operation is free.
  [[nodiscard]] bool has_credit(std::uint64_t number) {
    // The counters only grow, so an old look at them suffices as long as it shows a free slot.
    if (number < finished_by_all_ + kSlots) return true;
    std::uint64_t least = ~std::uint64_t{0};
    for (int rank = 0; rank < ranks_; ++rank)
      // Pairs with finish_before(): the others have read the slot before this rank writes it again.
      least = std::min(least, std::atomic_ref(finished(rank)).load(std::memory_order_acquire));
    finished_by_all_ = least;
    return number < finished_by_all_ + kSlots;
  }
  /// Writes the slot of an operation. Requires has_credit(); contribution has the size in the label.
  void publish(std::uint64_t number, Label label, Bytes contribution) const {
    std::byte* const slot = slot_of(rank_, number);
    auto& head = *reinterpret_cast<Head*>(slot);
    copy_small(slot + offset_of(contribution.size()), contribution.data(), contribution.size());
    head.label = label.word_;
    // Pairs with has_arrived(): a reader that sees the number sees the label and the contribution.
    std::atomic_ref(head.arrived).store(number + 1, std::memory_order_release);
  }
  /// True if a rank has written its slot of an operation.
  [[nodiscard]] bool has_arrived(int rank, std::uint64_t number) const {
    auto& head = *reinterpret_cast<Head*>(slot_of(rank, number));
    return std::atomic_ref(head.arrived).load(std::memory_order_acquire) == number + 1;
  }
  /// Valid from has_arrived() until this rank has finished the operation.
  [[nodiscard]] Label label(int rank, std::uint64_t number) const {
    return Label(reinterpret_cast<const Head*>(slot_of(rank, number))->label);
  }
  /// In the slot itself. Valid as long as label().
  [[nodiscard]] Bytes contribution(int rank, std::uint64_t number) const {
    const std::size_t bytes = label(rank, number).bytes();
    return {slot_of(rank, number) + offset_of(bytes), bytes};
  }
  /// True if a rank reads no more slots of an operation.
  [[nodiscard]] bool has_finished(int rank, std::uint64_t number) const {
    return std::atomic_ref(finished(rank)).load(std::memory_order_acquire) > number;
  }
  /// Records that this rank reads no more slots of operations before this number.
  void finish_before(std::uint64_t number) const {
    std::atomic_ref(finished(rank_)).store(number, std::memory_order_release);
  }

  /// Records that this rank no longer uses the memory.
  void leave() const { std::atomic_ref(left()).fetch_add(1, std::memory_order_acq_rel); }
  /// True if no rank uses the memory any more, so that it can serve another communicator.
  [[nodiscard]] bool all_have_left() const {
    return std::atomic_ref(left()).load(std::memory_order_acquire) == static_cast<std::uint64_t>(ranks_);
  }

 private:
  /// Where a contribution begins in its slot. Behind the first line if it does not fit there: readers poll
  /// that line, and it is then written only once, at the end.
  static constexpr std::size_t offset_of(std::size_t bytes) {
    return bytes <= kCacheLine - sizeof(Head) ? sizeof(Head) : kCacheLine;
  }
  /// The layout: a line with the number of ranks that have left, a line for each rank's count, then the
  /// slots.
  [[nodiscard]] std::uint64_t& left() const { return *reinterpret_cast<std::uint64_t*>(memory_); }
  [[nodiscard]] std::uint64_t& finished(int rank) const {
    return *reinterpret_cast<std::uint64_t*>(memory_ + (1 + static_cast<std::size_t>(rank)) * kCacheLine);
  }
  [[nodiscard]] std::byte* slot_of(int rank, std::uint64_t number) const {
    return memory_ + (1 + static_cast<std::size_t>(ranks_)) * kCacheLine +
           (static_cast<std::size_t>(rank) * kSlots + number % kSlots) * kSlotBytes;
  }

  std::byte* memory_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
  std::uint64_t finished_by_all_ = 0;  // when it was last read
};

}  // namespace offramp
