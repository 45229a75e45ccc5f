// Arithmetic is in whole numbers. Products of learned factors are checked for overflow, and a quotient or
// root that is not whole is undefined. A rule thus matches a sample exactly or not at all; only kShare and
// kFace round, as programs do.
#include "lib/programs/scale/expression.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

namespace offramp::scale {
namespace {

using Number = std::optional<std::int64_t>;

// The exact root, or none. Rounding a floating-point root suffices: its square is checked.
Number root(std::int64_t number, int degree) {
  const auto near = std::llround(degree == 2 ? std::sqrt(static_cast<double>(number))
                                             : std::cbrt(static_cast<double>(number)));
  const std::int64_t power = degree == 2 ? near * near : near * near * near;
  return power == number ? Number(near) : std::nullopt;
}

/// number: positive. `nullopt` if it is no power of two.
Number logarithm(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return std::has_single_bit(bits) ? Number(std::countr_zero(bits)) : std::nullopt;
}

// These return nothing on overflow, so that a rule is undefined there.
Number multiplied(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : Number(product);
}

Number added(Number a, std::int64_t b) {
  std::int64_t sum = 0;
  return !a || __builtin_add_overflow(*a, b, &sum) ? std::nullopt : Number(sum);
}

Number power_of_two(std::int64_t exponent) {
  return exponent >= 0 && exponent < 62 ? Number(std::int64_t{1} << exponent) : std::nullopt;
}

// Into 0 to size - 1, also for negative values.
std::int64_t around(std::int64_t value, std::int64_t size) {
  return (value % size + size) % size;
}

// The value, if such a rank exists.
Number rank_in(std::int64_t value, const EvaluationPoint& place) {
  return value >= 0 && value < place.size ? Number(value) : std::nullopt;
}

/// 2^turn, or 2^(turns left).
Number power_of_turn(const Expression& expression, const EvaluationPoint& place) {
  return power_of_two(expression.power < 0 ? place.turns - 1 - place.turn : place.turn);
}

/// number / divisor if that is whole.
Number divided(Number number, Number divisor) {
  if (!number || !divisor || *divisor == 0 || *number % *divisor != 0) return std::nullopt;
  return *number / *divisor;
}

Number number_value(const Expression& e, const EvaluationPoint& place) {
  const Number measure = value_of(e.measure, place);
  if (!measure) return std::nullopt;
  Number numerator = e.a;
  Number denominator = e.b;
  Number& side = e.inverse ? denominator : numerator;
  side = multiplied(*side, *measure);
  if (e.power != 0) {
    const Number power = power_of_two(place.turn);
    Number& scaled = e.power > 0 ? numerator : denominator;
    if (!power || !scaled) return std::nullopt;
    scaled = multiplied(*scaled, *power);
  }
  const Number quotient = divided(numerator, denominator);
  const Number step = multiplied(e.d, place.turn);
  if (!quotient || !step) return std::nullopt;
  return added(added(*quotient, e.c), *step);
}

// Whole units are shared first; the remainder is rounded as the rule says.
Number share_value(const Expression& e, const EvaluationPoint& place) {
  const Number parts = value_of(e.measure, place);
  if (!parts || *parts <= 0) return std::nullopt;
  std::int64_t units = e.a / *parts;
  const std::int64_t left = e.a % *parts;
  if (e.rounding == Rounding::kUp && left > 0) ++units;
  if (e.rounding == Rounding::kBalanced && part_of(e.measure, place) < left) ++units;
  return multiplied(units, e.b);
}

/// The two sides of a face.
std::pair<std::int64_t, std::int64_t> sides_of(Measure face, const Sides& sides) {
  if (face == Measure::kFace01) return {sides[0], sides[1]};
  return {face == Measure::kFace02 ? sides[0] : sides[1], sides[2]};
}

Number face_value(const Expression& e, const EvaluationPoint& place) {
  const auto [one, other] = sides_of(e.measure, place.sides);
  const Number face = multiplied(e.a / one, e.a / other);
  return face ? multiplied(*face, e.b) : std::nullopt;
}

// Only for communicators of all ranks: others are not on the grid.
Number shifted(const Expression& e, const EvaluationPoint& place) {
  if (place.size != place.ranks) return std::nullopt;
  const Sides by = {e.a, e.b, e.c};
  Sides at = place.at;
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = around(at[i] + by[i], place.sides[i]);
  return rank_at(place.sides, at);
}

// Needs a square grid of all ranks.
Number transposed(const EvaluationPoint& place) {
  if (place.size != place.ranks || place.sides[0] != place.sides[1] || place.sides[2] != 1)
    return std::nullopt;
  return rank_at(place.sides, {place.at[1], place.at[0], 0});
}

std::string signed_text(std::int64_t value) {
  return value < 0 ? fmt::format(" - {}", -value) : fmt::format(" + {}", value);
}

// In the order of Measure.
std::string_view name_of(Measure measure) {
  static constexpr std::string_view kNames[] = {"1",
                                                "ranks",
                                                "size",
                                                "log2(size)",
                                                "side 0",
                                                "side 1",
                                                "side 2",
                                                "(side 0 * side 1)",
                                                "(side 0 * side 2)",
                                                "(side 1 * side 2)",
                                                "ranks^(1/2)",
                                                "ranks^(1/3)",
                                                "(ranks * size)",
                                                "size^2",
                                                "(ranks / size)",
                                                "?"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Measure::kCount) + 1);
  return kNames[static_cast<std::size_t>(measure)];
}

std::string number_text(const Expression& e) {
  std::string text = e.b == 1 ? fmt::format("{}", e.a) : fmt::format("{}/{}", e.a, e.b);
  if (e.measure != Measure::kOne)
    text = e.inverse     ? fmt::format("{} / {}", text, name_of(e.measure))
           : text == "1" ? std::string(name_of(e.measure))
                         : fmt::format("{} * {}", text, name_of(e.measure));
  if (e.power != 0) text += e.power > 0 ? " * 2^turn" : " / 2^turn";
  if (e.c != 0) text = e.a == 0 ? fmt::format("{}", e.c) : text + signed_text(e.c);
  if (e.d != 0) text += fmt::format("{} * turn", signed_text(e.d));
  return text;
}

}  // namespace

std::optional<std::int64_t> value_of(Measure measure, const EvaluationPoint& place) {
  switch (measure) {
    case Measure::kOne:
      return 1;
    case Measure::kRanks:
      return place.ranks;
    case Measure::kSize:
      return place.size;
    case Measure::kLogarithm:
      return logarithm(place.size);
    case Measure::kSide0:
      return place.sides[0];
    case Measure::kSide1:
      return place.sides[1];
    case Measure::kSide2:
      return place.sides[2];
    case Measure::kFace01:
      // Sides multiply to the number of ranks, so these do not overflow.
      return place.sides[0] * place.sides[1];
    case Measure::kFace02:
      return place.sides[0] * place.sides[2];
    case Measure::kFace12:
      return place.sides[1] * place.sides[2];
    case Measure::kSquareRoot:
      return root(place.ranks, 2);
    case Measure::kCubeRoot:
      return root(place.ranks, 3);
    case Measure::kRanksBySize:
      return place.ranks * place.size;
    case Measure::kSquare:
      return place.size * place.size;
    case Measure::kCommunicators:
      return divided(place.ranks, place.size);
    default:
      return std::nullopt;
  }
}

std::int64_t part_of(Measure measure, const EvaluationPoint& place) {
  switch (measure) {
    case Measure::kRanks:
      return place.rank;
    case Measure::kSide0:
      return place.at[0];
    case Measure::kSide1:
      return place.at[1];
    case Measure::kSide2:
      return place.at[2];
    // Parts of a communicator are numbered by its ranks.
    default:
      return place.own;
  }
}

std::optional<std::int64_t> Expression::value(const EvaluationPoint& place) const {
  if (is_constant()) return c;  // the most common case
  const Number of_turn = power_of_turn(*this, place);
  switch (form) {
    case Form::kNumber:
      return number_value(*this, place);
    case Form::kShare:
      return share_value(*this, place);
    case Form::kFace:
      return face_value(*this, place);
    case Form::kOwn:
      return place.own + a;
    case Form::kPeer:
      return place.peer + a;
    case Form::kLowestBit:
      return place.own > 0 ? Number(std::countr_zero(static_cast<std::uint64_t>(place.own)) + a)
                           : std::nullopt;
    case Form::kShift:
      return shifted(*this, place);
    case Form::kOffset:
      return around(place.own + a + b * place.turn, place.size);
    case Form::kOffsetPart:
      return place.size % a == 0 ? Number(around(place.own + place.size / a, place.size)) : std::nullopt;
    case Form::kOffsetPower:
      return of_turn ? Number(around(place.own + a * *of_turn, place.size)) : std::nullopt;
    case Form::kExclusiveOr:
      return rank_in(place.own ^ a, place);
    case Form::kFlipBit:
      return of_turn ? rank_in(place.own ^ *of_turn, place) : std::nullopt;
    case Form::kFlipTurn:
      return rank_in(place.own ^ (place.turn + a), place);
    case Form::kPlusPower:
      return of_turn ? rank_in(place.own + a * *of_turn, place) : std::nullopt;
    case Form::kClearLowest:
      return place.own > 0 ? Number(place.own & (place.own - 1)) : std::nullopt;
    case Form::kOthers:
      // Ranks above the own one move down by one.
      return rank_in(place.turn + a < place.own ? place.turn + a : place.turn + a + 1, place);
    case Form::kMirror:
      return place.size - 1 - place.own + a;
    case Form::kTransposed:
      return transposed(place);
  }
  return std::nullopt;
}

std::string Expression::text() const {
  const std::string_view turn = power < 0 ? "2^(turns left)" : "2^turn";
  switch (form) {
    case Form::kNumber:
      return number_text(*this);
    case Form::kShare:
      return fmt::format("{} * ({} / {}{})", b, a, name_of(measure),
                         rounding == Rounding::kDown ? ", rounded down"
                         : rounding == Rounding::kUp ? ", rounded up"
                                                     : ", the rest to the first");
    case Form::kFace:
      return fmt::format("{} * face of {} over {}", b, a, name_of(measure));
    case Form::kOwn:
      return a == 0 ? "rank" : "rank" + signed_text(a);
    case Form::kPeer:
      return a == 0 ? "peer" : "peer" + signed_text(a);
    case Form::kLowestBit:
      return "lowest bit of rank" + (a == 0 ? "" : signed_text(a));
    case Form::kShift:
      return fmt::format("the neighbour at ({:+}, {:+}, {:+}) on the grid", a, b, c);
    case Form::kOffset:
      return fmt::format("rank{}{}", signed_text(a), b == 0 ? "" : signed_text(b) + " * turn");
    case Form::kOffsetPart:
      return fmt::format("rank + size / {}", a);
    case Form::kOffsetPower:
    case Form::kPlusPower:
      return fmt::format("rank {} {}", a < 0 ? "-" : "+", turn);
    case Form::kExclusiveOr:
      return fmt::format("rank xor {}", a);
    case Form::kFlipBit:
      return fmt::format("rank xor {}", turn);
    case Form::kFlipTurn:
      return fmt::format("rank xor (turn{})", signed_text(a));
    case Form::kClearLowest:
      return "rank without its lowest bit";
    case Form::kOthers:
      return a == 0 ? "all other ranks in turn" : fmt::format("all other ranks in turn, {} further", a);
    case Form::kMirror:
      return "size - 1 - rank" + (a == 0 ? "" : signed_text(a));
    case Form::kTransposed:
      return "the transposed rank";
  }
  return {};
}

bool Expression::uses_grid() const {
  if (form == Form::kShift || form == Form::kTransposed || form == Form::kFace) return true;
  return (form == Form::kNumber || form == Form::kShare) && measure >= Measure::kSide0 &&
         measure <= Measure::kFace12;
}

Expression constant(std::int64_t value) {
  return {.c = value};
}

}  // namespace offramp::scale
