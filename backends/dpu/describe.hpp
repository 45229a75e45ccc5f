// A configuration file for hosts that somebody has looked at: where their DPUs and cores are.
#pragma once

#include <span>
#include <string>

#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// words, in this order for each host:
///   host=NAME                   begins one
///   dpu=NAME@NODE               a DPU and its NUMA node
///   cores=NODE,NODE,...         the NUMA nodes of its cores, in the order in which ranks take them
///   distances=10,21,21,10       between NUMA nodes, row by row; not given: not known
/// or one word hosts=N: equal hosts that nobody has looked at.
/// Comments in the file say which local rank is served by which DPU, and how far it is.
struct Described {
  std::string text;
  std::string error;  // not empty: why there is none
};
Described describe_hosts(const PlatformSpec& spec, std::span<const std::string> words);

}  // namespace offramp::dpu
