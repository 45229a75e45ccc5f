// Numbers of a program as functions of where they are asked for: the rank, the number of ranks, the place on
// the grid, the turn of a loop. Values are whole, and exact or not there at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/programs/scale/layout.hpp"

namespace offramp::scale {

/// Where a value is asked for.
struct Place {
  std::int64_t ranks = 1;  // of the program
  std::int64_t rank = 0;
  Sides sides = {1, 1, 1};  // of the grid of all ranks
  Sides at = {};            // the rank's coordinates
  std::int64_t size = 1;    // of the communicator
  std::int64_t own = 0;     // rank in it
  std::int64_t turn = 0;    // of the loop that the value depends on, from 0
  std::int64_t turns = 1;
  std::int64_t peer = 0;  // of the same call
};

/// What numbers may be proportional to.
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
  kRanksBySize,    // ranks * size: what is spread over all ranks, and once more over a communicator
  kSquare,         // of the size
  kCommunicators,  // ranks / size
  kCount
};
/// Nothing: it is no whole number there.
std::optional<std::int64_t> value_of(Measure measure, const Place& place);
/// Which of as many parts as the measure says belongs to the place.
std::int64_t part_of(Measure measure, const Place& place);

enum class Form : std::uint8_t {
  kNumber,  // (a / b) measure^(1 or -1) 2^(power turn) + c + d turn
  kShare,   // of a, in units of b, of one part of as many as the measure says: see Rounding
  kFace,  // of a cube of a units a side: its part in one direction times that in another, each rounded down,
          // times b
  kOwn,   // own + a
  kPeer,  // peer + a
  kLowestBit,  // the number of the lowest bit that is set in own, + a
  // Ranks.
  kShift,        // on the grid by (a, b, c), around at the borders
  kOffset,       // own + a + b turn, around
  kOffsetPart,   // own + size / a, around
  kOffsetPower,  // own + a 2^turn, around; power -1: the largest first
  kExclusiveOr,  // own xor a
  kFlipBit,      // own xor 2^turn; power -1: the largest first
  kFlipTurn,     // own xor (turn + a)
  kPlusPower,    // own + a 2^turn where there is such a rank; power -1: the largest first
  kClearLowest,  // own without its lowest bit
  kOthers,       // all but own, in order, from the a-th on
  kMirror,       // size - 1 - own + a
  kTransposed,   // the rank with the coordinates exchanged, on a square grid
};

enum class Rounding : std::uint8_t {
  kDown,
  kUp,
  kBalanced,  // the first parts have one unit more where it does not come out even
};

struct Expression {
  Form form = Form::kNumber;
  Measure measure = Measure::kOne;
  Rounding rounding = Rounding::kDown;
  bool inverse = false;
  std::int8_t power = 0;
  std::int64_t a = 0;
  std::int64_t b = 1;
  std::int64_t c = 0;
  std::int64_t d = 0;

  [[nodiscard]] std::optional<std::int64_t> value(const Place& place) const;
  [[nodiscard]] std::string text() const;
  /// It is the same number everywhere.
  [[nodiscard]] bool is_constant() const { return form == Form::kNumber && a == 0 && d == 0; }
  /// It is of coordinates or sides.
  [[nodiscard]] bool uses_grid() const;
  /// The number becomes larger without end as the ranks become more.
  [[nodiscard]] bool grows() const {
    return form == Form::kNumber && measure != Measure::kOne && !inverse && a > 0;
  }
  friend bool operator==(const Expression&, const Expression&) = default;
};
Expression constant(std::int64_t value);

struct Sample {
  Place place;
  std::int64_t value = 0;
};
/// The expression gives all of them.
bool holds(const Expression& expression, std::span<const Sample> samples);
/// The simplest expression that gives all of them. Nothing: none that is known does.
std::optional<Expression> fit_number(std::span<const Sample> samples);
/// The same for ranks of the place's communicator. dimensions: of the grid.
std::optional<Expression> fit_rank(std::span<const Sample> samples, int dimensions);

/// The sides of the grid that are the same at all places; 0: there are several.
Sides common_sides(std::span<const Sample> samples);

}  // namespace offramp::scale
