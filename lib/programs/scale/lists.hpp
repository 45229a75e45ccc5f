// The lists of calls (sizes of blocks, requests of a wait) as functions of the place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/programs/scale/expression.hpp"

namespace offramp::scale {

/// A list as a function of its place.
struct ListRule {
  /// Tried in this order.
  enum class Form : std::uint8_t {
    kElements,    // one expression per element
    kByNumber,    // one expression for all; place.own is the element's index
    kDescending,  // from the length down to 1
  };
  Form kind = Form::kElements;
  std::vector<Expression> elements;  // kByNumber: one
  Expression length;                 // for the other kinds

  /// Returns false if an element is undefined, or negative without having been recorded so.
  [[nodiscard]] bool values(const EvaluationPoint& place, std::vector<std::uint64_t>& values) const;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const ListRule&, const ListRule&) = default;
};

/// A list that was recorded, and where. values: refers to the pool.
struct ListSample {
  EvaluationPoint place;
  const std::vector<std::uint64_t>* values = nullptr;
};
/// grid: dimensions of the grid if the list has ranks and bytes in turn (blocks of neighbours), else 0.
std::optional<ListRule> fit_list(std::span<const ListSample> samples, int grid = 0);
/// One number of the list at each place. All lists have that many numbers.
std::vector<Sample> element_samples(std::span<const ListSample> samples, std::size_t number);

}  // namespace offramp::scale
