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
  using Made = Result<std::shared_ptr<const Topology>>;
  if (!is_platform_file(options.topology)) return parse_topology(options.topology, nodes);
  if (options.platform == nullptr) return Made::failure(fmt::format("{} was not read", options.topology));
  if (options.platform->nodes() < nodes)
    return Made::failure(fmt::format("{}: it has {} hosts, and there are {} nodes", options.platform->place(),
                                     options.platform->nodes(), nodes));
  return std::shared_ptr<const Topology>(options.platform);
}

}  // namespace

Result<Machine> place_in_machine(const NetworkOptions& options, int ranks, int ranks_per_node) {
  using Made = Result<Machine>;
  const int nodes = (ranks - 1) / ranks_per_node + 1;
  const int least = std::max(nodes, options.least_nodes);
  auto topology = topology_of(options, least);
  if (!topology) return Made::failure("network.topology: " + topology.error());
  Machine machine{std::move(*topology), least, {}};
  if (machine.topology != nullptr) machine.nodes = machine.topology->nodes();
  auto places = place_nodes(options.placement, nodes, machine.nodes);
  if (!places)
    return Made::failure(fmt::format("network.placement: \"{}\" {}", options.placement, places.error()));
  machine.places = std::move(*places);
  return machine;
}

Result<std::shared_ptr<Network>> make_network(const NetworkOptions& options, int ranks, int ranks_per_node) {
  using Made = Result<std::shared_ptr<Network>>;
  if (options.is_star()) return std::shared_ptr<Network>();
  auto machine = place_in_machine(options, ranks, ranks_per_node);
  if (!machine) return Made::failure(machine.error());
  if (!machine->topology->knows(options.routing))
    return Made::failure(fmt::format("network.routing: {} is not for the topology \"{}\"",
                                     options.routing == Routing::kAdaptive ? "adaptive" : "valiant",
                                     options.topology));
  NetworkSetting setting{machine->topology, options.routing, std::move(machine->places),
                         ranks_per_node,    options.link,    options.hop,
                         options.seed};
  if (options.sharing == Sharing::kFair)
    return std::shared_ptr<Network>(std::make_shared<FairNetwork>(std::move(setting)));
  return std::shared_ptr<Network>(std::make_shared<TrainNetwork>(std::move(setting)));
}

}  // namespace offramp
