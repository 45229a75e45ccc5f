// Numbers of a program as functions of the rank, the number of ranks, the place on the grid, and the turn of
// a loop. Values are whole and exact, or undefined.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/programs/scale/layout.hpp"

namespace offramp::scale {

/// The arguments of an expression.
struct EvaluationPoint {
  std::int64_t ranks = 1;  // of the program
  std::int64_t rank = 0;
  Sides sides = {1, 1, 1};  // of the grid of all ranks
  Sides at = {};            // the rank's coordinates
  std::int64_t size = 1;    // of the communicator
  std::int64_t own = 0;     // rank in it
  std::int64_t turn = 0;    // of the loop on which the value depends, from 0
  std::int64_t turns = 1;
  std::int64_t peer = 0;  // of the same call
};

/// Quantities to which numbers may be proportional.
enum class Measure : std::uint8_t {
  kOne,
  kRanks,
  kSize,
  kLogarithm,  // of the size, to base 2
  kSide0,
  kSide1,
  kSide2,
  kFace01,  // products of two sides
  kFace02,
  kFace12,
  kSquareRoot,  // of the ranks
  kCubeRoot,
  kRanksBySize,    // ranks * size: distributed over all ranks and again over a communicator
  kSquare,         // of the size
  kCommunicators,  // ranks / size
  kCount
};
/// `nullopt` if the measure is no whole number there.
std::optional<std::int64_t> value_of(Measure measure, const EvaluationPoint& place);
/// The index of the place's part if the measure is the number of parts.
std::int64_t part_of(Measure measure, const EvaluationPoint& place);

/// How an expression uses its numbers a to d. Simple forms are tried first.
enum class Form : std::uint8_t {
  kNumber,  // (a / b) measure^(1 or -1) 2^(power turn) + c + d turn
  kShare,   // one part of a, in units of b, with as many parts as the measure says: see Rounding
  kFace,  // b times a face of a part of a cube with sides of a units; both sides of the face are rounded down
  kOwn,   // own + a
  kPeer,  // peer + a
  kLowestBit,  // the number of the lowest set bit of own, + a
  // Ranks.
  kShift,        // shifted on the grid by (a, b, c), periodic
  kOffset,       // own + a + b turn, periodic
  kOffsetPart,   // own + size / a, periodic
  kOffsetPower,  // own + a 2^turn, periodic; power -1: the largest first
  kExclusiveOr,  // own xor a
  kFlipBit,      // own xor 2^turn; power -1: the largest first
  kFlipTurn,     // own xor (turn + a)
  kPlusPower,    // own + a 2^turn if that rank exists; power -1: the largest first
  kClearLowest,  // own without its lowest bit
  kOthers,       // all but own, in order, from the a-th on
  kMirror,       // size - 1 - own + a
  kTransposed,   // the rank with exchanged coordinates on a square grid
};

/// How a total is divided among parts.
enum class Rounding : std::uint8_t {
  kDown,
  kUp,
  kBalanced,  // the first parts get one unit more each until the remainder is used up
};

/// A number or a rank as a function of its place. Unused members keep their defaults.
struct Expression {
  Form form = Form::kNumber;
  Measure measure = Measure::kOne;
  Rounding rounding = Rounding::kDown;
  bool inverse = false;
  /// Whether the turn scales the value: 1, -1, or 0 for not at all.
  std::int8_t power = 0;
  std::int64_t a = 0;
  std::int64_t b = 1;
  std::int64_t c = 0;
  std::int64_t d = 0;

  /// `nullopt` if it is undefined at this place.
  [[nodiscard]] std::optional<std::int64_t> value(const EvaluationPoint& place) const;
  /// In words, for reports.
  [[nodiscard]] std::string text() const;
  /// Returns true if the value is the same at all places.
  [[nodiscard]] bool is_constant() const { return form == Form::kNumber && a == 0 && d == 0; }
  /// Returns true if it depends on coordinates or sides.
  [[nodiscard]] bool uses_grid() const;
  /// Returns true if the value grows without bound with the number of ranks.
  [[nodiscard]] bool grows() const {
    return form == Form::kNumber && measure != Measure::kOne && !inverse && a > 0;
  }
  friend bool operator==(const Expression&, const Expression&) = default;
};
/// A value that is equal everywhere.
Expression constant(std::int64_t value);

/// A value that was recorded, and where.
struct Sample {
  EvaluationPoint place;
  std::int64_t value = 0;
};
/// Returns true if the expression matches all samples.
bool holds(const Expression& expression, std::span<const Sample> samples);
/// The simplest expression that matches all samples. `nullopt` if none is known.
std::optional<Expression> fit_number(std::span<const Sample> samples);
/// For ranks of the place's communicator. dimensions: of the grid.
std::optional<Expression> fit_rank(std::span<const Sample> samples, int dimensions);

/// The sides of the grid that are equal at all places; 0 for sides that differ.
Sides common_sides(std::span<const Sample> samples);

}  // namespace offramp::scale
