// The operations of one rank as a graph: each begins when certain others have ended or begun.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/programs/recording/reader.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// Operations of one rank with their dependencies. Nodes may be in any order; indices are positions in
/// `nodes`.
struct Graph {
  /// The values are those of the binary form of GOAL.
  enum class NodeKind : std::uint8_t { kSend = 1, kReceive = 2, kCompute = 3, kCollective = 4 };
  /// Dependants are in Graph::dependants, so that a node has a fixed and small size: graphs have millions.
  struct Node {
    NodeKind kind = NodeKind::kCompute;
    std::uint8_t cpu = 0;
    std::uint8_t nic = 0;
    std::int32_t peer = 0;     // of a message; a receive may name any
    std::int32_t tag = 0;      // of a message; a receive may name any; of a collective, see in_order()
    std::uint32_t waits = 0;   // number of dependencies
    std::uint64_t size = 0;    // bytes, nanoseconds, or the index of a collective
    std::uint32_t first = 0;   // index of its first dependant; they end where those of the next node begin
    std::uint32_t at_end = 0;  // number of dependants on its end, listed before those on its beginning
  };
  static_assert(sizeof(Node) == 32);
  /// Communicators that the rank makes at the start, numbered from recording::kFirstMade on.
  struct Communicator {
    std::vector<std::uint64_t> members;
    std::uint64_t id = 0;  // see recording::Event::extra
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> dependants;
  std::vector<recording::Event> collectives;  // without lists
  std::vector<Communicator> communicators;

  /// The numbers of a node's dependants.
  [[nodiscard]] std::span<const std::uint32_t> dependants_of(std::uint32_t node) const {
    const std::size_t end = node + 1 < nodes.size() ? nodes[node + 1].first : dependants.size();
    return std::span(dependants).subspan(nodes[node].first, end - nodes[node].first);
  }
  [[nodiscard]] std::span<const std::uint32_t> at_end(std::uint32_t node) const {
    return std::span(dependants).subspan(nodes[node].first, nodes[node].at_end);
  }
  [[nodiscard]] std::span<const std::uint32_t> at_begin(std::uint32_t node) const {
    return dependants_of(node).subspan(nodes[node].at_end);
  }
};

/// Builds a graph from operations and dependencies, in any order.
class GraphBuilder {
 public:
  /// Returns the node's number.
  std::uint32_t add(const Graph::Node& node) {
    graph_.nodes.push_back(node);
    return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  }
  /// `node` waits until `before` has ended, or with `begun`, until it has begun.
  void depend(std::uint32_t node, std::uint32_t before, bool begun = false) {
    edges_.push_back({before, node, begun});
  }
  /// Returns the node's number.
  std::uint32_t add(const recording::Event& collective, std::int32_t tag = 0) {
    graph_.collectives.push_back(collective);
    return add(
        Graph::Node{.kind = Graph::NodeKind::kCollective, .tag = tag, .size = graph_.collectives.size() - 1});
  }
  /// Returns the number for its collectives.
  std::uint32_t add(Graph::Communicator communicator) {
    graph_.communicators.push_back(std::move(communicator));
    return static_cast<std::uint32_t>(recording::kFirstMade + graph_.communicators.size() - 1);
  }
  /// Returns the graph and resets the builder.
  Graph build();
  /// Returns a graph whose other dependencies are replaced by those of the builder, and resets the builder.
  Graph build(Graph graph);

 private:
  /// A dependency. begun: on the beginning of the earlier node instead of its end.
  struct Edge {
    std::uint32_t before;
    std::uint32_t node;
    bool begun;
  };
  Graph graph_;
  std::vector<Edge> edges_;
};

/// Makes collectives of one communicator begin one after the other, on all ranks alike: in the order of their
/// tags and numbers, unless one depends on a later one.
Graph in_order(Graph graph);

/// A node on a cycle of dependencies, or depending on one. The number of nodes if there is none.
std::size_t node_on_circle(const Graph& graph);

/// Executes a graph. Ready operations begin: sends, then receives, collectives, and computing. If none is
/// ready, the rank waits for the first of its open operations. It computes one thing at a time, on any cpu.
std::unique_ptr<recording::Reader> run_graph(Graph graph);
/// For a rank whose graph could not be read.
std::unique_ptr<recording::Reader> no_graph(std::string problem);

}  // namespace offramp::trace
