// Errors begin with the key that caused them. A platform file is read earlier (NetworkOptions::platform);
// here it only has to have enough hosts. Whether a topology supports a routing is checked last, when the
// topology is known.
#include "simulators/network/make_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simulators/network/fair.hpp"
#include "simulators/network/placement.hpp"
#include "simulators/network/trains.hpp"

namespace offramp {

namespace {

Result<std::shared_ptr<const Topology>> topology_of(const NetworkOptions& options, int nodes) {
  if (!is_platform_file(options.topology)) return parse_topology(options.topology, nodes);
  if (options.platform == nullptr) return failure(fmt::format("{} was not read", options.topology));
  if (options.platform->nodes() < nodes)
    return failure(fmt::format("{}: it has {} hosts, but there are {} nodes", options.platform->place(),
                               options.platform->nodes(), nodes));
  return std::shared_ptr<const Topology>(options.platform);
}

/// The topology's switches, with nodes of the program instead of nodes of the machine.
class PlacedSwitches final : public SwitchMap {
 public:
  explicit PlacedSwitches(NetworkPlaces places) : places_(std::move(places)) {}
  [[nodiscard]] int switches() const override { return places_.topology->switches(); }
  [[nodiscard]] int switch_of(int node) const override {
    return places_.topology->switch_of(places_.places[static_cast<std::size_t>(node)]);
  }
  [[nodiscard]] std::size_t links() const override { return places_.topology->links(); }
  [[nodiscard]] Ends ends(std::size_t link) const override { return places_.topology->ends(link); }

 private:
  NetworkPlaces places_;
};

}  // namespace

std::shared_ptr<const SwitchMap> switches_of(const NetworkOptions& options, int ranks,
                                             const MachineLayout& machine) {
  if (options.is_star()) return nullptr;
  auto found = place_in_network(options, ranks, machine);
  // make_network() reports the error.
  return found ? std::make_shared<PlacedSwitches>(std::move(*found)) : nullptr;
}

Result<NetworkPlaces> place_in_network(const NetworkOptions& options, int ranks,
                                       const MachineLayout& machine) {
  const int nodes = machine.nodes(ranks);
  const int least = std::max(nodes, options.least_nodes);
  auto topology = topology_of(options, least);
  if (!topology) return failure("network.topology: " + topology.error());
  NetworkPlaces found{std::move(*topology), least, {}};
  // A topology can have more nodes than requested, and placements may use all.
  if (found.topology != nullptr) found.nodes = found.topology->nodes();
  auto places = place_nodes(options.placement, nodes, found.nodes);
  if (!places) return failure(fmt::format("network.placement: \"{}\" {}", options.placement, places.error()));
  found.places = std::move(*places);
  return found;
}

Result<std::shared_ptr<Network>> make_network(const NetworkOptions& options, int ranks,
                                              const MachineLayout& machine) {
  if (options.is_star()) return std::shared_ptr<Network>();
  auto found = place_in_network(options, ranks, machine);
  if (!found) return failure(found.error());
  if (!found->topology->supports(options.routing))
    return failure(fmt::format("network.routing: {} is not for the topology \"{}\"",
                               options.routing == Routing::kAdaptive ? "adaptive" : "valiant",
                               options.topology));
  NetworkSetting setting{found->topology, options.routing, std::move(found->places), machine, options.link,
                         options.hop,     options.seed};
  if (options.sharing == Sharing::kFair)
    return std::shared_ptr<Network>(std::make_shared<FairNetwork>(std::move(setting)));
  return std::shared_ptr<Network>(std::make_shared<TrainNetwork>(std::move(setting)));
}

}  // namespace offramp
