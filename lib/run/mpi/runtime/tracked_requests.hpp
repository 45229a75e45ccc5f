// The MPI library's requests in a program that is only recorded. They contain what Request contains
// otherwise. Used with the session's lock.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "lib/run/native/handles.hpp"

namespace offramp {

/// Movable: it follows its request when the library gives that another handle.
struct TrackedRequest {
  /// Fields that few requests need.
  struct More {
    std::optional<recording::Event> repeated;  // event of each start of a persistent request
    std::function<std::uint32_t()> repeat;     // likewise for a collective; returns the request
    std::function<void()> complete;            // called once on completion
  };

  std::uint32_t recorded = 0;  // as Request::recorded; 0: persistent and inactive
  std::uint32_t wildcard = 0;  // its wildcard number; 0: no wildcard
  std::unique_ptr<More> more;  // may be null

  More& add_more() {
    if (more == nullptr) more = std::make_unique<More>();
    return *more;
  }
  /// True for persistent requests, whose entry stays between starts.
  [[nodiscard]] bool persists() const {
    return more != nullptr && (more->repeated.has_value() || more->repeat != nullptr);
  }
};

/// A hash table by handle, with open addressing: requests come and go with every message.
class TrackedRequests {
 public:
  /// Null if the request is not recorded. Valid until the next add() or remove().
  [[nodiscard]] TrackedRequest* find(MPI_Request handle) {
    if (count_ == 0 || handle == MPI_Request{}) return nullptr;
    Slot& slot = slots_[place_of(handle)];
    return slot.handle == handle ? &slot.request : nullptr;
  }
  /// Adds a handle. If an earlier request had it, that one has completed.
  TrackedRequest& add(MPI_Request handle) {
    // At most half full, so that a probe meets few other handles.
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(handle)];
    if (slot.handle != handle) ++count_;
    slot.handle = handle;
    const TrackedRequest before = std::exchange(slot.request, {});
    // The library has completed the earlier request, but the waiting thread has not returned from it yet.
    if (before.more != nullptr && before.more->complete != nullptr) before.more->complete();
    return slot.request;
  }
  /// No effect if the handle is unknown.
  void remove(MPI_Request handle) {
    if (count_ == 0 || handle == MPI_Request{}) return;
    std::size_t hole = place_of(handle);
    if (slots_[hole].handle != handle) return;
    --count_;
    // Closes the hole: entries displaced by it move up.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; slots_[next].handle != MPI_Request{};
         next = (next + 1) & mask) {
      const std::size_t wanted = hash(slots_[next].handle) & mask;
      // The entry's own place lies behind the hole, so it would not be found in it.
      if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
      slots_[hole] = std::move(slots_[next]);
      hole = next;
    }
    slots_[hole] = {};
  }

 private:
  struct Slot {
    MPI_Request handle{};
    TrackedRequest request;
  };
  /// The factor is 2^64 divided by the golden ratio. Handles are addresses, so low bits carry little.
  static std::size_t hash(MPI_Request handle) { return (bits_of(handle) * 0x9e3779b97f4a7c15U) >> 20; }
  /// The index of the handle, or where to insert it.
  [[nodiscard]] std::size_t place_of(MPI_Request handle) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash(handle) & mask;
    while (slots_[place].handle != MPI_Request{} && slots_[place].handle != handle)
      place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : 2 * slots_.size()));
    for (Slot& slot : old) {
      if (slot.handle != MPI_Request{}) slots_[place_of(slot.handle)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace offramp
