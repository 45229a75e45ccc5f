// Shared by the tests of the DPU service.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/dpu/dpu.hpp"
#include "backends/host/host.hpp"
#include "simulators/dpu/collective.hpp"
#include "tests/cluster.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp::dpu {

using SettingValues = std::vector<std::pair<std::string, Settings::Value>>;

/// The defaults of the backend with these values.
inline Settings settings_with(const SettingValues& values) {
  Settings settings = Settings::defaults(dpu_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

/// Ranks in blocks on nodes.
inline ClusterOptions nodes_of(int ranks_per_node) {
  ClusterOptions options;
  options.machine.ranks_per_node = ranks_per_node;
  return options;
}

/// Works like nodes_of(), for a world.
inline WorldOptions timed_nodes_of(int ranks_per_node) {
  WorldOptions options;
  options.machine.ranks_per_node = ranks_per_node;
  return options;
}

/// The hosts of the published measurements.
inline Settings measured_hosts() {
  Settings settings = Settings::defaults(host_backend().parameters);
  settings.set("processor", {0, "sc23"});
  return settings;
}

inline double microseconds(Time t) {
  return t.seconds() * 1e6;
}

/// A collective of ranks that all begin at time 0. bytes: as in CollectiveRequest::bytes.
inline CollectiveRequest request_of(const PlatformSpec& spec, OperationKind kind, int ranks,
                                    std::int64_t bytes, int root = 0) {
  CollectiveRequest request;
  request.kind = kind;
  request.bytes = bytes;
  request.root = root;
  const HostCost cost = host_cost(spec, kind, bytes, ranks, false);
  for (int rank = 0; rank < ranks; ++rank) request.members.push_back({rank, cost.post, {}});
  // Block sizes that may differ, but are equal.
  if (has_blocks_of_different_sizes(kind))
    request.sizes.assign(static_cast<std::size_t>(kind == OperationKind::kAlltoallv ? ranks * ranks : ranks),
                         bytes);
  return request;
}

}  // namespace offramp::dpu
