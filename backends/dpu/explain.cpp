#include "backends/dpu/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "backends/dpu/parameters.hpp"

namespace offramp::dpu {
namespace {

/// Which service process serves which rank, and who connects to whom.
Explanation render_platform(const ExplainRequest& request) {
  const DriverSpec driver = driver_of(request.settings, {});
  const Placement placement = placement_of(driver.platform);
  const int ranks = request.operation.ranks;
  const int nodes = placement.nodes(ranks);
  const int all = nodes * placement.processes;
  Explanation explanation;
  std::string& text = explanation.text;
  text = fmt::format("{} ranks on {} nodes, {} service processes per DPU; slot {} is the host's\n", ranks,
                     nodes, placement.processes, Placement::host_slot(all));
  for (int id = 0; id < all; ++id) {
    const int node = placement.node_of_process(id);
    const int local = std::min(placement.ranks_per_node, ranks - node * placement.ranks_per_node);
    text += fmt::format(
        "service process {}: node {}, local id {}, expects {} ranks, {} inbound and {} outbound "
        "connections; ranks",
        id, node, id % placement.processes, placement.expected_ranks(local, id % placement.processes),
        Placement::inbound(id), Placement::outbound(id, all));
    for (int rank = node * placement.ranks_per_node; rank < node * placement.ranks_per_node + local; ++rank) {
      if (placement.global_id(rank) == id) text += fmt::format(" {}", rank);
    }
    text += '\n';
  }
  return explanation;
}

}  // namespace

std::span<const ExplainTopic> topics() {
  static const std::array<ExplainTopic, 1> table = {
      {{"platform", "service processes, their ids, ranks and connections", render_platform}}};
  return table;
}

}  // namespace offramp::dpu
