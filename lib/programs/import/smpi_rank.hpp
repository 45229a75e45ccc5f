// Reads the lines of one rank of an SMPI trace as events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/programs/recording/reader.hpp"
#include "lib/programs/recording/source.hpp"

namespace offramp::trace {

/// The place of one rank's lines.
struct SmpiPart {
  std::shared_ptr<const recording::Source> source;  // null: it has none
  std::uint64_t first = 0;                          // offset of its first line
  std::uint64_t lines_before = 0;
  std::uint64_t last = 0;  // offset of its last line
  bool begins = false;     // it has "init"
  bool ends = false;       // it has "finalize"
};

/// The word as a valid rank.
std::optional<int> smpi_rank_in(std::string_view word);
/// Returns true if the word is the name of an action.
bool is_smpi_action(std::string_view word);
/// Notes in the part whether an action begins or ends MPI.
void note_boundary(std::string_view action, SmpiPart& part);

std::unique_ptr<recording::Reader> read_smpi(const SmpiPart& part, int rank, int ranks);

}  // namespace offramp::trace
