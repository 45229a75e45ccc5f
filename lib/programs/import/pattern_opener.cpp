// Patterns: generated programs without a file.
#include "lib/programs/import/openers.hpp"
#include "lib/programs/import/pattern.hpp"

namespace offramp::trace {
namespace {

Result<std::optional<Program>> open_pattern(const Candidate& candidate) {
  if (!candidate.name.starts_with(kPatternPrefix)) return std::optional<Program>();
  const Result<Pattern> pattern = parse_pattern(candidate.name);
  if (!pattern) return failure(pattern.error());
  Program program;
  program.description.ranks = pattern->ranks;
  program.description.facts = {{"program", candidate.name}};
  program.read = [made = *pattern](int rank) { return made.read(rank); };
  return std::optional(std::move(program));
}

}  // namespace

const Opener kPatterns = {
    .kind = "pattern", .origin = "pattern:NAME:RANKS:BYTES[:ROUNDS]", .open = open_pattern};

}  // namespace offramp::trace
