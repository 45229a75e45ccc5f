// The resources of one rank in a live run, charged in the order in which its program issues operations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/model/resource.hpp"

namespace offramp {

/// Availability of a device's resources. A collective works on a copy taken when it is issued, so that
/// operations in flight never depend on each other's progress; the copy is joined with the original when the
/// program sees the operation's completion.
class Units {
 public:
  explicit Units(std::size_t count) : count_(count) {
    if (count_ > kInline) more_.resize(count_);
    point();
    std::uninitialized_fill_n(data(), count_, Resource());
  }
  Units(const Units& other) : count_(other.count_) {
    if (count_ > kInline) more_.resize(count_);
    point();
    std::uninitialized_copy_n(other.data(), count_, data());
  }
  Units& operator=(const Units& other) = delete;

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<Resource> all() { return {data(), count_}; }
  [[nodiscard]] std::span<const Resource> all() const { return {data(), count_}; }
  /// Every scope is this rank's own resources.
  [[nodiscard]] Resources view(std::span<const ResourceDescription> descriptions) const {
    return {descriptions, data()};
  }
  [[nodiscard]] Arbiter& operator[](std::size_t index) { return data()[index].timeline; }
  [[nodiscard]] const Arbiter& operator[](std::size_t index) const { return data()[index].timeline; }

  /// See Arbiter::join(). Returns by how much the operation is later than it found out by itself: the wait
  /// for that unit which others used most.
  Time join(const Units& used, const Units& taken, Time begun) {
    Time delay;
    for (std::size_t i = 0; i < count_; ++i) {
      const Resource& own = used.all()[i];
      Resource& unit = data()[i];
      delay = later(delay, unit.timeline.join(own.timeline, taken.all()[i].timeline, begun));
      unit.bytes += own.bytes - taken.all()[i].bytes;
      unit.waited += own.waited - taken.all()[i].waited;
    }
    return delay;
  }
  void clear() { std::fill_n(data(), count_, Resource()); }

 private:
  static constexpr std::size_t kInline = 8;  // what most hardware has

  [[nodiscard]] Resource* data() const { return all_; }
  void point() { all_ = count_ > kInline ? more_.data() : few_.data(); }

  union {  // those beyond the count stay untouched
    std::array<Resource, kInline> few_;
  };
  PooledVector<Resource> more_;
  Resource* all_ = nullptr;
  std::size_t count_;
};

}  // namespace offramp
