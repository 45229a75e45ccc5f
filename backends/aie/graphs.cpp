// A load writes the programs of all ranks' kernels, over one interface (parameter `configuration`), and each
// rank is charged with the whole time. Graphs are kept per rank, since ranks of different groups begin
// different operations. An operation like the rank's previous one of its kind needs one comparison.
#include "backends/aie/graphs.hpp"

namespace offramp::aie {

Time Graphs::load(int rank, const Operation& operation, const ArrayRequirements& required) {
  const auto index = static_cast<std::size_t>(rank);
  if (held_.size() <= index) held_.resize(index + 1);
  Held& held = held_[index];
  const int root = has_root(operation.kind) ? operation.root : 0;
  const Graph graph{operation.ranks,   root, required.tree, required.down, required.multicast,
                    required.butterfly};
  Graph& last = held.last[static_cast<std::size_t>(operation.kind)];
  if (last == graph) return {};
  last = graph;
  if (!held.all.emplace(operation.kind, graph).second) return {};
  // The first graph of its kind comes with the program.
  if (held.begun.emplace(operation.kind, operation.ranks).second) return {};
  return setup_.configuration.bytes(std::int64_t{setup_.array.program_bytes} * operation.ranks);
}

}  // namespace offramp::aie
