// The models' configuration, derived from the backend's parameters.
#pragma once

#include <string>

#include "offramp/model/backend.hpp"
#include "offramp/model/parameter_rows.hpp"
#include "simulators/tinsel/idle.hpp"
#include "simulators/tinsel/placement.hpp"
#include "simulators/tinsel/stream.hpp"

namespace offramp::tinsel {

/// See the parameter `barrier`.
enum class BarrierKind : std::uint8_t { kAuto, kIdle, kTree };

/// Maximum number of ranks for which a tree is faster than idle detection, which always involves all boards.
inline constexpr int kMostInTree = 16;

/// Immutable once made. The device and its units refer to it.
struct Configuration {
  /// The defaults.
  Configuration() = default;
  /// ranks: size of the world.
  Configuration(const Settings& settings, int ranks);

  bool fits = true;      // the ranks fit the chosen boards
  std::string too_many;  // the reason if they do not
  int ranks = 1;
  Layout layout;
  MachineSpec machine;
  SoftwareSpec software;
  IdleSpec idle;
  Multicast multicast = Multicast::kHardware;
  DimensionOrder order = DimensionOrder::kYFirst;
  BarrierKind barrier = BarrierKind::kAuto;
  std::uint64_t eager_limit = 65536;
  std::uint64_t segment = 4096;  // bytes of a reduction that are sent together
  int fan_in = 4;
  Time send_call;
  Time receive_call;
  Time wake;

  /// The first thread of the rank.
  [[nodiscard]] ThreadLocation place(int rank) const { return place_of(rank, layout, machine.mesh); }
  /// True if a barrier of this size uses idle detection where that is allowed.
  [[nodiscard]] bool detects_idle(int members) const {
    return barrier == BarrierKind::kAuto ? members > kMostInTree : barrier == BarrierKind::kIdle;
  }
  /// The threads of a rank.
  [[nodiscard]] int workers() const { return layout.workers(); }
  /// A rank's memory: the DRAM partitions of its threads.
  [[nodiscard]] std::uint64_t memory() const { return static_cast<std::uint64_t>(workers()) * kThreadMemory; }
  /// Duration of instructions that are shared by a rank's threads.
  [[nodiscard]] Time work(std::uint64_t instructions) const;
  /// These are shared by the rank's threads, as work().
  [[nodiscard]] Time copy(std::uint64_t bytes) const;
  /// operation: determines the instructions per element.
  [[nodiscard]] Time combine(const Operation& operation, std::uint64_t bytes) const;
};

/// Binds the parameters to what has their values.
/// Used for the table, and for reading settings.
void describe(ParameterRows& rows, Configuration& c);

}  // namespace offramp::tinsel
