// The requests of a replayed rank that it has begun and not seen the end of, by number.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// What an operation is counted as.
struct Begun {
  std::uint64_t bytes = 0;  // of a receive: known once it is done
  std::uint16_t call = 0;   // the function that began it
  recording::EventKind kind = recording::EventKind::kNative;
  Handling handling = Handling::kOffloaded;  // of what this rank began
};

struct OpenRequest {
  static constexpr std::uint64_t kNone = UINT64_MAX;
  [[no_unique_address]] Begun begun;  // its padding holds the flags
  bool by_arrival = false;            // a wildcard, whose cancelling is recorded
  bool is_expected = false;           // the recorded program learned of it
  std::uint64_t number = kNone;
  RankRequest request;  // empty: one that never ends
};
static_assert(sizeof(OpenRequest) == 32, "a rank has as many as it has open requests");

/// A hash table, filled to three quarters at most. Programs begin requests in long runs and end them from the
/// front: numbers that follow each other lie side by side in groups of four, and the groups lie anywhere, so
/// that no run of slots grows with the requests that are open.
class OpenRequests {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Of the table.
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

  OpenRequest& add(std::uint64_t number) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    ++size_;
    OpenRequest& slot = slots_[free_for(number)];
    slot.number = number;
    return slot;
  }

  /// Null: it is not open. Valid until one is added or taken.
  [[nodiscard]] OpenRequest* find(std::uint64_t number) {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home_of(number);; at = (at + 1) & mask()) {
      if (slots_[at].number == number) return &slots_[at];
      if (slots_[at].number == OpenRequest::kNone) return nullptr;
    }
  }

  /// Takes one that find() gave.
  OpenRequest remove(OpenRequest& open) {
    OpenRequest taken = std::exchange(open, OpenRequest());
    --size_;
    // What lay behind it because it was there moves up.
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

  /// All of them, the oldest first.
  std::vector<OpenRequest> remove_all();

 private:
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t home_of(std::uint64_t number) const {
    constexpr std::uint64_t kGroup = 4;
    const std::uint64_t group = (number / kGroup * 0x9E3779B97F4A7C15U) >> 32U;
    return (group * kGroup + number % kGroup) & mask();
  }
  [[nodiscard]] std::size_t free_for(std::uint64_t number) const {
    std::size_t at = home_of(number);
    while (slots_[at].number != OpenRequest::kNone) at = (at + 1) & mask();
    return at;
  }
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
