// Counts the calls whose result depends on the order of arrival, or on whether a message has arrived. A
// polling loop makes millions of them at one place, so the places are in a table of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp {

/// A call of an MPI function in the program.
struct ArrivalPlace {
  const void* site = nullptr;  // the address to which the function returns
  std::uint64_t context = 0;   // of the communicator; kNoContext if the call has none
  std::uint16_t function = 0;  // its number in the counters

  static constexpr std::uint64_t kNoContext = ~std::uint64_t{0};
  bool operator==(const ArrivalPlace&) const = default;
};

/// Never allocates after its construction. Used under the engine's lock.
class ArrivalPlaces {
 public:
  /// The number of places with an entry. Calls at all further places share one count.
  static constexpr std::size_t kMost = 256;
  /// A place and the number of its calls so far.
  struct Entry {
    ArrivalPlace place;
    std::uint64_t times = 0;
  };

  /// Adds a call. The place of the last one is tried first, since a polling loop stays at one place.
  void count(const ArrivalPlace& place) {
    if (size_ > 0 && entries_[recent_].place == place) {
      ++entries_[recent_].times;
      return;
    }
    count_another(place);
  }

  [[nodiscard]] std::span<const Entry> entries() const { return {entries_.data(), size_}; }
  /// Calls at places without an entry.
  [[nodiscard]] std::uint64_t overflow_count() const { return others_; }

 private:
  static constexpr std::size_t kSlots = 2 * kMost;
  static_assert((kSlots & (kSlots - 1)) == 0);

  /// The factor is 2^64 divided by the golden ratio (Knuth): its upper bits depend on all bits of the key.
  static std::size_t slot_of(const ArrivalPlace& place) {
    const std::uint64_t mixed =
        (reinterpret_cast<std::uintptr_t>(place.site) ^ (place.context << 17) ^ place.function) *
        0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed >> 40) % kSlots;
  }

  /// Counts a call at a place other than that of the last call.
  void count_another(const ArrivalPlace& place) {
    // Half of the slots stay empty, so the search ends.
    std::size_t slot = slot_of(place);
    for (; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
      if (entries_[slots_[slot] - 1U].place != place) continue;
      recent_ = slots_[slot] - 1U;
      ++entries_[recent_].times;
      return;
    }
    if (size_ == kMost) {
      ++others_;
      return;
    }
    recent_ = size_;
    entries_[size_++] = {place, 1};
    slots_[slot] = static_cast<std::uint16_t>(size_);
  }

  std::array<Entry, kMost> entries_;           // in the order of their first calls
  std::array<std::uint16_t, kSlots> slots_{};  // index in entries_ plus 1; 0: empty
  std::size_t size_ = 0;
  std::size_t recent_ = 0;
  std::uint64_t others_ = 0;
};

}  // namespace offramp
