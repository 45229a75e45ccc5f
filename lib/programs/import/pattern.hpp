// Patterns: small programs that a world runs without a recording, generated on reading. They answer questions
// about hardware and networks that need no real program: the time of an incast, a stencil, a shift.
//
// All ranks begin at time 0. All rounds are equal, except for random and experts. Messages of different
// rounds may overlap if a rank does not wait for another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/programs/recording/reader.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp {

/// Prefix of a pattern in place of the path of a recording.
inline constexpr std::string_view kPatternPrefix = "pattern:";

struct Pattern;

/// A kind of pattern. Kinds have static storage and live until the exit.
struct PatternKind {
  std::string_view name;
  std::string_view parameter;  // meaning of its own number; empty if it has none
  std::string_view description;
  std::unique_ptr<recording::Reader> (*read)(const Pattern& pattern, int rank);
  bool has_collectives = false;     // of the backend; otherwise only messages
  std::uint64_t most = 1000000000;  // maximum of its own number
};
/// In the order of the documentation.
std::span<const PatternKind> pattern_kinds();

/// A pattern with its arguments. Without a kind it is invalid.
struct Pattern {
  const PatternKind* kind = nullptr;
  std::uint64_t parameter = 0;
  int ranks = 0;
  std::uint64_t bytes = 0;  // of a message
  int rounds = 1;

  /// rank < ranks. Readers of a rank are independent.
  [[nodiscard]] std::unique_ptr<recording::Reader> read(int rank) const { return kind->read(*this, rank); }
};

/// "pattern:NAME[:NUMBER]:RANKS:BYTES[:ROUNDS]", with NUMBER for kinds that have a parameter. Sizes may have
/// a unit. Errors name the wrong part and what is allowed.
Result<Pattern> parse_pattern(const std::string& text);

}  // namespace offramp
