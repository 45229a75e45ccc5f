// The backend's parameters, and the fabric that their values describe.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/sharp/spec.hpp"

namespace offramp::sharp {

const std::vector<Parameter>& parameters();

/// The generation of the switches decides which elements and functions they combine.
enum class Generation : std::uint8_t { kSwitchIb2, kQuantum, kSlingshot };

struct Driver {
  Generation generation = Generation::kQuantum;
  Spec spec;
  Time call;      // the library's, for each operation
  Time overhead;  // of the processor, for what it learns from its adapter
  std::size_t low_latency_limit = 0;
  std::size_t stream_from = 0;  // 0: nothing is streamed
  int least_ranks = 2;
  // Within a node: a tree over shared memory.
  int node_radix = 2;
  Time memory_latency;
  Time memory_overhead;
  Bandwidth copy = Bandwidth::gigabits_per_second(80);
  Bandwidth combine = Bandwidth::gigabits_per_second(160);
};
Driver driver_of(const Settings& settings);

/// As in BackendDescription.
std::optional<double> in_force(const Settings& settings, std::string_view parameter);
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::sharp
