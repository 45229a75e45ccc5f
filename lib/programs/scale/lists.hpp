// The lists of calls, blocks of different sizes and the requests of a wait, as functions of the place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/programs/scale/expression.hpp"

namespace offramp::scale {

struct ListRule {
  enum class Kind : std::uint8_t {
    kElements,    // each has an expression of its own
    kByNumber,    // one expression for all, where the number of the element is the place's own rank
    kDescending,  // from the length down to 1
  };
  Kind kind = Kind::kElements;
  std::vector<Expression> elements;  // kByNumber: one
  Expression length;                 // of the other kinds

  /// False: it has no value there, or one that is negative and was not recorded as such.
  [[nodiscard]] bool values(const Place& place, std::vector<std::uint64_t>& values) const;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const ListRule&, const ListRule&) = default;
};

struct ListSample {
  Place place;
  const std::vector<std::uint64_t>* values = nullptr;
};
std::optional<ListRule> fit_list(std::span<const ListSample> samples);

}  // namespace offramp::scale
