// Finds the fastest algorithm of a collective by simulating each one in its own world, on the ranks of the
// call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/host/collectives.hpp"

namespace offramp::host {

class Fastest {
 public:
  Fastest(Settings settings, const LocalCosts& costs, const MachineLayout& machine);

  /// Returns the runner of the fastest algorithm for calls of about this size on these ranks. The trials
  /// assume that all ranks begin at once and that the links are idle. All ranks of a call get the same
  /// result.
  ///
  /// Open MPI's rules select for alltoallv, since no rank knows the sizes of all blocks.
  [[nodiscard]] const Collectives& choose(const AlgorithmCall& call);

 private:
  struct Case {
    OperationKind kind;
    bool nonblocking;
    bool commutative;
    ReduceFunction function;
    int root;
    std::size_t bytes;       // as from size_for_rules(), rounded down
    std::size_t element;     // bytes
    std::vector<int> ranks;  // in the world, relative to the first rank of the first node
    [[nodiscard]] auto values() const {
      return std::tie(kind, nonblocking, commutative, function, root, bytes, element, ranks);
    }
    friend bool operator<(const Case& a, const Case& b) { return a.values() < b.values(); }
  };
  [[nodiscard]] Case case_of(const AlgorithmCall& call) const;
  [[nodiscard]] const Collectives& fastest(const Case& of);
  /// Stops a trial at the time `least` and returns that.
  [[nodiscard]] Time time_of(const Case& of, const Settings& settings, Time least) const;
  [[nodiscard]] Settings settings_by(OperationKind kind, std::string_view algorithm) const;
  [[nodiscard]] const Collectives& by(OperationKind kind, std::string_view algorithm);

  Settings settings_;  // without any "best"
  LocalCosts costs_;
  MachineLayout machine_;
  std::map<Case, const Collectives*> known_;
  std::map<std::pair<OperationKind, std::string_view>, std::unique_ptr<Collectives>> made_;
};

}  // namespace offramp::host
