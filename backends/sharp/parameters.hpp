// The backend's parameters, and the fabric that they describe.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/sharp/spec.hpp"

namespace offramp::sharp {

/// In the order in which they are listed to users.
const std::vector<Parameter>& parameters();

/// The generation of the switches determines the supported elements and functions.
enum class Generation : std::uint8_t { kSwitchIb2, kQuantum, kSlingshot };

/// All values of the model, from the parameters.
struct Driver {
  Generation generation = Generation::kQuantum;
  Spec spec;
  Time call;                      // overhead of the library per operation
  Time overhead = Time::ns(250);  // of the processor, to detect a result of its adapter
  std::size_t low_latency_limit = 0;
  std::size_t stream_from = 0;  // 0: no streaming
  int least_ranks = 2;
  int node_radix = 4;  // of the tree of a node's ranks over shared memory
};
/// Settings must have been checked against parameters().
Driver driver_of(const Settings& settings);

/// The costs of combining over a node's memory: those of the host backend.
struct NodeCosts {
  Time latency;
  Time overhead;  // of the processor, at each end of a message
  Bandwidth copy;
  Bandwidth combine;
  Bandwidth memory;  // of the node
};
/// Uses the host's defaults if the context has no host.
NodeCosts node_costs_of(const BackendContext& context);

/// As in BackendDescription.
std::optional<double> in_force(const Settings& settings, std::string_view parameter);
/// As the fields of BackendDescription of these names.
Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks);
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::sharp
