// Writes a configuration file for given hosts, from the locations of their DPUs and cores.
#pragma once

#include <span>
#include <string>

#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// words, in this order for each host:
///   host=NAME                   begins a host
///   dpu=NAME@NODE               a DPU and its NUMA node
///   cores=NODE,NODE,...         the NUMA nodes of its cores, in the order in which ranks use them
///   distances=10,21,21,10       between NUMA nodes, row by row; optional
/// or one word hosts=N for N generic hosts. Comments in the file list the DPU of each local rank, with its
/// distance.
/// A configuration file, or why there is none.
struct Described {
  std::string text;
  std::string error;  // not empty: the reason of a failure
};
Described describe_hosts(const PlatformSpec& spec, std::span<const std::string> words);

}  // namespace offramp::dpu
