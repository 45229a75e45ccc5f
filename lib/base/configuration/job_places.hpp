// On which nodes of a machine several jobs are, and which are left.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "simulators/network/make_network.hpp"

namespace offramp {

/// "0-7,12": these nodes. Nothing: the text is no list of fewer than 2^20 nodes.
std::optional<std::vector<int>> parse_nodes(std::string_view text);

struct JobNodes {
  int nodes = 0;                          // that it needs
  std::optional<std::vector<int>> asked;  // nothing: any
};

/// Sets the placement of `network` so that the nodes of each job, one job after the other, are where they are
/// asked to be, and those of the others where network.placement says or, beside jobs that asked, on the first
/// that are left. Returns all nodes of the jobs in that order. others: all nodes that no job has follow in
/// the placement, and in what is returned. An error says which job does not fit.
Result<std::vector<int>> place_jobs(NetworkOptions& network, const std::vector<JobNodes>& jobs, bool others);

}  // namespace offramp
