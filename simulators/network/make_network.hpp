// Creates the network that the configuration section [network] describes.
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

/// How messages share links: as in TrainNetwork, or as in FairNetwork.
enum class Sharing : std::uint8_t { kTrains, kFair };

/// The settings of a network, as the user has written them.
struct NetworkOptions {
  std::string topology = "star";                  // see parse_topology(), or the name of a platform file
  std::shared_ptr<const Platform> platform = {};  // the content of that file
  int least_nodes = 0;                            // for a machine that grows with its programs
  std::string placement = "order";                // see place_nodes()
  Routing routing = Routing::kStatic;
  Sharing sharing = Sharing::kTrains;
  Bandwidth link = Bandwidth::gigabits_per_second(100);  // each direction
  Time hop = Time::ns(150);                              // per switch and its cable
  std::uint64_t seed = 0;                                // for randomised routing

  /// In a star, messages share no links, so it needs no Network.
  [[nodiscard]] bool is_star() const { return topology == "star"; }
};

/// Returns whether a topology is the name of a SimGrid platform file.
[[nodiscard]] inline bool is_platform_file(std::string_view topology) {
  return topology.ends_with(".xml");
}

/// A machine's nodes and the placement of the program's nodes on them.
struct NetworkPlaces {
  std::shared_ptr<const Topology> topology;  // null: a star
  int nodes = 0;
  std::vector<int> places;
};
/// Returns an error that names the invalid key.
Result<NetworkPlaces> place_in_network(const NetworkOptions& options, int ranks,
                                       const MachineLayout& machine);

/// The network's switches and links, with the program's nodes at their positions. Null for a star, and for
/// options that make_network() refuses.
std::shared_ptr<const SwitchMap> switches_of(const NetworkOptions& options, int ranks,
                                             const MachineLayout& machine);

/// Returns null for a star (the backends' own wires), and an error that names a key if it is invalid.
Result<std::shared_ptr<Network>> make_network(const NetworkOptions& options, int ranks,
                                              const MachineLayout& machine);

}  // namespace offramp
