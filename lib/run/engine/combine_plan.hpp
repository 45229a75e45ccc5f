// The order in which one rank combines the contributions to a reduction: that of the backend's algorithm,
// without its messages. A plan is derived once, by running the algorithm of all ranks over symbols. It then
// serves every reduction of the same shape whose contributions are all in reach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

class Reducer;

/// Movable. Used by one operation at a time, since its temporaries belong to it.
class CombinePlan {
 public:
  /// The communicator, as the algorithm sees it (Team).
  struct Members {
    int rank = 0;                // the rank whose result the plan computes
    std::span<const int> world;  // world rank of each member
    std::uint64_t context = 0;
    std::uint64_t setup_context = 0;
  };
  /// Limits of a derivation.
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr int kMostRanks = 32;

  /// operation: a reduction that the backend supports. Returns nullopt if the algorithm fails, or if the
  /// elements are too small for its symbols. All members get the same answer.
  static std::optional<CombinePlan> derive(DataCarrier& backend, const Operation& operation,
                                           const Members& members);

  /// Computes the rank's result, which has the size of the derivation. contributions: by rank, the first byte
  /// of its whole contribution; must not overlap the result. Unused if the rank has no result.
  void run(const std::byte* const* contributions, MutableBytes result, Reducer& reducer) const;

 private:
  /// A rank (its contribution), kTemporary + number, or kResult.
  using Operand = std::int32_t;
  static constexpr Operand kResult = -1;
  static constexpr Operand kTemporary = 1 << 16;
  /// Copies one operand to the target `into`, and combines the other one into it.
  struct Step {
    std::uint32_t begin = 0;  // offset in the result
    std::uint32_t bytes = 0;
    Operand copied = 0;  // equal to `into`: no copy
    Operand in = 0;      // equal to `into`: only the copy
    Operand into = 0;
  };
  friend class PlanCompiler;

  std::vector<Step> steps_;
  std::size_t offset_ = 0;  // of this rank's part in the contributions
  std::size_t room_ = 0;    // bytes of one temporary
  std::unique_ptr<std::byte[]> temporaries_;
};

}  // namespace offramp
