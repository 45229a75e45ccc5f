// The network that a user asks for: [network] of the configuration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"
#include "simulators/network/platform.hpp"
#include "simulators/world/network.hpp"

namespace offramp {

enum class Sharing : std::uint8_t { kTrains, kFair };

struct NetworkOptions {
  std::string topology = "star";                  // see parse_topology(), or the name of a platform file
  std::shared_ptr<const Platform> platform = {};  // what was read of that file
  int least_nodes = 0;                            // of a machine that grows with its programs
  std::string placement = "order";                // see place_nodes()
  Routing routing = Routing::kStatic;
  Sharing sharing = Sharing::kTrains;
  Bandwidth link = Bandwidth::gigabits_per_second(100);  // each direction
  Time hop = Time::ns(150);                              // a switch and its cable
  std::uint64_t seed = 0;                                // of routing that draws

  [[nodiscard]] bool is_star() const { return topology == "star"; }
};

/// Whether a topology is the name of a SimGrid platform file.
[[nodiscard]] inline bool is_platform_file(std::string_view topology) {
  return topology.ends_with(".xml");
}

/// The nodes that the network connects, and the one on which each node of the ranks is. An error names the
/// key that is wrong.
struct NetworkPlaces {
  std::shared_ptr<const Topology> topology;  // null: a star
  int nodes = 0;
  std::vector<int> places;
};
Result<NetworkPlaces> place_in_network(const NetworkOptions& options, int ranks,
                                       const MachineLayout& machine);

/// Null: a star, which is what the backends' own wires are. An error names the key that is wrong.
Result<std::shared_ptr<Network>> make_network(const NetworkOptions& options, int ranks,
                                              const MachineLayout& machine);

}  // namespace offramp
