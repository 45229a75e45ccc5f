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
  int node_radix = 2;  // of the tree of a node's ranks over shared memory
};
Driver driver_of(const Settings& settings);

/// What the ranks of a node take to combine over its memory: what the host takes.
struct NodeCosts {
  Time latency;
  Time overhead;  // of the processor, at each end of a message
  Bandwidth copy;
  Bandwidth combine;
  Bandwidth memory;  // of the node
};
/// Without a host in the context, its defaults.
NodeCosts node_costs_of(const BackendContext& context);

/// As in BackendDescription.
std::optional<double> in_force(const Settings& settings, std::string_view parameter);
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::sharp
