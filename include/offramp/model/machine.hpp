// The machine that the ranks of a program are on: which of them share a node, and what of it.
//
// One description for all backends, so that every side of a comparison stands on the same nodes. A card is
// what connects a node with the others: a NIC, an FPGA, a DPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// The switches between the nodes, for hardware that works in them. A link is one direction of a cable
/// between two switches. Switches and links have the network's numbers, from 0 on; nodes are the program's.
class SwitchMap {
 public:
  struct Ends {
    int from = 0;  // switches
    int to = 0;
  };
  virtual ~SwitchMap() = default;
  /// 0: the network does not describe its switches.
  [[nodiscard]] virtual int switches() const = 0;
  [[nodiscard]] virtual int switch_of(int node) const = 0;
  [[nodiscard]] virtual std::size_t links() const = 0;
  [[nodiscard]] virtual Ends ends(std::size_t link) const = 0;
};

/// World ranks lie block by block on the nodes, and those of a node block by block on its sockets. Its cards
/// are dealt to them one by one, and each card's links to the ranks of the card. Numbers count through the
/// whole machine, node by node. All counts are at least 1.
struct MachineLayout {
  int ranks_per_node = 1;
  int sockets_per_node = 1;
  int cards_per_node = 1;
  int links_per_card = 1;
  std::shared_ptr<const SwitchMap> switches = {};  // null: one switch connects all nodes

  [[nodiscard]] int node(int rank) const { return rank / ranks_per_node; }
  [[nodiscard]] int local_rank(int rank) const { return rank % ranks_per_node; }
  [[nodiscard]] int nodes(int ranks) const { return (ranks - 1) / ranks_per_node + 1; }
  [[nodiscard]] int socket(int rank) const {
    const auto local = static_cast<std::int64_t>(local_rank(rank));
    return node(rank) * sockets_per_node + static_cast<int>(local * sockets_per_node / ranks_per_node);
  }
  [[nodiscard]] int card(int rank) const {
    return node(rank) * cards_per_node + local_rank(rank) % cards_per_node;
  }
  [[nodiscard]] int link(int rank) const {
    return card(rank) * links_per_card + local_rank(rank) / cards_per_node % links_per_card;
  }

  [[nodiscard]] bool on_one_node(int rank, int other) const { return node(rank) == node(other); }
  /// A message between them stays within a node, and is not one of a rank to itself.
  [[nodiscard]] bool is_within_node(int rank, int other) const {
    return ranks_per_node > 1 && rank != other && on_one_node(rank, other);
  }
  /// The most ranks that share a card, and a link.
  [[nodiscard]] int ranks_per_card() const { return (ranks_per_node - 1) / cards_per_node + 1; }
  [[nodiscard]] int links_per_node() const { return cards_per_node * links_per_card; }
};

/// What machines of a class have at least and at most of a parameter whose value is that of the class.
struct ParameterBand {
  std::string_view parameter;
  double least = 0;
  double most = 0;
};

/// What hardware stands on in the machine.
struct Footing {
  std::string text;                       // a noun phrase: "4 nodes of 16 ranks, 1 NIC each, of 100 Gb/s"
  std::int64_t node_bits_per_second = 0;  // out of a node, over all its cards; 0: it does not stand on nodes
  std::vector<ParameterBand> bands = {};  // they vary together; empty: nothing is the value of a class
};

}  // namespace offramp
