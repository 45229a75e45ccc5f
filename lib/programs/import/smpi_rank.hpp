// Reads the lines of one rank of an SMPI trace as events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
  // Numbers of its first lines that show the version of the tracer, see note_action(). 0: it has none.
  std::uint64_t tagged = 0;     // from SimGrid 3.20 on
  std::uint64_t tagless = 0;    // before
  std::uint64_t typeless = 0;   // PEER A B where B is not the number of a type, so it is a count
  std::uint64_t large_tag = 0;  // PEER A B where A exceeds the tags that every MPI library allows
};

/// The word as a valid rank.
std::optional<int> smpi_rank_in(std::string_view word);
/// Returns true if the word is the name of an action.
bool is_smpi_action(std::string_view word);
/// Notes in the part what a line shows: the beginning or end of MPI, or the version of the tracer.
void note_action(std::span<const std::string_view> words, std::uint64_t line, SmpiPart& part);

/// has_tags: false for traces from before SimGrid 3.20.
std::unique_ptr<recording::Reader> read_smpi(const SmpiPart& part, int rank, int ranks, bool has_tags);

}  // namespace offramp::trace
