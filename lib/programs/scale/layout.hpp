// How a program may have laid its ranks out: on a line, or on a grid of two or three dimensions whose sides
// follow from the number of ranks alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace offramp::scale {

inline constexpr int kMostDimensions = 3;
using Sides = std::array<std::int64_t, kMostDimensions>;

/// Ranks lie in row-major order, the last dimension varying fastest, as MPI_Cart_create has them; a grid in
/// column-major order is one with its sides in the other order.
struct Layout {
  enum class Rule : std::uint8_t {
    kDescending,  // as equal as they can be, the largest first: what MPI_Dims_create of Open MPI returns
    kAscending,   // the same, the smallest first
    kFixedFirst,  // the first side is the same for every number of ranks
    kFixedLast    // the last one is
  };
  int dimensions = 1;
  Rule rule = Rule::kDescending;
  std::int64_t fixed = 0;  // of kFixedFirst and kFixedLast

  /// Unused dimensions have a side of 1. Nothing: so many ranks fit no such grid.
  [[nodiscard]] std::optional<Sides> sides(std::int64_t ranks) const;
  [[nodiscard]] std::string text() const;
};

Sides coordinates(const Sides& sides, std::int64_t rank);
std::int64_t rank_at(const Sides& sides, const Sides& at);

/// The simplest first. common: what divides the numbers of ranks of all recordings, the largest such number.
std::vector<Layout> layouts(std::int64_t common);

/// What tells ranks apart that run different programs.
struct Feature {
  enum class Kind : std::uint8_t {
    kFirst,        // rank 0, or another
    kBorder,       // of a dimension: the first, an inner or the last place, or the only one
    kParity,       // of the rank
    kCheckerboard  // of the sum of the coordinates
  };
  Kind kind = Kind::kFirst;
  int dimension = 0;
};

/// A rule that gives each rank its role.
struct Roles {
  std::vector<Feature> features;

  /// Two decimal digits for each feature. Equal keys are equal roles, whatever the number of ranks.
  [[nodiscard]] std::uint64_t key(const Sides& sides, std::int64_t rank) const;
  /// "corner", "even interior", "all ranks"
  [[nodiscard]] std::string name(std::uint64_t key) const;
};

/// The simplest first.
std::vector<Roles> role_rules(int dimensions);

}  // namespace offramp::scale
