// Graphs of the array: the properties that the tool chain compiles in, and the time to load another graph.
#pragma once

#include <array>
#include <set>
#include <tuple>
#include <vector>

#include "backends/aie/planner.hpp"

namespace offramp::aie {

/// Root, windows, arity, and local data are compiled into a graph. The program includes the first graph of
/// each kind of operation and number of ranks. Any other graph is loaded once and remains available.
class Graphs {
 public:
  /// setup: must outlive this object.
  explicit Graphs(const Setup& setup) : setup_(setup) {}

  /// The time to load the graph of an operation that a rank begins; 0 if the array has it.
  Time load(int rank, const Operation& operation, const ArrayRequirements& required);

 private:
  /// What is compiled into a graph. Plans live as long as the planner, so their addresses identify them.
  struct Graph {
    int ranks = 0;
    int root = 0;
    const TreePlan* tree = nullptr;
    const TreePlan* down = nullptr;
    const Plan* multicast = nullptr;
    const Plan* butterfly = nullptr;
    friend auto operator<=>(const Graph&, const Graph&) = default;
  };
  /// The graphs that one rank's array has.
  struct Held {
    /// By kind, the graph of the rank's last operation.
    std::array<Graph, static_cast<std::size_t>(OperationKind::kCount)> last;
    std::set<std::tuple<OperationKind, Graph>> all;
    std::set<std::tuple<OperationKind, int>> begun;  // kinds and numbers of ranks
  };

  const Setup& setup_;
  std::vector<Held> held_;  // by rank
};

}  // namespace offramp::aie
