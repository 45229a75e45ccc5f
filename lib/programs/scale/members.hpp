// The members of a communicator as a function of a rank in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/programs/scale/expression.hpp"

namespace offramp::scale {

/// The members of a rank's communicator, without listing them.
struct Group {
  std::int64_t size = 1;
  std::int64_t own = 0;  // the rank in it
  // Unless it is a slice: every step-th rank from the first one on.
  std::int64_t first = 0;
  std::int64_t step = 1;
  // A slice of a grid: the ranks with these coordinates in the other dimensions.
  bool is_slice = false;
  unsigned free = 0;  // bit mask of the dimensions in which they differ
  Sides sides = {1, 1, 1};
  Sides at = {};

  /// The rank in the program of the member with this rank in the group.
  [[nodiscard]] std::int64_t member(std::int64_t number) const;
};

/// A rule for the members. Only the fields of its selection are used.
struct Members {
  /// How the members are chosen among all ranks.
  enum class Selection : std::uint8_t {
    kAll,
    kSelf,
    kSlice,    // rows, columns, planes: the dimensions in `free` differ
    kBlocks,   // blocks of `step` consecutive ranks
    kStrided,  // every step-th rank
    kRange     // from `first` on, without the last ones
  };
  Selection kind = Selection::kAll;
  unsigned free = 0;
  Expression step;
  std::int64_t first = 0;
  std::int64_t without_last = 0;

  /// The group of the rank at this place. `nullopt` if the rule does not apply there.
  [[nodiscard]] std::optional<Group> at(const EvaluationPoint& place) const;
  [[nodiscard]] std::string text() const;
};

/// Members that were recorded, and where. members: ranks of the program, in the pool.
struct MembersSample {
  EvaluationPoint place;
  const std::vector<std::uint64_t>* members = nullptr;
};
/// The simplest rule that gives exactly these members at all places. dimensions: of the grid.
std::optional<Members> fit_members(std::span<const MembersSample> samples, int dimensions);

}  // namespace offramp::scale
