// A rule has to give exactly the recorded members of all ranks; simpler selections are tried first. The last
// block may be shorter, so steps and blocks are fitted from the largest at each number of ranks. Only steps
// that programs use are accepted (is_natural_step()).
#include "lib/programs/scale/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace offramp::scale {
namespace {

using MembersSamples = std::span<const MembersSample>;
using FoundMembers = std::optional<Members>;

// Order matters: it is the numbering of ranks in the communicator.
bool is_same(const Group& group, const std::vector<std::uint64_t>& members) {
  if (static_cast<std::size_t>(group.size) != members.size()) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (group.member(static_cast<std::int64_t>(i)) != static_cast<std::int64_t>(members[i])) return false;
  }
  return true;
}

FoundMembers checked_members(const Members& members, MembersSamples samples) {
  const bool fits = std::all_of(samples.begin(), samples.end(), [&](const MembersSample& sample) {
    const auto group = members.at(sample.place);
    return group && is_same(*group, *sample.members);
  });
  return fits ? FoundMembers(members) : std::nullopt;
}

// 0 if there is none.
std::int64_t step_of(const std::vector<std::uint64_t>& members) {
  return members.size() < 2 ? 0 : static_cast<std::int64_t>(members[1] - members[0]);
}

/// Steps that programs use: a constant, a part of the ranks, a side.
bool is_natural_step(const Expression& step) {
  if (step.form != Form::kNumber || step.d != 0 || step.power != 0) return false;
  return step.measure == Measure::kOne ||
         // A part of the ranks, or another measure itself.
         (step.c == 0 && !step.inverse && (step.measure == Measure::kRanks || (step.a == 1 && step.b == 1)));
}

/// Fits the largest step or block at each number of ranks: the last block may be shorter.
FoundMembers fit_steps(Members::Selection kind, MembersSamples samples) {
  std::map<std::int64_t, Sample> steps;
  for (const MembersSample& sample : samples) {
    Sample& one = steps[sample.place.ranks];
    one.place = sample.place;
    one.value = std::max(one.value, kind == Members::Selection::kBlocks
                                        ? static_cast<std::int64_t>(sample.members->size())
                                        : step_of(*sample.members));
  }
  std::vector<Sample> values;
  values.reserve(steps.size());
  for (const auto& [ranks, step] : steps) values.push_back(step);
  // One value per number of ranks.
  const auto step = fit_number(values);
  if (!step || !is_natural_step(*step)) return std::nullopt;
  return checked_members({.kind = kind, .step = *step}, samples);
}

}  // namespace

std::int64_t Group::member(std::int64_t number) const {
  if (!is_slice) return first + number * step;
  // Ranks of a slice are in row-major order, as MPI_Cart_sub has them.
  Sides place = at;
  for (std::size_t i = kMostDimensions; i-- > 0;) {
    if ((free >> i & 1U) == 0) continue;
    place[i] = number % sides[i];
    number /= sides[i];
  }
  return rank_at(sides, place);
}

std::optional<Group> Members::at(const EvaluationPoint& place) const {
  Group group;
  switch (kind) {
    case Selection::kAll:
      group.size = place.ranks;
      group.own = place.rank;
      return group;
    case Selection::kSelf:
      group.first = place.rank;
      return group;
    case Selection::kSlice:
      group.is_slice = true;
      group.free = free;
      group.sides = place.sides;
      group.at = place.at;
      for (std::size_t i = 0; i < kMostDimensions; ++i) {
        if ((free >> i & 1U) == 0) continue;
        group.size *= place.sides[i];
        group.own = group.own * place.sides[i] + place.at[i];
      }
      return group;
    case Selection::kRange:
      group.first = first;
      group.size = place.ranks - without_last - first;
      group.own = place.rank - first;
      break;
    case Selection::kBlocks:
    case Selection::kStrided: {
      const auto length = step.value(place);
      if (!length || *length <= 0 || *length > place.ranks) return std::nullopt;
      if (kind == Selection::kBlocks) {
        group.own = place.rank % *length;
        group.first = place.rank - group.own;
        // The last block may be shorter.
        group.size = std::min(*length, place.ranks - group.first);
      } else {
        group.step = *length;
        group.first = place.rank % *length;
        group.own = place.rank / *length;
        // Rounded up, since the first member counts.
        group.size = (place.ranks - group.first + *length - 1) / *length;
      }
      break;
    }
  }
  if (group.own < 0 || group.own >= group.size) return std::nullopt;
  return group;
}

std::string Members::text() const {
  switch (kind) {
    case Selection::kAll:
      return "all ranks";
    case Selection::kSelf:
      return "the rank alone";
    case Selection::kSlice: {
      std::string dimensions;
      for (int i = 0; i < kMostDimensions; ++i) {
        if ((free >> i & 1U) != 0) dimensions += fmt::format("{}{}", dimensions.empty() ? "" : " and ", i);
      }
      return fmt::format("along dimension {}", dimensions);
    }
    case Selection::kBlocks:
      return fmt::format("blocks of {}", step.text());
    case Selection::kStrided:
      return fmt::format("every {}th rank", step.text());
    case Selection::kRange:
      return fmt::format("all from {} on but the last {}", first, without_last);
  }
  return {};
}

std::optional<Members> fit_members(MembersSamples samples, int dimensions) {
  if (samples.empty()) return std::nullopt;
  Members made;
  if (const FoundMembers found = checked_members(made, samples)) return found;
  // All dimensions together would be all ranks.
  for (unsigned free = 1; dimensions > 1 && free + 1 < 1U << dimensions; ++free) {
    made.kind = Members::Selection::kSlice;
    made.free = free;
    if (const FoundMembers found = checked_members(made, samples)) return found;
  }
  for (const Members::Selection kind : {Members::Selection::kBlocks, Members::Selection::kStrided}) {
    if (const FoundMembers found = fit_steps(kind, samples)) return found;
  }
  // After blocks: a rank alone is also a block of one.
  made = {};
  made.kind = Members::Selection::kSelf;
  if (const FoundMembers found = checked_members(made, samples)) return found;
  // One sample determines the range, and all others test it.
  const MembersSample& first = samples.front();
  if (first.members->empty()) return std::nullopt;
  made.kind = Members::Selection::kRange;
  made.first = static_cast<std::int64_t>(first.members->front());
  made.without_last = first.place.ranks - 1 - static_cast<std::int64_t>(first.members->back());
  return checked_members(made, samples);
}

}  // namespace offramp::scale
