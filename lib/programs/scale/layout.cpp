// balanced() is MPI_Dims_create of Open MPI: each prime factor, the largest first, goes to the smallest side
// so far. Layouts and rules for roles are ordered by simplicity, because the first that matches all
// recordings is preferred.
#include "lib/programs/scale/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace offramp::scale {
namespace {

// Ascending. Trial division is fast enough for numbers of ranks.
std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> factors;
  for (std::int64_t factor = 2; factor * factor <= number; ++factor) {
    for (; number % factor == 0; number /= factor) factors.push_back(factor);
  }
  if (number > 1) factors.push_back(number);
  return factors;
}

/// Assigns prime factors, largest first, to the smallest side so far.
std::vector<std::int64_t> balanced(std::int64_t ranks, int dimensions) {
  std::vector<std::int64_t> sides(static_cast<std::size_t>(dimensions), 1);
  std::vector<std::int64_t> factors = prime_factors(ranks);
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor)
    *std::min_element(sides.begin(), sides.end()) *= *factor;
  std::sort(sides.begin(), sides.end(), std::greater<>());
  return sides;
}

// kOnly: the side is 1, so the rank is both first and last.
enum Border : std::uint8_t { kOnly, kFirstPlace, kInner, kLastPlace };

Border border(std::int64_t side, std::int64_t at) {
  if (side == 1) return kOnly;
  if (at == 0) return kFirstPlace;
  return at == side - 1 ? kLastPlace : kInner;
}

// Below 100, for Roles::key().
std::uint64_t value_of(const Feature& feature, const Sides& sides, std::int64_t rank) {
  const Sides at = coordinates(sides, rank);
  const auto dimension = static_cast<std::size_t>(feature.dimension);
  switch (feature.kind) {
    case Feature::Property::kFirst:
      return rank == 0 ? 0 : 1;
    case Feature::Property::kBorder:
      return border(sides[dimension], at[dimension]);
    case Feature::Property::kParity:
      return static_cast<std::uint64_t>(rank % 2);
    case Feature::Property::kCheckerboard:
      return static_cast<std::uint64_t>((at[0] + at[1] + at[2]) % 2);
  }
  return 0;
}

}  // namespace

std::optional<Sides> Layout::sides(std::int64_t ranks) const {
  Sides sides = {1, 1, 1};
  if (rule == Rule::kFixedFirst || rule == Rule::kFixedLast) {
    if (ranks % fixed != 0) return std::nullopt;
    sides[rule == Rule::kFixedFirst ? 0 : 1] = fixed;
    sides[rule == Rule::kFixedFirst ? 1 : 0] = ranks / fixed;
    return sides;
  }
  std::vector<std::int64_t> equal = balanced(ranks, dimensions);
  if (rule == Rule::kAscending) std::reverse(equal.begin(), equal.end());
  std::copy(equal.begin(), equal.end(), sides.begin());
  return sides;
}

std::string Layout::text() const {
  if (dimensions == 1) return "a line";
  switch (rule) {
    case Rule::kDescending:
      return fmt::format("the {}-dimensional grid of MPI_Dims_create", dimensions);
    case Rule::kAscending:
      return fmt::format("the {}-dimensional grid of MPI_Dims_create in column-major order", dimensions);
    case Rule::kFixedFirst:
      return fmt::format("a grid with {} rows", fixed);
    case Rule::kFixedLast:
      return fmt::format("a grid with {} columns", fixed);
  }
  return {};
}

Sides coordinates(const Sides& sides, std::int64_t rank) {
  Sides at = {};
  // The last dimension varies fastest.
  for (std::size_t i = kMostDimensions; i-- > 0;) {
    at[i] = rank % sides[i];
    rank /= sides[i];
  }
  return at;
}

std::int64_t rank_at(const Sides& sides, const Sides& at) {
  return (at[0] * sides[1] + at[1]) * sides[2] + at[2];
}

std::vector<Layout> layouts(std::int64_t common) {
  using Rule = Layout::Rule;
  std::vector<Layout> all = {{1, Rule::kDescending},
                             {2, Rule::kDescending},
                             {2, Rule::kAscending},
                             {3, Rule::kDescending},
                             {3, Rule::kAscending}};
  // A fixed side must divide all numbers of ranks that were recorded.
  for (std::int64_t fixed = 2; fixed <= common; ++fixed) {
    if (common % fixed != 0) continue;
    all.push_back({2, Rule::kFixedFirst, fixed});
    all.push_back({2, Rule::kFixedLast, fixed});
  }
  return all;
}

std::uint64_t Roles::key(const Sides& sides, std::int64_t rank) const {
  std::uint64_t key = 0;
  for (const Feature& feature : features) key = key * 100 + value_of(feature, sides, rank);
  return key;
}

std::string Roles::name(std::uint64_t key) const {
  int borders = 0;
  int ends = 0;
  std::string words;
  // The last feature is in the lowest digits.
  for (auto feature = features.rbegin(); feature != features.rend(); ++feature, key /= 100) {
    const std::uint64_t value = key % 100;
    switch (feature->kind) {
      case Feature::Property::kFirst:
        return value == 0 ? "rank 0" : "other ranks";
      case Feature::Property::kBorder:
        ++borders;
        ends += value == kInner ? 0 : 1;
        break;
      case Feature::Property::kParity:
        words = value == 0 ? "even" : "odd";
        break;
      case Feature::Property::kCheckerboard:
        words = value == 0 ? "white" : "black";
        break;
    }
  }
  if (borders == 0) return words.empty() ? "all ranks" : words + " ranks";
  const std::string place = ends == 0         ? "interior"
                            : borders == 1    ? "end"
                            : ends == borders ? "corner"
                                              : "edge";
  return words.empty() ? place : words + " " + place;
}

std::vector<Roles> role_rules(int dimensions) {
  using Property = Feature::Property;
  std::vector<Roles> rules;
  const std::array<std::vector<Feature>, 3> parities = {
      {{}, {{Property::kParity, 0}}, {{Property::kCheckerboard, 0}}}};
  // On a line, the checkerboard is the parity.
  const std::size_t kinds = dimensions > 1 ? parities.size() : 2;
  // Each set of dimensions whose borders matter.
  for (unsigned set = 0; set < 1U << dimensions; ++set) {
    for (std::size_t i = 0; i < kinds; ++i) {
      Roles rule{parities[i]};
      for (int dimension = 0; dimension < dimensions; ++dimension) {
        if ((set >> dimension & 1U) != 0) rule.features.push_back({Property::kBorder, dimension});
      }
      rules.push_back(std::move(rule));
    }
  }
  // A root is independent of the grid, so one rule is enough.
  if (dimensions == 1) rules.push_back({{{Property::kFirst, 0}}});
  // Columns of a grid with two columns are also even and odd, so borders are preferred.
  const auto rank = [](const Roles& rule) {
    const bool has_parity = std::ranges::any_of(rule.features, [](const Feature& feature) {
      return feature.kind == Property::kParity || feature.kind == Property::kCheckerboard;
    });
    return std::pair(has_parity, rule.features.size());
  };
  std::ranges::stable_sort(rules, {}, rank);
  return rules;
}

}  // namespace offramp::scale
