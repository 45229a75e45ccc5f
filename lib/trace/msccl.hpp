// Algorithms of collectives as MSCCL has them in XML: what each thread block of each GPU sends, receives and
// waits for. As a program, the name is that of the file, and behind a colon the size of the buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/trace/program.hpp"
#include "simulators/network/xml_tree.hpp"

namespace offramp::trace {

struct Plan {
  std::string file;
  XmlElement root;
  std::vector<const XmlElement*> gpus;  // by id
  std::uint64_t chunks = 1;             // of the whole buffer
  std::string collective;               // "allreduce"
  /// How many sends of a thread block MSCCL's connections hold before the receiver takes the first one.
  std::uint64_t slots = 2;
};

/// An error names file and line, and the steps that would wait for each other for ever.
Result<Plan> read_plan(const std::string& path);

/// What a GPU does for a buffer of so many bytes.
Result<Graph> plan_graph(const Plan& plan, int gpu, std::uint64_t bytes);

}  // namespace offramp::trace
