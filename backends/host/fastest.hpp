// The fastest algorithm of a collective: each one is tried in a world of its own, on the ranks of the call.
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

  /// What runs the call by the fastest algorithm: of calls of about this size on these ranks, all of which
  /// begin at once, with nothing else on the links. All ranks of a call get the same.
  ///
  /// Where no rank knows the sizes of all blocks (alltoallv) Open MPI's rules choose.
  [[nodiscard]] const Collectives& of(const Call& call);

 private:
  struct Case {
    OperationKind kind;
    bool nonblocking;
    bool commutative;
    ReduceFunction function;
    int root;
    std::size_t bytes;       // as size_for_rules() has them, rounded down
    std::size_t element;     // bytes
    std::vector<int> ranks;  // of the world, from a node's first one on
    [[nodiscard]] auto values() const {
      return std::tie(kind, nonblocking, commutative, function, root, bytes, element, ranks);
    }
    friend bool operator<(const Case& a, const Case& b) { return a.values() < b.values(); }
  };
  [[nodiscard]] Case case_of(const Call& call) const;
  [[nodiscard]] const Collectives& fastest(const Case& of);
  /// least: no trial goes on from then on, and takes that.
  [[nodiscard]] Time time_of(const Case& of, const Settings& settings, Time least) const;
  [[nodiscard]] Settings settings_by(OperationKind kind, std::string_view algorithm) const;
  [[nodiscard]] const Collectives& by(OperationKind kind, std::string_view algorithm);

  Settings settings_;  // in which nothing is the fastest
  LocalCosts costs_;
  MachineLayout machine_;
  std::map<Case, const Collectives*> known_;
  std::map<std::pair<OperationKind, std::string_view>, std::unique_ptr<Collectives>> made_;
};

}  // namespace offramp::host
