// Graphs in the array: what the tool chain fixes when it compiles one, and what loading another one takes.
#pragma once

#include <array>
#include <set>
#include <tuple>
#include <vector>

#include "backends/aie/planner.hpp"

namespace offramp::aie {

/// Root, windows, arity and local data are compiled into a graph. The first graph of a kind of operation and
/// a number of ranks is what the program was compiled with; another one is loaded once, and stays.
class Graphs {
 public:
  explicit Graphs(const Setup& setup) : setup_(setup) {}

  /// What a rank waits for the graph of an operation that it begins: nothing where the array has it.
  Time load(int rank, const Operation& operation, const Need& need);

 private:
  struct Graph {
    int ranks = 0;
    int root = 0;
    const TreePlan* tree = nullptr;
    const TreePlan* down = nullptr;
    const Plan* multicast = nullptr;
    const Plan* butterfly = nullptr;
    friend auto operator<=>(const Graph&, const Graph&) = default;
  };
  struct Held {
    std::array<Graph, static_cast<std::size_t>(OperationKind::kCount)> last;
    std::set<std::tuple<OperationKind, Graph>> all;
    std::set<std::tuple<OperationKind, int>> begun;  // kinds and numbers of ranks
  };

  const Setup& setup_;
  std::vector<Held> held_;  // by rank
};

}  // namespace offramp::aie
