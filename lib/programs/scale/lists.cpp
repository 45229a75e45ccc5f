// Rules for a list are tried in this order: constants, an expression for each element (up to kMostElements),
// a descending sequence, one expression of the element's index. Lists of neighbours have ranks at even and
// bytes at odd positions.
#include "lib/programs/scale/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace offramp::scale {
namespace {

using ListSamples = std::span<const ListSample>;
using FoundList = std::optional<ListRule>;

// Longer lists follow a single rule, or none.
constexpr std::size_t kMostElements = 64;
// More samples add no information.
constexpr std::size_t kMostSamples = std::size_t{1} << 18U;

FoundList fit_elements(ListSamples samples, int grid) {
  const std::size_t length = samples.front().values->size();
  const auto other_length = [&](const ListSample& sample) { return sample.values->size() != length; };
  if (std::any_of(samples.begin(), samples.end(), other_length)) return std::nullopt;
  const auto differs = [&](const ListSample& sample) { return *sample.values != *samples.front().values; };
  ListRule made;
  // Lists of neighbours name ranks, which are fitted even if they are equal.
  if (grid == 0 && std::none_of(samples.begin(), samples.end(), differs)) {
    for (const std::uint64_t value : *samples.front().values)
      made.elements.push_back(constant(static_cast<std::int64_t>(value)));
    return made;
  }
  if (length > kMostElements) return std::nullopt;
  for (std::size_t i = 0; i < length; ++i) {
    const std::vector<Sample> values = element_samples(samples, i);
    const bool is_rank = grid > 0 && i % 2 == 0;
    const auto element = is_rank ? fit_rank(values, grid) : fit_number(values);
    if (!element) return std::nullopt;
    made.elements.push_back(*element);
  }
  return made;
}

std::optional<Expression> fit_length(ListSamples samples) {
  std::vector<Sample> lengths;
  for (const ListSample& sample : samples)
    lengths.push_back({sample.place, static_cast<std::int64_t>(sample.values->size())});
  return fit_number(lengths);
}

// A wait for all of the last requests lists their distances in this way.
bool descends(const ListSample& sample) {
  const std::size_t length = sample.values->size();
  for (std::size_t i = 0; i < length; ++i) {
    if ((*sample.values)[i] != length - i) return false;
  }
  return true;
}

FoundList fit_by_number(ListSamples samples) {
  std::vector<Sample> values;
  // Equal lists of one number of ranks are the same evidence.
  std::set<std::pair<std::int64_t, const std::vector<std::uint64_t>*>> known;
  for (const ListSample& sample : samples) {
    if (!known.emplace(sample.place.ranks, sample.values).second) continue;
    for (std::size_t i = 0; i < sample.values->size() && values.size() < kMostSamples; ++i) {
      values.push_back({sample.place, static_cast<std::int64_t>((*sample.values)[i])});
      values.back().place.own = static_cast<std::int64_t>(i);
    }
  }
  const auto element = fit_number(values);
  if (!element) return std::nullopt;
  return ListRule{.kind = ListRule::Form::kByNumber, .elements = {*element}, .length = {}};
}

}  // namespace

bool ListRule::values(const EvaluationPoint& place, std::vector<std::uint64_t>& values) const {
  values.clear();
  const auto add = [&](const Expression& rule, std::optional<std::int64_t> value) {
    // Recorded constants may be negative: displacements and wildcards.
    if (!value || (*value < 0 && !rule.is_constant())) return false;
    values.push_back(static_cast<std::uint64_t>(*value));
    return true;
  };
  if (kind == Form::kElements)
    return std::all_of(elements.begin(), elements.end(),
                       [&](const Expression& element) { return add(element, element.value(place)); });
  const auto count = length.value(place);
  if (!count || *count < 0) return false;
  EvaluationPoint there = place;
  for (there.own = 0; there.own < *count; ++there.own) {
    const bool is_added = kind == Form::kDescending ? add(length, *count - there.own)
                                                    : add(elements.front(), elements.front().value(there));
    if (!is_added) return false;
  }
  return true;
}

std::string ListRule::text() const {
  std::vector<std::string> texts;
  for (const Expression& element : elements) texts.push_back(element.text());
  switch (kind) {
    case Form::kElements:
      return fmt::format("[{}]", fmt::join(texts, ", "));
    case Form::kByNumber:
      return fmt::format("{} times {}", length.text(), texts.front());
    case Form::kDescending:
      return fmt::format("{} down to 1", length.text());
  }
  return {};
}

std::vector<Sample> element_samples(ListSamples samples, std::size_t number) {
  std::vector<Sample> values;
  for (const ListSample& sample : samples)
    values.push_back({sample.place, static_cast<std::int64_t>((*sample.values)[number])});
  return values;
}

std::optional<ListRule> fit_list(ListSamples samples, int grid) {
  if (samples.empty()) return ListRule();
  FoundList found = fit_elements(samples, grid);
  if (found || grid > 0) return found;
  const auto length = fit_length(samples);
  if (!length) return std::nullopt;
  FoundList made;
  if (std::all_of(samples.begin(), samples.end(), descends)) {
    made.emplace();
    made->kind = ListRule::Form::kDescending;
  } else {
    made = fit_by_number(samples);
  }
  if (made) made->length = *length;
  return made;
}

}  // namespace offramp::scale
