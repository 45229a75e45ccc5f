// `sizes` prints the ranges between the limits of low-latency operations and streams, which depend on the
// preset. `tree` is built from the platform file's switches with all nodes as members; communicators of fewer
// nodes have other trees.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "backends/sharp/parameters.hpp"
#include "backends/sharp/sharp.hpp"
#include "simulators/sharp/tree.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp::sharp {
namespace {

/// The path of each range of sizes.
Explanation explain_sizes(const ExplainRequest& request) {
  const Driver driver = driver_of(request.settings);
  const Spec& spec = driver.spec;
  std::string text =
      fmt::format("up to {} B: low latency, in packets of {} B, {} per communicator in flight\n",
                  driver.low_latency_limit, spec.payload, spec.outstanding);
  if (driver.stream_from == 0) return {text + "above: the host's algorithm\n", {}};
  if (driver.stream_from > driver.low_latency_limit + 1)
    text += fmt::format("up to {} B: the host's algorithm\n", driver.stream_from - 1);
  text +=
      fmt::format("from {} B: a stream, one per switch at a time, at {} of a link of {}\n",
                  driver.stream_from, gigabits_text(spec.stream.count()), gigabits_text(spec.link.count()));
  return {text + "reduce_scatter and allgather: all blocks together have to be long enough for a stream\n",
          {}};
}

/// The tree of all ranks.
Explanation explain_tree(const ExplainRequest& request) {
  Fabric fabric(request.machine.switches);
  if (!fabric.is_known()) return {{}, "the platform file does not describe switches"};
  std::vector<int> nodes(
      static_cast<std::size_t>(request.machine.nodes(std::max(request.operation.ranks, 1))));
  std::iota(nodes.begin(), nodes.end(), 0);
  const Tree tree = fabric.tree_of(nodes, driver_of(request.settings).spec.trees);
  const auto counted_nodes = counted(static_cast<int>(nodes.size()), "node");
  std::string text =
      fmt::format("{} below {} of the network, {} deep\n", counted_nodes,
                  tree.switches.size() == 1 ? "1 switch" : fmt::format("{} switches", tree.switches.size()),
                  counted(tree.levels(), "level"));
  // Switches to print.
  constexpr std::size_t kMost = 32;
  for (std::size_t i = 0; i < std::min(tree.switches.size(), kMost); ++i) {
    const Tree::Switch& one = tree.switches[i];
    const auto members = std::count_if(one.inputs.begin(), one.inputs.end(),
                                       [](const Tree::Input& input) { return input.is_member; });
    const auto below = static_cast<std::ptrdiff_t>(one.inputs.size()) - members;
    text += fmt::format("switch {}: {} nodes, {} switches below; ", one.number, members, below);
    text += one.parent < 0
                ? "the root\n"
                : fmt::format("to switch {}\n", tree.switches[static_cast<std::size_t>(one.parent)].number);
  }
  if (tree.switches.size() > kMost)
    text += fmt::format("and {} switches more\n", tree.switches.size() - kMost);
  return {text, {}};
}

constexpr ExplainTopic kTopics[] = {
    {"sizes", "which sizes are low-latency operations, streams, or the host's", explain_sizes},
    {"tree", "the aggregation tree of N ranks over the network", explain_tree}};

}  // namespace

std::span<const ExplainTopic> topics() {
  return kTopics;
}

}  // namespace offramp::sharp
