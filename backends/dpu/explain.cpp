// `platform` numbers service processes as the service does, with the Placement of the model; `notification`
// prints the tables of the codec. `config` both writes and checks configuration files, by the form of its
// arguments.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "backends/dpu/describe.hpp"
#include "backends/dpu/dpu.hpp"
#include "backends/dpu/parameters.hpp"
#include "simulators/dpu_protocol/config_file.hpp"
#include "simulators/dpu_protocol/notification.hpp"

namespace offramp::dpu {
namespace {

/// The service process of each rank, and the connections between processes.
Explanation render_platform(const ExplainRequest& request) {
  const DriverSpec driver = driver_of(request.settings, {}, request.operation.ranks, request.machine);
  const Placement placement = placement_of(driver.platform);
  const int ranks = request.operation.ranks;
  const int nodes = placement.nodes(ranks);
  const int all = nodes * placement.per_node();
  std::string text =
      fmt::format("{} ranks on {} nodes, {} service processes per DPU", ranks, nodes, placement.processes);
  if (placement.dpus > 1) text += fmt::format(", {} DPUs per node", placement.dpus);
  text += fmt::format("; slot {} is the host's\n", Placement::host_slot(all));
  for (int id = 0; id < all; ++id) {
    const int node = placement.node_of_process(id);
    const int local = std::min(placement.ranks_per_node, ranks - node * placement.ranks_per_node);
    text += fmt::format(
        "service process {}: node {}, {}local id {}, expects {} ranks, {} inbound and {} outbound "
        "connections; ranks",
        id, node, placement.dpus > 1 ? fmt::format("DPU {}, ", placement.dpu_of_process(id)) : "",
        id % placement.processes, placement.expected_ranks(local, id % placement.per_node()),
        Placement::inbound(id), Placement::outbound(id, all));
    for (int rank = node * placement.ranks_per_node; rank < node * placement.ranks_per_node + local; ++rank) {
      if (placement.global_id(rank) == id) text += fmt::format(" {}", rank);
    }
    text += '\n';
  }
  return {text, {}};
}

/// The header of a notification, field by field, and the types reserved by the service.
Explanation render_notification(const ExplainRequest&) {
  std::string text = fmt::format("header of {} bytes, little endian\n", kHeaderBytes);
  for (const NotificationField& field : notification_fields())
    text += fmt::format("  {:2} .. {:2}  {}\n", field.offset, field.offset + field.bytes - 1, field.name);
  text += "types that the service uses itself\n";
  for (const ReservedType& type : reserved_types()) text += fmt::format("  {}  {}\n", type.type, type.name);
  return {text, {}};
}

/// Without arguments: a configuration file for the platform of the settings. With words KEY=VALUE: a file for
/// the hosts they describe. With a file name: checks that file.
Explanation render_config(const ExplainRequest& request) {
  if (!request.arguments.empty() && request.arguments.front().find('=') != std::string::npos) {
    Described described =
        describe_hosts(driver_of(request.settings, {}, request.operation.ranks, request.machine).platform,
                       request.arguments);
    return {std::move(described.text), std::move(described.error)};
  }
  if (request.arguments.size() > 1) return {{}, "at most one file can be checked"};
  if (request.arguments.empty()) {
    const Placement placement =
        placement_of(driver_of(request.settings, {}, request.operation.ranks, request.machine).platform);
    return {write_config(describe_platform(placement.nodes(request.operation.ranks), placement.processes,
                                           placement.dpus)),
            {}};
  }
  const Result<ConfigFile> file = load_config(request.arguments.front());
  if (!file) return {{}, file.error()};
  return {fmt::format("{}: format version 1, {} hosts, {} service processes per DPU\n",
                      request.arguments.front(), file->hosts.size(), file->processes()),
          {}};
}

}  // namespace

std::span<const ExplainTopic> topics() {
  static const std::array<ExplainTopic, 3> table = {
      {{"platform", "service processes, their ids, ranks and connections", render_platform},
       {"notification", "the header's fields, and reserved types", render_notification},
       {"config",
        "configuration file for this platform, hosts=N, machine, or topology=FILE; with a file: checks it",
        render_config}}};
  return table;
}

}  // namespace offramp::dpu
