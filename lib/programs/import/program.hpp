// Programs that a world can replay: recordings, patterns, and traces of other tools. The kind is recognised
// by content, regardless of the file name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/graph.hpp"
#include "lib/programs/recording/reader.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// The fact of recordings without results of arrival order: the world decides instead.
inline constexpr std::string_view kArrivalFact = "order of arrival";

/// An open program. Copies share the open files, which the last copy or reader closes.
struct Program {
  std::string kind;  // "recording": for messages and reports
  recording::Description description;
  /// Independent readers of one rank's events, in program order and bounded memory. rank < description.ranks.
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;
  /// What is missing, in words: "it breaks off at its byte 20000; nothing is there of ranks 2 and 3". Empty
  /// if it is complete, as far as known without reading all of it.
  std::string missing;
  /// Remarks for the user that do not prevent a replay, one sentence each.
  std::vector<std::string> notes;
  /// Null for other kinds, which have neither a size per rank nor a checksum.
  std::shared_ptr<const recording::Recording> recording;
  /// True if matches of wildcards and completed requests are recorded. Otherwise a world decides.
  bool has_arrival = true;
  /// The graph of one rank, if operations depend on each other as in a graph. Empty for sequences of calls.
  std::function<Result<Graph>(int rank)> graph = {};
  /// Several threads may read at once, each with readers of its own.
  bool is_concurrent = false;
};

/// The text of Program::missing for ranks whose events end before something ("MPI_Finalize"), and for ranks
/// without events. Empty if both lists are.
std::string missing_text(const std::vector<std::size_t>& cut, std::string_view before,
                         const std::vector<std::size_t>& absent);

/// The name that a user gave, with the beginning of its file.
struct Candidate {
  std::string name;
  /// The first kLookedAt bytes of the file, or all if it is shorter.
  std::string begin;
  /// Why the file does not exist or cannot be read. Empty if it can.
  std::string problem;

  /// False for folders too: reading their first bytes fails.
  [[nodiscard]] bool is_file() const { return problem.empty(); }
  /// Returns true if the first bytes contain no zero byte.
  [[nodiscard]] bool is_text() const { return is_file() && begin.find('\0') == std::string::npos; }
};
/// Bytes. Enough for the magic numbers and the first lines of all kinds.
inline constexpr std::size_t kLookedAt = 4096;

/// A kind of program. Each has a file in lib/programs/import and a line in openers.hpp.
struct Opener {
  std::string_view kind;    // "recording"
  std::string_view origin;  // a description, or the command that writes it, for messages
  /// `nullopt` if the candidate is no program of this kind. Fails if it is one that cannot be opened; the
  /// text names the file and the line or byte. Events are read on demand; problems with them are errors of
  /// their reader, with line or byte too.
  Result<std::optional<Program>> (*open)(const Candidate& candidate);
};

/// In the order in which they are tried.
std::span<const Opener* const> openers();

/// Errors describe what was found under that name, and what could be opened.
Result<Program> open_program(const std::string& name);

/// A program whose ranks are graphs, read when they run.
Program program_of_graphs(const std::string& name, int ranks, std::function<Result<Graph>(int rank)> graph);

/// The number of events of all ranks: from the readers if they know it, otherwise counted.
std::uint64_t events_of(const Program& program);

}  // namespace offramp::trace
