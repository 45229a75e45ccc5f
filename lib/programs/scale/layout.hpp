// How a program may arrange ranks: on a line, or on a 2D or 3D grid whose sides only depend on their number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace offramp::scale {

inline constexpr int kMostDimensions = 3;
using Sides = std::array<std::int64_t, kMostDimensions>;

/// Ranks are in row-major order, the last dimension fastest, as in MPI_Cart_create. A column-major grid is
/// described by its sides in reverse order.
struct Layout {
  /// How the sides follow from the number of ranks.
  enum class Rule : std::uint8_t {
    kDescending,  // as equal as possible, the largest first, as from MPI_Dims_create of Open MPI
    kAscending,   // as equal as possible, the smallest first
    kFixedFirst,  // the first side is constant
    kFixedLast    // the last side is constant
  };
  int dimensions = 1;
  Rule rule = Rule::kDescending;
  std::int64_t fixed = 0;  // for kFixedFirst and kFixedLast

  /// Unused dimensions have side 1. `nullopt` if this number of ranks does not fit.
  [[nodiscard]] std::optional<Sides> sides(std::int64_t ranks) const;
  /// In words, for reports.
  [[nodiscard]] std::string text() const;
};

/// The place of a rank on the grid.
Sides coordinates(const Sides& sides, std::int64_t rank);
/// The inverse of coordinates().
std::int64_t rank_at(const Sides& sides, const Sides& at);

/// All layouts, the simplest first. common: the greatest common divisor of the recordings' numbers of ranks.
std::vector<Layout> layouts(std::int64_t common);

/// A property that distinguishes ranks with different programs.
struct Feature {
  /// Each has few values, so that roles stay few.
  enum class Property : std::uint8_t {
    kFirst,        // rank 0 or not
    kBorder,       // place in a dimension: first, inner, last, or only one
    kParity,       // of the rank
    kCheckerboard  // parity of the sum of the coordinates
  };
  Property kind = Property::kFirst;
  int dimension = 0;
};

/// Assigns a role to each rank.
/// Ranks with equal features have the same role. Without features, all ranks do.
struct Roles {
  std::vector<Feature> features;

  /// Two decimal digits per feature. Equal keys mean equal roles at any number of ranks.
  [[nodiscard]] std::uint64_t key(const Sides& sides, std::int64_t rank) const;
  /// "corner", "even interior", "all ranks"
  [[nodiscard]] std::string name(std::uint64_t key) const;
};

/// All rules, the simplest first.
std::vector<Roles> role_rules(int dimensions);

}  // namespace offramp::scale
