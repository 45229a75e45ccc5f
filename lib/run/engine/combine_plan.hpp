// In which order one rank combines the contributions to a reduction: the order of the backend's algorithm,
// without its messages. Derived once by running that algorithm for all ranks over symbols, then used for
// every reduction of the same shape whose contributions are all in reach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

class Reducer;

class CombinePlan {
 public:
  /// The communicator, as the algorithm sees it (Team).
  struct Members {
    int rank = 0;                // whose result it is
    std::span<const int> world;  // world rank of each member
    std::uint64_t context = 0;
    std::uint64_t setup_context = 0;
  };
  /// The largest contribution that a plan is derived for, and the most ranks.
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr int kMostRanks = 32;

  /// operation: a reduction that the backend supports. Returns nullopt if the algorithm fails, or if the
  /// elements are too small to hold its symbols: alike on all members.
  static std::optional<CombinePlan> derive(DataCarrier& backend, const Operation& operation,
                                           const Members& members);

  /// Combines into the rank's result, whose size is that of the derivation. contributions: the first byte of
  /// each rank's whole contribution; none of them overlaps the result. A rank without a result needs none.
  void run(const std::byte* const* contributions, MutableBytes result, Reducer& reducer) const;

 private:
  /// Where an operand is: the contribution of a rank, a temporary (kTemporary and its number), or the result.
  using Operand = std::int32_t;
  static constexpr Operand kResult = -1;
  static constexpr Operand kTemporary = 1 << 16;
  /// Copies one operand to where the result of the step goes, and combines the other one into it.
  struct Step {
    std::uint32_t begin = 0;  // of a range of the result
    std::uint32_t bytes = 0;
    Operand copied = 0;  // equal to `into`: it is there already
    Operand in = 0;      // equal to `into`: the step only copies
    Operand into = 0;
  };
  friend class PlanCompiler;

  std::vector<Step> steps_;
  std::size_t offset_ = 0;  // of the result in the contributions
  std::size_t room_ = 0;    // of one temporary
  std::unique_ptr<std::byte[]> temporaries_;
};

}  // namespace offramp
