// What hwloc knows of a host with DPUs: where the cards and the cores are.
#pragma once

#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::tool {

/// Words for `offramp explain config`: see backends/dpu/describe.hpp.
/// xml: a topology that lstopo wrote on that host; empty: this machine. A host is known to its configuration
/// file by the name in the topology, a DPU as HOST-bf0, HOST-bf1, ... in the order of the PCI bus.
Result<std::vector<std::string>> look_at_dpu_host(const std::string& xml);

}  // namespace offramp::tool
