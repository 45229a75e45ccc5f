// A pool of objects whose memory remains allocated, so that events may refer to them by plain pointer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace offramp {

/// One thread at a time.
template <typename T>
class Pool {
 public:
  /// Returns an object in the state in which it was given back (so its heap memory is reused), or a new T().
  T& acquire() {
    if (unused_.empty()) grow();
    T& object = *unused_.back();
    unused_.pop_back();
    return object;
  }
  void release(T& object) { unused_.push_back(&object); }

 private:
  static constexpr std::size_t kChunk = 256;  // objects

  /// Objects at the start of the chunk are used first.
  void grow() {
    T* const chunk = chunks_.emplace_back(std::make_unique<T[]>(kChunk)).get();
    for (std::size_t i = kChunk; i-- > 0;) unused_.push_back(chunk + i);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<T*> unused_;
};

}  // namespace offramp
