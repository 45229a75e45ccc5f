// A set of the most recent ids, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace offramp {

/// Both operations take constant time. Used under the engine's lock.
class RecentIds {
 public:
  explicit RecentIds(std::size_t most) : most_(most) {}

  /// Adds an id that the set does not contain. Drops the oldest one if the set is full.
  void add(std::uint64_t id) {
    if (order_.size() < most_) {
      order_.push_back(id);
    } else {
      known_.erase(order_[oldest_]);
      order_[oldest_] = id;
      oldest_ = (oldest_ + 1) % most_;
    }
    known_.insert(id);
  }
  [[nodiscard]] bool contains(std::uint64_t id) const { return known_.contains(id); }
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  std::size_t most_;
  std::size_t oldest_ = 0;
  std::vector<std::uint64_t> order_;  // a ring, once it is full
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace offramp
