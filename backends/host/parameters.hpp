// The parameters of the host backend.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp::host {

const std::vector<Parameter>& parameters();

/// LogGP: the NIC of a node, and the processor's work per message.
struct Nic {
  Time latency;
  Time overhead;
  Time gap;
  Bandwidth bandwidth;  // of the link, including framing
  Bandwidth pcie;
  std::size_t framing;  // bytes of framing per packet
};
/// The selected preset, with individually set values.
Nic nic_of(const Settings& settings);
/// See BackendDescription::in_force.
std::optional<double> in_force(const Settings& settings, std::string_view parameter);

/// Longer messages use rendezvous.
struct EagerLimits {
  std::size_t network;
  std::size_t memory;  // within a node
};
/// The limits of the transport, with individually set values.
EagerLimits eager_limits_of(const Settings& settings);

/// Messages between two ranks of a node.
struct NodeMessages {
  Time latency;
  Time overhead;
  std::size_t inline_limit;  // longer messages use a separate buffer, which is fetched after the header
  Bandwidth copy;            // of a processor's copies from and to a buffer that two ranks share
};
/// The values of the transport, or of MPICH's shared memory under its rules and its descendants'; with
/// individually set values.
NodeMessages node_messages_of(const Settings& settings);

/// The throughput of a node's memory for all its ranks.
struct NodeMemory {
  Bandwidth bandwidth;  // beyond the caches
  Bandwidth cached;
  std::size_t cache;  // bytes
  double least;       // slowest and fastest machine of the class, relative to `bandwidth`
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
/// The memory of the processor, with individually set values.
NodeMemory node_memory_of(const Settings& settings, const MachineLayout& machine);

Progress progress_of(const Settings& settings);

/// As in BackendDescription.
Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks);
/// As BackendDescription::without_effect.
std::vector<WithoutEffect> without_effect(const Settings& settings);

}  // namespace offramp::host
