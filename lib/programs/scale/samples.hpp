// The data of a role: the calls and loops that its ranks have in common, and the values of each number by
// rank, number of ranks, and turn.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/programs/scale/expression.hpp"
#include "lib/programs/scale/folding.hpp"
#include "lib/programs/scale/lists.hpp"
#include "lib/programs/scale/matching.hpp"
#include "lib/programs/scale/members.hpp"

namespace offramp::scale {

/// A recorded rank.
struct RankOf {
  const FoldedRank* folded = nullptr;
  EvaluationPoint place;  // on the communicator of all ranks
};

/// The values of one number of a call, at all ranks of the role.
struct FieldSamples {
  std::vector<Sample> values;  // of lists, their numbers in the pool
  int loop = -1;               // depth of the loop on whose turn they depend
};
using CallFields = std::array<FieldSamples, kProgramFields>;

/// A call that all ranks of the role make.
struct CallSamples {
  std::uint32_t symbol = 0;
  std::vector<std::size_t> loops;                      // surrounding loops, outermost first
  std::vector<std::pair<int, std::int64_t>> unrolled;  // as in Step
  /// One if nothing is unrolled.
  std::vector<CallFields> variants;
  std::uint64_t events = 0;  // of all ranks
  std::string problem;       // why its values cannot be separated; empty if they can
};

/// A loop that all ranks of the role have, perhaps without turns.
struct LoopSamples {
  std::vector<Sample> turns;      // of ranks that reach the loop
  std::size_t around = SIZE_MAX;  // the surrounding loop; SIZE_MAX: none
  bool is_unrolled = false;
};

/// The ranks of a role. calls and loops are in program order.
struct RoleSamples {
  std::vector<RankOf> ranks;
  const FoldedRank* shape = nullptr;  // of the largest number of ranks
  std::vector<Matched> matched;       // one per rank
  std::vector<CallSamples> calls;
  std::vector<LoopSamples> loops;
  const FoldedRank* other = nullptr;  // a rank that does not match the shape; null if all do

  /// The calls of all its ranks.
  [[nodiscard]] std::uint64_t events() const;
};

/// Fills in everything but `ranks`, which must be set. dimensions: of the grid.
void collect(RoleSamples& role, const Pool& pool, int dimensions);

/// True if Event::peer is a rank of the communicator, or the root of a collective.
bool names_rank(const recording::Event& event);
/// The lists whose numbers the samples have. They refer to the pool.
std::vector<ListSample> lists_of(const FieldSamples& samples, const Pool& pool);
/// As lists_of(), for the members of communicators.
std::vector<MembersSample> members_of(const FieldSamples& samples, const Pool& pool);
/// Returns true if a rule matches a number of a call.
bool has_rule(const recording::Event& event, Field field, const FieldSamples& samples, const Pool& pool,
              int dimensions);

}  // namespace offramp::scale
