// If no job names its nodes, network.placement places all jobs as one program. If any does, the others get
// the lowest free nodes in the order of the jobs. The remaining nodes are for background traffic, if
// requested. The result is stored as a placement list, so that the network uses it for the ranks.
#include "lib/base/configuration/job_places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulators/network/placement.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

// As many nodes as a world may have ranks.
constexpr int kMost = 1 << 20;

/// Size of the machine that has at least `needed` nodes.
Result<int> size_of_machine(const NetworkOptions& network, int needed) {
  needed = std::max(needed, network.least_nodes);
  if (network.is_star()) return needed;
  // A platform has the size that its file describes.
  if (network.platform != nullptr) return network.platform->nodes();
  const auto topology = parse_topology(network.topology, needed);
  if (!topology) return failure("network.topology: " + topology.error());
  return (*topology)->nodes();
}

}  // namespace

NetworkOptions network_for(const Configuration& configuration, int ranks) {
  NetworkOptions network = configuration.network;
  network.least_nodes = std::max(network.least_nodes, configuration.machine.nodes);
  // The ports of a switch are inferred from products of 400 Gb/s.
  const bool is_large = configuration.machine.layout(ranks).nodes(ranks) > 64;
  if (network.is_star() && is_large && !configuration.written.contains("network.topology"))
    network.topology = "fat-tree:32";
  return network;
}

std::optional<std::vector<int>> parse_nodes(std::string_view text) {
  std::vector<int> nodes;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash), 0, kMost - 1);
    const auto last =
        dash == std::string_view::npos ? first : whole_number(part.substr(dash + 1), 0, kMost - 1);
    // Checked before the nodes are listed: a range of a few letters may be huge.
    if (!first || !last || *first > *last || nodes.size() + static_cast<std::size_t>(*last - *first) >= kMost)
      return std::nullopt;
    for (auto node = static_cast<int>(*first); node <= *last; ++node) nodes.push_back(node);
  }
  return nodes;
}

Result<std::vector<int>> place_jobs(NetworkOptions& network, const std::vector<JobNodes>& jobs, bool others) {
  int needed = 0;
  int highest = 0;
  bool any_asked = false;
  for (const JobNodes& job : jobs) {
    needed += job.nodes;
    if (!job.asked) continue;
    any_asked = true;
    for (const int node : *job.asked) highest = std::max(highest, node + 1);
  }
  // A star grows with the jobs; other topologies have their own size.
  const Result<int> machine = size_of_machine(network, std::max(needed, highest));
  if (!machine) return failure(machine.error());
  if (*machine < needed)
    return failure(fmt::format("the network has {} nodes, but the jobs need {}", *machine, needed));
  if (network.is_star() && others) return failure("background traffic needs a network: see --network");
  std::vector<int> placed;
  std::vector<bool> taken(static_cast<std::size_t>(std::max(*machine, highest)));
  if (!any_asked) {
    auto places = place_nodes(network.placement, needed, *machine);
    if (!places) return failure(fmt::format("network.placement: {}", places.error()));
    placed = std::move(*places);
    for (const int node : placed) taken[static_cast<std::size_t>(node)] = true;
  }
  for (std::size_t i = 0; any_asked && i < jobs.size(); ++i) {
    const JobNodes& job = jobs[i];
    if (!job.asked) continue;
    if (static_cast<int>(job.asked->size()) != job.nodes)
      return failure(
          fmt::format("job {} needs {} nodes, but {} are named", i + 1, job.nodes, job.asked->size()));
    for (const int node : *job.asked) {
      if (node >= *machine)
        return failure(fmt::format("job {}: the network has only nodes 0 to {}", i + 1, *machine - 1));
      if (taken[static_cast<std::size_t>(node)])
        return failure(fmt::format("job {}: node {} is already in use", i + 1, node));
      taken[static_cast<std::size_t>(node)] = true;
    }
  }
  // Always finds one: the machine has as many nodes as the jobs need.
  int next = 0;
  const auto next_free = [&] {
    while (taken[static_cast<std::size_t>(next)]) ++next;
    taken[static_cast<std::size_t>(next)] = true;
    return next;
  };
  for (std::size_t i = 0; any_asked && i < jobs.size(); ++i) {
    for (int node = 0; node < jobs[i].nodes; ++node)
      placed.push_back(jobs[i].asked ? (*jobs[i].asked)[static_cast<std::size_t>(node)] : next_free());
  }
  while (others && static_cast<int>(placed.size()) < *machine) placed.push_back(next_free());
  // The network keeps its size even if the highest nodes are unused.
  network.least_nodes = *machine;
  network.placement = fmt::format("list:{}", fmt::join(placed, ","));
  return placed;
}

}  // namespace offramp
