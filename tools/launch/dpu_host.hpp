// Locates the DPUs and cores of a host with hwloc.
#pragma once

#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::tool {

/// Returns the words for `offramp explain config`: see backends/dpu/describe.hpp. xml: a topology that lstopo
/// wrote on that host; empty: this machine. The configuration file knows a host by its name in the topology,
/// and its DPUs as HOST-bf0, HOST-bf1, ... in the order of the PCI bus.
Result<std::vector<std::string>> look_at_dpu_host(const std::string& xml);

}  // namespace offramp::tool
