// The machine on which the ranks of a program run: which ranks share nodes, sockets, cards, and links.
//
// All backends use one description, so that every side of a comparison has the same nodes. A card connects a
// node with the others: a NIC, an FPGA, a DPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// The switches between the nodes, for hardware inside them. A link is one direction of a cable between two
/// switches. Switches and links are numbered by the network, from 0; nodes by the program.
class SwitchMap {
 public:
  /// The switches at both ends of a link, in its direction.
  struct Ends {
    int from = 0;  // switches
    int to = 0;
  };
  virtual ~SwitchMap() = default;
  /// 0 if the network does not describe its switches.
  [[nodiscard]] virtual int switches() const = 0;
  /// The switch to which a node is connected.
  [[nodiscard]] virtual int switch_of(int node) const = 0;
  /// Links between switches only: those to the nodes are not counted.
  [[nodiscard]] virtual std::size_t links() const = 0;
  [[nodiscard]] virtual Ends ends(std::size_t link) const = 0;
};

/// Block distribution of world ranks over nodes, and of a node's ranks over its sockets. A node's ranks use
/// its cards round-robin, and the ranks of a card use its links round-robin. Sockets, cards, and links are
/// numbered through the whole machine, node by node. All counts are at least 1.
struct MachineLayout {
  int ranks_per_node = 1;
  int sockets_per_node = 1;
  int cards_per_node = 1;
  int links_per_card = 1;
  std::shared_ptr<const SwitchMap> switches = {};  // nullptr: one switch connects all nodes

  /// The node of a world rank, and its number among the ranks of that node.
  [[nodiscard]] int node(int rank) const { return rank / ranks_per_node; }
  [[nodiscard]] int local_rank(int rank) const { return rank % ranks_per_node; }
  /// The number of nodes that this many ranks (at least 1) occupy; the last node may be filled in part.
  [[nodiscard]] int nodes(int ranks) const { return (ranks - 1) / ranks_per_node + 1; }
  /// A node's ranks fill its sockets one after the other, in equal parts.
  [[nodiscard]] int socket(int rank) const {
    const auto local = static_cast<std::int64_t>(local_rank(rank));
    return node(rank) * sockets_per_node + static_cast<int>(local * sockets_per_node / ranks_per_node);
  }
  /// The card and the link that a rank uses, counted through the machine.
  [[nodiscard]] int card(int rank) const {
    return node(rank) * cards_per_node + local_rank(rank) % cards_per_node;
  }
  [[nodiscard]] int link(int rank) const {
    return card(rank) * links_per_card + local_rank(rank) / cards_per_node % links_per_card;
  }

  [[nodiscard]] bool on_one_node(int rank, int other) const { return node(rank) == node(other); }
  /// True for two different ranks of one node, whose messages stay within it.
  [[nodiscard]] bool is_within_node(int rank, int other) const {
    return ranks_per_node > 1 && rank != other && on_one_node(rank, other);
  }
  /// The maximum number of ranks that share a card.
  [[nodiscard]] int ranks_per_card() const { return (ranks_per_node - 1) / cards_per_node + 1; }
  [[nodiscard]] int links_per_node() const { return cards_per_node * links_per_card; }
};

/// The smallest and largest value within a class of machines, for a parameter that has the value of the
/// class.
struct ParameterBand {
  std::string_view parameter;
  double least = 0;
  double most = 0;
};

/// The part of the machine that the hardware uses.
struct Deployment {
  std::string text;                       // a noun phrase: "4 nodes of 16 ranks, 1 NIC each, of 100 Gb/s"
  std::int64_t node_bits_per_second = 0;  // out of a node, over all its cards; 0: independent of nodes
  std::vector<ParameterBand> bands = {};  // they vary together; empty: no parameter is that of a class
};

}  // namespace offramp
