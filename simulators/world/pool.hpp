// Objects that come and go, in memory that stays: an event may hold a plain pointer to one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace offramp {

/// For one thread at a time.
template <typename T>
class Pool {
 public:
  /// As it was given back: what it holds (memory of a list, say) is used again. A new one is as T() makes it.
  T& take() {
    if (unused_.empty()) grow();
    T& object = *unused_.back();
    unused_.pop_back();
    return object;
  }
  void give_back(T& object) { unused_.push_back(&object); }

 private:
  static constexpr std::size_t kChunk = 256;  // objects

  /// The first ones of the chunk are taken first.
  void grow() {
    T* const chunk = chunks_.emplace_back(std::make_unique<T[]>(kChunk)).get();
    for (std::size_t i = kChunk; i-- > 0;) unused_.push_back(chunk + i);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<T*> unused_;
};

}  // namespace offramp
