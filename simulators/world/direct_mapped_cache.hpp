// Results that were computed before, such as what a message of a size takes.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

namespace offramp {

/// The hash of a key names its slot, and a new result displaces the one that is there. The number of slots is
/// a prime, so that powers of two do not share slots. A lookup allocates nothing. For one thread at a time.
template <typename Key, typename Value, std::size_t kSlots = 257, typename Hash = std::identity>
class DirectMappedCache {
 public:
  /// Null if it is not there.
  [[nodiscard]] const Value* find(const Key& key) const {
    const Slot& slot = slots_[Hash()(key) % kSlots];
    return slot.used && slot.key == key ? &slot.value : nullptr;
  }
  /// The reference, like those of find() and get(), is valid until the next result is stored.
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
