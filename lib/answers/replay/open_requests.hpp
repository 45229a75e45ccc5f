// The open requests of a replayed rank, by number.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// The counters to which an operation belongs.
struct Begun {
  std::uint64_t bytes = 0;  // 0 for a receive until it completes
  std::uint16_t call = 0;   // the function that began it
  recording::EventKind kind = recording::EventKind::kNative;
  Handling handling = Handling::kOffloaded;  // for operations that this rank begins
};

/// An operation that the rank has begun and whose completion its program has not seen.
struct OpenRequest {
  static constexpr std::uint64_t kNone = UINT64_MAX;
  [[no_unique_address]] Begun begun;  // its padding holds the flags
  bool by_arrival = false;            // a wildcard: its cancellation is recorded
  bool is_expected = false;           // the recorded program saw it complete
  std::uint64_t number = kNone;
  RankRequest request;  // empty: it never completes
};
static_assert(sizeof(OpenRequest) == 32, "a rank has as many as it has open requests");

/// A hash table with a load of at most three quarters. Programs begin requests in long runs and complete them
/// from the front. So groups of four consecutive numbers are adjacent, and the groups are scattered: runs of
/// occupied slots stay short however many requests are open.
class OpenRequests {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The size of the table.
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

  /// The number must not be open. The reference is valid until the next add() or remove().
  OpenRequest& add(std::uint64_t number) {
    // A free slot always exists, so that searches end.
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    ++size_;
    OpenRequest& slot = slots_[free_for(number)];
    slot.number = number;
    return slot;
  }

  /// Null if the request is not open. The pointer is valid until the next add() or remove().
  [[nodiscard]] OpenRequest* find(std::uint64_t number) {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home_of(number);; at = (at + 1) & mask()) {
      if (slots_[at].number == number) return &slots_[at];
      if (slots_[at].number == OpenRequest::kNone) return nullptr;
    }
  }

  /// Removes a request that find() returned.
  OpenRequest remove(OpenRequest& open) {
    OpenRequest taken = std::exchange(open, OpenRequest());
    --size_;
    // Shift back the entries that this one displaced.
    auto hole = static_cast<std::size_t>(&open - slots_.data());
    for (std::size_t at = (hole + 1) & mask(); slots_[at].number != OpenRequest::kNone;
         at = (at + 1) & mask()) {
      const std::size_t home = home_of(slots_[at].number);
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      std::swap(slots_[hole], slots_[at]);
      hole = at;
    }
    return taken;
  }

  /// Returns all of them, the oldest first.
  std::vector<OpenRequest> remove_all();

 private:
  /// The table must not be empty.
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  /// The slot where the search for a number begins.
  [[nodiscard]] std::size_t home_of(std::uint64_t number) const {
    constexpr std::uint64_t kGroup = 4;
    const std::uint64_t group = (number / kGroup * 0x9E3779B97F4A7C15U) >> 32U;
    return (group * kGroup + number % kGroup) & mask();
  }
  /// The first free slot from there on.
  [[nodiscard]] std::size_t free_for(std::uint64_t number) const {
    std::size_t at = home_of(number);
    while (slots_[at].number != OpenRequest::kNone) at = (at + 1) & mask();
    return at;
  }
  /// Moves all entries, so pointers from find() become invalid.
  void grow() {
    std::vector<OpenRequest> old(slots_.empty() ? 8 : 2 * slots_.size());
    std::swap(old, slots_);
    for (OpenRequest& open : old) {
      if (open.number != OpenRequest::kNone) slots_[free_for(open.number)] = std::move(open);
    }
  }

  std::vector<OpenRequest> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace offramp
