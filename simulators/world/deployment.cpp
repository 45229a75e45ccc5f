// The rate of a node is that of all its links together. The text has the number of ranks per node that are
// there, which is lower than configured for a small program.
#include "simulators/world/deployment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace offramp {

std::string gigabits_text(std::int64_t bits_per_second) {
  return fmt::format("{:g} Gb/s", static_cast<double>(bits_per_second) / 1e9);
}

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Deployment deployment_on_nodes(const MachineLayout& machine, int ranks, std::string_view card, Bandwidth link,
                               int links) {
  const int nodes = machine.nodes(ranks);
  const std::string rate = gigabits_text(link.count());
  return {fmt::format("{} of {}, {}{} of {}", counted(nodes, "node"),
                      counted(std::min(machine.ranks_per_node, ranks), "rank"),
                      nodes == 1 ? "with " : "each with ", counted(machine.cards_per_node, card),
                      links == 1 ? rate : fmt::format("{} of {}", counted(links, "link"), rate)),
          link.count() * machine.cards_per_node * links};
}

}  // namespace offramp
