// Patterns: small programs that a world runs without a recording, made up as they are read. For questions
// about hardware and networks that need no program of one's own: what an incast takes, a stencil, a shift.
//
// All ranks begin at time 0. Each round is the same, but for random and experts; messages of different rounds
// may overlap where a rank does not wait for another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/programs/recording/reader.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp {

/// What begins a pattern where the path of a recording could stand.
inline constexpr std::string_view kPatternPrefix = "pattern:";

struct PatternKind {
  std::string_view name;
  std::string_view parameter;  // what its own number means; empty: it has none
  std::string_view description;
  bool has_collectives = false;     // of the backend; else it has messages alone
  std::uint64_t most = 1000000000;  // that its own number may be
};
std::span<const PatternKind> pattern_kinds();

struct Pattern {
  const PatternKind* kind = nullptr;
  std::uint64_t parameter = 0;
  int ranks = 0;
  std::uint64_t bytes = 0;  // of a message
  int rounds = 1;

  [[nodiscard]] std::unique_ptr<recording::Reader> read(int rank) const;
};

/// "pattern:NAME[:NUMBER]:RANKS:BYTES[:ROUNDS]", the first number for those that have one of their own; sizes
/// may have a unit. An error names the part that is wrong and what is allowed.
Result<Pattern> parse_pattern(const std::string& text);

}  // namespace offramp
