// A fixed-size cache of computed results, for example the time of a message of a given size.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

namespace offramp {

/// The hash of a key selects the slot, and a new result replaces the old one. The number of slots is prime,
/// so that powers of two spread over the slots. A lookup does not allocate. One thread at a time.
template <typename Key, typename Value, std::size_t kSlots = 257, typename Hash = std::identity>
class DirectMappedCache {
 public:
  /// Returns null if the key is not cached.
  [[nodiscard]] const Value* find(const Key& key) const {
    const Slot& slot = slots_[Hash()(key) % kSlots];
    return slot.used && slot.key == key ? &slot.value : nullptr;
  }
  /// The references of store(), find() and get() are valid until the next store.
  const Value& store(Key key, Value value) {
    Slot& slot = slots_[Hash()(key) % kSlots];
    slot.key = std::move(key);
    slot.value = std::move(value);
    slot.used = true;
    return slot.value;
  }
  template <typename Compute>
  const Value& get(const Key& key, Compute compute) {
    if (const Value* const found = find(key)) return *found;
    return store(key, compute());
  }

 private:
  static consteval bool is_prime(std::size_t n) {
    for (std::size_t factor = 2; factor * factor <= n; ++factor) {
      if (n % factor == 0) return false;
    }
    return n > 1;
  }
  static_assert(is_prime(kSlots));

  struct Slot {
    Key key = {};
    Value value = {};
    bool used = false;
  };
  std::array<Slot, kSlots> slots_;
};

}  // namespace offramp
