// The parameters of the host backend.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp::host {

const std::vector<Parameter>& parameters();

/// LogGP: the NIC of a node, and what the processor does for a message.
struct Nic {
  Time latency;
  Time overhead;
  Time gap;
  Bandwidth bandwidth;  // of the link, with what frames the packets
  Bandwidth pcie;
  std::size_t framing;  // bytes around each packet
};
/// The one that is named, with what is set apart from it.
Nic nic_of(const Settings& settings);
/// See BackendDescription::in_force.
std::optional<double> in_force(const Settings& settings, std::string_view parameter);

/// Longer messages ask the receiver first.
struct EagerLimits {
  std::size_t network;
  std::size_t memory;  // within a node
};
/// Those of the transport, with what is set apart from it.
EagerLimits eager_limits_of(const Settings& settings);

Progress progress_of(const Settings& settings);

/// As in BackendDescription.
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::host
