// Text that describes hardware attached to nodes, for BackendDescription::deployment.
#pragma once

#include <string>
#include <string_view>

#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// "4 nodes of 16 ranks, each with 2 NICs of 2 links of 100 Gb/s". card: a noun with a regular plural. links:
/// per card, each with the bandwidth `link`.
Deployment deployment_on_nodes(const MachineLayout& machine, int ranks, std::string_view card, Bandwidth link,
                               int links);

/// "100 Gb/s", with as many digits as necessary.
std::string gigabits_text(std::int64_t bits_per_second);

/// "1 node", "16 ranks".
std::string counted(int count, std::string_view noun);

}  // namespace offramp
