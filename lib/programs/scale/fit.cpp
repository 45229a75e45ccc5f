// Finds the expression for values. Candidates come from one or two samples and are checked against all.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "lib/programs/scale/expression.hpp"

namespace offramp::scale {

bool holds(const Expression& expression, std::span<const Sample> samples) {
  return std::all_of(samples.begin(), samples.end(),
                     [&](const Sample& sample) { return expression.value(sample.place) == sample.value; });
}

namespace {

using Samples = std::span<const Sample>;
using Found = std::optional<Expression>;

Found checked(const Expression& expression, Samples samples) {
  return holds(expression, samples) ? Found(expression) : std::nullopt;
}

// A form with one number. b is 0, since offsets multiply the turn by it.
Expression simple(Form form, std::int64_t a) {
  return {.form = form, .a = a, .b = 0};
}

/// A reduced fraction.
struct Fraction {
  std::int64_t over = 0;
  std::int64_t under = 1;
};

// In lowest terms with a positive denominator.
std::optional<Fraction> fraction(std::int64_t over, std::int64_t under) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();  // cannot be negated
  if (under == 0 || over == kLeast || under == kLeast) return std::nullopt;
  const std::int64_t common = std::gcd(over, under);
  // Both are 0 only if the numerator is.
  if (common == 0) return Fraction{0, 1};
  if (under < 0) {
    over = -over;
    under = -under;
  }
  return Fraction{over / common, under / common};
}

/// The factor that an expression's measure contributes at one place.
std::optional<Fraction> factor_at(const Expression& shape, const EvaluationPoint& place) {
  const auto measure = value_of(shape.measure, place);
  // 2^turn must not overflow.
  if (!measure || *measure == 0 || place.turn > 60) return std::nullopt;
  const std::int64_t power = std::int64_t{1} << (shape.power == 0 ? 0 : place.turn);
  Fraction factor = shape.inverse ? Fraction{1, *measure} : Fraction{*measure, 1};
  (shape.power < 0 ? factor.under : factor.over) *= power;
  return factor;
}

// A rule that was seen at one factor only is no evidence.
std::size_t different_factors(const Expression& shape, Samples samples) {
  std::set<std::pair<std::int64_t, std::int64_t>> different;
  for (const Sample& sample : samples) {
    if (const auto factor = factor_at(shape, sample.place)) different.emplace(factor->over, factor->under);
  }
  return different.size();
}

/// The first sample at which the measure is defined and not 0. Null if there is none.
const Sample* first_with(const Expression& shape, Samples samples) {
  const auto has = [&](const Sample& sample) { return factor_at(shape, sample.place).has_value(); };
  const auto found = std::find_if(samples.begin(), samples.end(), has);
  return found == samples.end() ? nullptr : &*found;
}

/// a * factor
Found fit_proportional(Expression shape, Samples samples) {
  const Sample* const first = first_with(shape, samples);
  if (first == nullptr) return std::nullopt;
  const auto factor = factor_at(shape, first->place);
  const std::int64_t value = first->value;
  std::int64_t over = 0;
  std::int64_t under = 0;
  if (__builtin_mul_overflow(value, factor->under, &over)) return std::nullopt;
  under = factor->over;
  const auto ratio = fraction(over, under);
  if (!ratio) return std::nullopt;
  shape.a = ratio->over;
  shape.b = ratio->under;
  // Checked first: most candidates fail, and this is cheaper than counting factors.
  return holds(shape, samples) && different_factors(shape, samples) > 1 ? Found(shape) : std::nullopt;
}

/// The number of different factors at which a * factor + c must match. Two points always determine a and c
/// and prove nothing, so two are enough only for terms that programs commonly use (ranks - 1, 2 ranks - 2).
/// Terms with one free coefficient (n (ranks - 1), n - n / ranks) need a third value. Others need two more,
/// because some measure matches any third value.
std::size_t factors_needed(const Expression& shape) {
  if (!shape.inverse && shape.b <= 2 && shape.a > 0 && shape.a <= 2 && std::abs(shape.c) <= 2) return 2;
  return shape.b == 1 && shape.a == -shape.c ? 3 : 4;
}

/// a * factor + c
Found fit_affine(Expression shape, Samples samples) {
  const Sample* const first = first_with(shape, samples);
  if (first == nullptr) return std::nullopt;
  const auto start = factor_at(shape, first->place);
  // The first sample with another factor determines the slope.
  for (const Sample& other : samples) {
    const auto factor = factor_at(shape, other.place);
    if (!factor) continue;
    // (value - first value) / (factor - first factor)
    std::int64_t left = 0;
    std::int64_t right = 0;
    std::int64_t run = 0;
    std::int64_t rise = 0;
    std::int64_t under = 0;
    if (__builtin_mul_overflow(factor->over, start->under, &left) ||
        __builtin_mul_overflow(start->over, factor->under, &right) ||
        __builtin_sub_overflow(left, right, &run) ||
        __builtin_sub_overflow(other.value, first->value, &rise) ||
        __builtin_mul_overflow(factor->under, start->under, &under) ||
        __builtin_mul_overflow(rise, under, &rise))
      return std::nullopt;
    if (run == 0) continue;
    const auto slope = fraction(rise, run);
    if (!slope) return std::nullopt;
    shape.a = slope->over;
    shape.b = slope->under;
    const auto part = shape.value(first->place);
    if (!part) return std::nullopt;
    shape.c = first->value - *part;
    return holds(shape, samples) && different_factors(shape, samples) >= factors_needed(shape) ? Found(shape)
                                                                                               : std::nullopt;
  }
  return std::nullopt;
}

// Values that grow by a constant per turn, on one rank.
Found fit_step(Samples samples) {
  const Sample& first = samples.front();
  for (const Sample& other : samples) {
    const std::int64_t turns = other.place.turn - first.place.turn;
    if (turns == 0 || other.place.ranks != first.place.ranks || other.place.rank != first.place.rank)
      continue;
    if ((other.value - first.value) % turns != 0) return std::nullopt;
    const std::int64_t step = (other.value - first.value) / turns;
    return checked({.c = first.value - step * first.place.turn, .d = step}, samples);
  }
  return std::nullopt;
}

/// The number of ranks after this one. A single rank's samples do not tell it from the number of ranks.
Found fit_mirror(Samples samples) {
  const Sample& first = samples.front();
  const bool has_others = std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
    return sample.place.size == first.place.size && sample.place.own != first.place.own;
  });
  if (!has_others) return std::nullopt;
  return checked(simple(Form::kMirror, first.value - (first.place.size - 1 - first.place.own)), samples);
}

constexpr std::array kPartsOf = {Measure::kRanks,  Measure::kSize,   Measure::kSide0,
                                 Measure::kSide1,  Measure::kSide2,  Measure::kFace01,
                                 Measure::kFace02, Measure::kFace12, Measure::kRanksBySize};

/// The total that is shared, in units: within the range that matches all values.
/// unit: bytes, or whatever is not divided further.
Found fit_share(Measure measure, Rounding rounding, std::int64_t unit, Samples samples) {
  Expression made{.form = Form::kShare, .measure = measure, .rounding = rounding, .b = unit};
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Sample& sample : samples) {
    const auto parts = value_of(measure, sample.place);
    if (!parts || *parts <= 0 || sample.value % unit != 0 || sample.value < 0) return std::nullopt;
    const std::int64_t units = sample.value / unit;
    // Each value bounds the total: what may have been lost or gained by rounding.
    const std::int64_t part = rounding == Rounding::kDown ? *parts - 1
                              : rounding == Rounding::kUp ? 0
                                                          : part_of(measure, sample.place);
    std::int64_t all = 0;
    if (__builtin_mul_overflow(units, *parts, &all) || __builtin_add_overflow(all, part, &all))
      return std::nullopt;
    least = std::max(least, all - *parts + 1);
    most = std::min(most, all);
    if (least > most) return std::nullopt;
  }
  // Problem sizes are round: prefers the multiple of the highest power of two in the range.
  made.a = most;
  for (int bit = 1; bit < 62 && std::int64_t{1} << bit <= most; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    if (most / power * power >= least) made.a = most / power * power;
  }
  return checked(made, samples);
}

/// The length divisible by the highest power of two among those that match all values.
Found fit_face(Measure face, std::int64_t unit, Samples samples) {
  const Sample& first = samples.front();
  const auto parts = value_of(face, first.place);
  const double area =
      static_cast<double>(first.value) / static_cast<double>(unit) * static_cast<double>(*parts);
  if (first.value <= 0 || area > 0x1p60) return std::nullopt;
  const auto least = static_cast<std::int64_t>(std::sqrt(area));
  Found best;
  // Rounding of both parts removes less than one side each.
  for (std::int64_t length = least; length <= least + 2 * *parts; ++length) {
    const Expression made{.form = Form::kFace, .measure = face, .a = length, .b = unit};
    const bool is_rounder = !best || std::countr_zero(static_cast<std::uint64_t>(length)) >
                                         std::countr_zero(static_cast<std::uint64_t>(best->a));
    if (length > 0 && is_rounder && holds(made, samples)) best = made;
  }
  return best;
}

// Units are tried from the largest: all bytes of a cell, then doubles, then floats.
Found fit_faces(std::int64_t unit, Samples samples) {
  for (const Measure face : {Measure::kFace01, Measure::kFace02, Measure::kFace12}) {
    for (const std::int64_t one : {unit, std::gcd(unit, std::int64_t{8}), std::gcd(unit, std::int64_t{4})}) {
      if (const Found found = fit_face(face, one, samples)) return found;
    }
  }
  return std::nullopt;
}

Found fit_shares(Samples samples) {
  std::int64_t unit = 0;
  for (const Sample& sample : samples) unit = std::gcd(unit, sample.value);
  if (unit <= 0) return std::nullopt;
  for (const Measure measure : kPartsOf) {
    for (const Rounding rounding : {Rounding::kDown, Rounding::kUp, Rounding::kBalanced}) {
      for (const std::int64_t one : {unit, std::gcd(unit, std::int64_t{8}), std::int64_t{1}}) {
        if (const Found found = fit_share(measure, rounding, one, samples)) return found;
      }
    }
  }
  return fit_faces(unit, samples);
}

/// The rule's value for programs on a line, at a number of ranks that has all roots and a logarithm.
std::optional<std::int64_t> far_value(const Expression& rule) {
  EvaluationPoint place;
  // 2^24 is a square, a cube, and a power of two.
  place.ranks = place.size = std::int64_t{1} << 24U;
  place.sides = {place.ranks, 1, 1};
  return rule.value(place);
}

/// Returns true if a rule is based on two values only and another rule matches both: with values 2 and 1 at 4
/// and 2 ranks, it may be half the ranks or their logarithm.
bool is_ambiguous(const Expression& rule, Samples samples) {
  if (rule.power != 0 || different_factors(rule, samples) > 2) return false;
  for (const Measure measure :
       {Measure::kRanks, Measure::kLogarithm, Measure::kSquareRoot, Measure::kCubeRoot, Measure::kSquare}) {
    // Nothing is distributed over a logarithm.
    for (const bool inverse : {false, true}) {
      const Expression shape{.measure = measure, .inverse = inverse};
      if (inverse && measure == Measure::kLogarithm) continue;
      for (const Found& other : {fit_proportional(shape, samples), fit_affine(shape, samples)}) {
        if (other && far_value(*other) != far_value(rule)) return true;
      }
    }
  }
  return false;
}

// Proportional rules come first, the simplest measure first.
Found fit_measures(Samples samples) {
  for (const int power : {0, 1, -1}) {
    for (int number = 0; number < static_cast<int>(Measure::kCount); ++number) {
      for (const bool inverse : {false, true}) {
        const Expression shape{.measure = static_cast<Measure>(number),
                               .inverse = inverse,
                               .power = static_cast<std::int8_t>(power)};
        if (const Found found = fit_proportional(shape, samples))
          return is_ambiguous(*found, samples) ? std::nullopt : found;
      }
    }
  }
  // Measure 0 is constant, which needs no term.
  for (int number = 1; number < static_cast<int>(Measure::kCount); ++number) {
    for (const bool inverse : {false, true}) {
      const Expression shape{.measure = static_cast<Measure>(number), .inverse = inverse};
      if (const Found found = fit_affine(shape, samples))
        return is_ambiguous(*found, samples) ? std::nullopt : found;
    }
  }
  return std::nullopt;
}

/// Shifts on the grid from one rank to another; several if a side is short.
std::vector<Expression> shifts(const Sample& sample, int dimensions) {
  const EvaluationPoint& place = sample.place;
  // Only the whole program's ranks are on the grid.
  if (place.size != place.ranks || sample.value < 0 || sample.value >= place.size) return {};
  const Sides to = coordinates(place.sides, sample.value);
  std::vector<Expression> all = {simple(Form::kShift, 0)};
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    const auto i = static_cast<std::size_t>(dimension);
    const std::int64_t way = to[i] - place.at[i];
    std::vector<Expression> further;
    // A periodic step is the same rank in three ways.
    for (const std::int64_t by : {way, way - place.sides[i], way + place.sides[i]}) {
      for (Expression one : all) {
        (i == 0 ? one.a : i == 1 ? one.b : one.c) = by;
        further.push_back(one);
      }
    }
    all = std::move(further);
  }
  const auto length = [](const Expression& one) {
    return std::abs(one.a) + std::abs(one.b) + std::abs(one.c);
  };
  // Short shifts are likelier than long ones.
  std::stable_sort(all.begin(), all.end(),
                   [&](const Expression& a, const Expression& b) { return length(a) < length(b); });
  return all;
}

// Steps on a ring, the shortest first.
std::vector<Expression> offsets(const Sample& sample) {
  const EvaluationPoint& place = sample.place;
  const std::int64_t way = sample.value - place.own;
  std::vector<Expression> all = {simple(Form::kOffset, way), simple(Form::kOffset, way - place.size),
                                 simple(Form::kOffset, way + place.size)};
  std::stable_sort(all.begin(), all.end(),
                   [](const Expression& a, const Expression& b) { return std::abs(a.a) < std::abs(b.a); });
  return all;
}

/// Candidates that depend on the turn of a loop.
std::vector<Expression> turning(const Sample& sample) {
  const EvaluationPoint& place = sample.place;
  std::vector<Expression> all;
  for (const std::int8_t power : {std::int8_t{1}, std::int8_t{-1}}) {
    Expression one = simple(Form::kFlipBit, 0);
    one.power = power;
    all.push_back(one);
    for (const std::int64_t sign : {1, -1}) {
      one = simple(Form::kPlusPower, sign);
      one.power = power;
      all.push_back(one);
      one.form = Form::kOffsetPower;
      all.push_back(one);
    }
  }
  for (const std::int64_t step : {1, -1}) {
    for (Expression one : offsets(sample)) {
      one.a -= step * place.turn;
      one.b = step;
      all.push_back(one);
    }
    Expression one = constant(sample.value - step * place.turn);
    one.d = step;
    all.push_back(one);
  }
  // The position among the others, as kOthers counts.
  const std::int64_t among_others = sample.value < place.own ? sample.value : sample.value - 1;
  all.push_back(simple(Form::kOthers, among_others - place.turn));
  all.push_back(simple(Form::kFlipTurn, (sample.value ^ place.own) - place.turn));
  return all;
}

/// Candidates that match the first sample, apart from those on a grid, offsets, and turning ones.
std::vector<Expression> fixed(const Sample& sample) {
  const EvaluationPoint& place = sample.place;
  return {constant(sample.value),
          {.measure = Measure::kSize, .a = 1, .c = sample.value - place.size},
          simple(Form::kOffsetPart, 2),
          simple(Form::kOffsetPart, 4),
          simple(Form::kExclusiveOr, sample.value ^ place.own),
          simple(Form::kMirror, 0),
          simple(Form::kTransposed, 0),
          simple(Form::kClearLowest, 0)};
}

}  // namespace

Found fit_number(Samples samples) {
  // A value that never occurs may be anything.
  if (samples.empty()) return constant(0);
  const Sample& first = samples.front();
  if (const Found found = checked(constant(first.value), samples)) return found;
  // Differences of smaller values do not overflow, and no program uses larger ones.
  const auto is_too_large = [](const Sample& sample) {
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    return sample.value > kMost || sample.value < -kMost;
  };
  if (std::any_of(samples.begin(), samples.end(), is_too_large)) return std::nullopt;
  for (const Expression& one : {simple(Form::kOwn, first.value - first.place.own),
                                simple(Form::kPeer, first.value - first.place.peer)}) {
    if (holds(one, samples)) return one;
  }
  if (const Found found = fit_mirror(samples)) return found;
  if (const auto bit = simple(Form::kLowestBit, 0).value(first.place)) {
    const Expression one = simple(Form::kLowestBit, first.value - *bit);
    if (holds(one, samples)) return one;
  }
  if (const Found found = fit_step(samples)) return found;
  if (const Found found = fit_measures(samples)) return found;
  return fit_shares(samples);
}

Found fit_rank(Samples samples, int dimensions) {
  if (samples.empty()) return constant(0);
  // With one value per rank, the start of kOthers is undetermined.
  const auto is_decided = [&](const Expression& one) {
    return one.form != Form::kOthers || one.a == 0 ||
           std::any_of(samples.begin(), samples.end(),
                       [](const Sample& sample) { return sample.place.turns > 1; });
  };
  const auto first_of = [&](const std::vector<Expression>& candidates) {
    const auto found = std::ranges::find_if(
        candidates, [&](const Expression& one) { return holds(one, samples) && is_decided(one); });
    return found == candidates.end() ? Found() : Found(*found);
  };
  const Sample& first = samples.front();
  // Neighbours on a grid come before offsets, which would hold at one size only.
  Found found = dimensions > 1 ? first_of(shifts(first, dimensions)) : std::nullopt;
  for (const auto candidates : {offsets, fixed, turning}) {
    if (!found) found = first_of(candidates(first));
  }
  return found;
}

Sides common_sides(Samples samples) {
  if (samples.empty()) return {};
  Sides common = samples.front().place.sides;
  for (const Sample& sample : samples) {
    for (std::size_t i = 0; i < common.size(); ++i) {
      if (sample.place.sides[i] != common[i]) common[i] = 0;
    }
  }
  return common;
}

}  // namespace offramp::scale
