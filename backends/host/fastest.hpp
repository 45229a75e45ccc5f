// Finds the fastest algorithm of a collective by trying each one: for `best` in a world of its own, on the
// ranks of the call, and for advice in a forecast.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "backends/host/collectives.hpp"

namespace offramp::host {

/// The result of a search.
struct FastestAlgorithm {
  std::string_view name;    // empty: none is faster than the usual one by the margin
  std::size_t segment = 0;  // bytes; 0: that of the settings
  Time usual;
  Time time;
};
/// The time by an algorithm (empty: the usual one) with segments of so many bytes (0: those of the settings).
/// A trial may stop at `least`. `nullopt`: no result.
using AlgorithmTrial =
    std::function<std::optional<Time>(std::string_view algorithm, std::size_t segment, Time least)>;
/// Tries the common algorithms of the catalogue; trees and pipelines of long messages also with segments. An
/// algorithm has to be faster than the usual one by `margin`. `nullopt` without a time of the usual one.
std::optional<FastestAlgorithm> find_fastest(OperationKind kind, std::size_t bytes, double margin,
                                             const AlgorithmTrial& time_of);

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
  [[nodiscard]] Settings settings_by(OperationKind kind, std::string_view algorithm,
                                     std::size_t segment) const;
  [[nodiscard]] const Collectives& by(OperationKind kind, std::string_view algorithm,
                                      std::size_t segment = 0);

  Settings settings_;  // without any "best"
  LocalCosts costs_;
  MachineLayout machine_;
  std::map<Case, const Collectives*> known_;
  std::map<std::tuple<OperationKind, std::string_view, std::size_t>, std::unique_ptr<Collectives>> made_;
};

}  // namespace offramp::host
