// What the models are told of the backend's parameters.
#pragma once

#include <string>

#include "offramp/model/backend.hpp"
#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/placement.hpp"
#include "simulators/tinsel/stream.hpp"

namespace offramp::tinsel {

enum class BarrierKind : std::uint8_t { kAuto, kIdle, kTree };

/// Ranks up to which a tree is faster than idle detection, which asks all boards however few ranks there are.
inline constexpr int kMostInTree = 16;

struct Configuration {
  /// ranks: of the world.
  Configuration(const Settings& settings, int ranks);

  bool fits = true;      // the ranks on the chosen boards
  std::string too_many;  // otherwise the reason
  int ranks;
  Layout layout;
  MachineSpec machine;
  SoftwareSpec software;
  IdleSpec idle;
  Multicast multicast;
  DimensionOrder order;
  BarrierKind barrier;
  std::uint64_t eager_limit;
  std::uint64_t segment;  // bytes of a reduction that travel together
  int fan_in;
  Time send_call;
  Time receive_call;
  Time wake;

  [[nodiscard]] Place place(int rank) const { return place_of(rank, layout, machine.mesh); }
  /// Whether a barrier of so many ranks is one for idle detection, if that is legal.
  [[nodiscard]] bool detects_idle(int members) const {
    return barrier == BarrierKind::kAuto ? members > kMostInTree : barrier == BarrierKind::kIdle;
  }
  [[nodiscard]] int workers() const { return layout.workers(); }
  /// Memory that a rank has: the DRAM partitions of its threads.
  [[nodiscard]] std::uint64_t memory() const { return static_cast<std::uint64_t>(workers()) * kThreadMemory; }
  /// Instructions that a rank's threads share.
  [[nodiscard]] Time work(std::uint64_t instructions) const;
  [[nodiscard]] Time copy(std::uint64_t bytes) const;
  [[nodiscard]] Time combine(const Operation& operation, std::uint64_t bytes) const;
};

}  // namespace offramp::tinsel
