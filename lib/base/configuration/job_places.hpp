// The network of a program's nodes, and the nodes of several jobs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "offramp/kernel/result.hpp"
#include "simulators/network/make_network.hpp"

namespace offramp {

/// Parses a list of nodes such as "0-7,12". nullopt if it is invalid, or has more than 2^20 nodes.
std::optional<std::vector<int>> parse_nodes(std::string_view text);

/// The network of this many ranks. Unless the user has chosen one, it is a switch as far as the ports of one
/// product go, and beyond that a fat tree of such switches with as many cables up as down.
NetworkOptions network_for(const Configuration& configuration, int ranks);

/// The nodes that a job needs, and those that its user named.
struct JobNodes {
  int nodes = 0;                          // number of nodes that it needs
  std::optional<std::vector<int>> asked;  // nullopt: any
};

/// Sets network.placement to the nodes of the jobs, one job after the other, and returns them. A job gets the
/// nodes that it names. Other jobs follow network.placement or, if any job names nodes, get the first free
/// nodes. others: append all free nodes. A failure names the job that does not fit.
Result<std::vector<int>> place_jobs(NetworkOptions& network, const std::vector<JobNodes>& jobs, bool others);

}  // namespace offramp
