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

/// Messages between two ranks of a node.
struct NodeMessages {
  Time latency;
  Time overhead;
  std::size_t inline_limit;  // longer ones lie in a buffer of their own, which is fetched behind the header
};
/// Those of the transport, with what is set apart from it.
NodeMessages node_messages_of(const Settings& settings);

/// What a node's memory delivers to all its ranks.
struct NodeMemory {
  Bandwidth bandwidth;  // beyond the caches
  Bandwidth cached;
  std::size_t cache;  // bytes
  double least;       // of this class the slowest and the fastest machine, over `bandwidth`
  double most;

  [[nodiscard]] NodeMemory scaled(double factor) const {
    const auto times = [factor](Bandwidth rate) {
      return Bandwidth::bits_per_second(
          static_cast<std::int64_t>(static_cast<double>(rate.count()) * factor));
    };
    return {times(bandwidth), times(cached), static_cast<std::size_t>(static_cast<double>(cache) * factor),
            least, most};
  }
};
/// That of the processor, with what is set apart from it.
NodeMemory node_memory_of(const Settings& settings, const MachineLayout& machine);

Progress progress_of(const Settings& settings);

/// As in BackendDescription.
Footing footing(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::host
