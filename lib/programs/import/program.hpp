// Programs that a world can replay, behind one door: recordings, patterns and traces of other tools. What a
// name stands for is found by content, not by its ending.
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

/// A fact of recordings whose program does not say what the order of arrival decided: the world decides.
inline constexpr std::string_view kArrivalFact = "order of arrival";

/// An open program. Copies share what is open, which stays open until the last of them and the last reader
/// are gone.
struct Program {
  std::string kind;  // "recording": for messages and reports
  recording::Description description;
  /// The events of one rank, below description.ranks, in program order and in bounded memory. Readers are
  /// independent of each other.
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;
  /// What it lacks, in words: "it breaks off at its byte 20000; nothing is there of ranks 2 and 3". Empty: it
  /// is whole, as far as can be told without reading all of it.
  std::string missing;
  /// What its user should know and what stops no replay, a sentence each.
  std::vector<std::string> notes;
  /// Null: it is none, and has neither a size per rank nor a checksum.
  std::shared_ptr<const recording::Recording> recording;
  /// What wildcards took, and which of several requests was done first, is part of it. Else a world decides.
  bool has_arrival = true;
  /// Where a rank's operations depend on each other as in a graph: that of one rank. Empty: they are a
  /// sequence of calls.
  std::function<Result<Graph>(int rank)> graph = {};
};

/// What Program::missing says of ranks whose events end before something, "MPI_Finalize", and of ranks that
/// have none. Empty if both lists are.
std::string missing_text(const std::vector<std::size_t>& cut, std::string_view before,
                         const std::vector<std::size_t>& absent);

/// What a user named, for openers to look at.
struct Candidate {
  std::string name;
  /// The first bytes of the file of that name, all of a file that is shorter than kLookedAt.
  std::string begin;
  /// Why there is no such file, or none that can be read. Empty: there is one.
  std::string problem;

  [[nodiscard]] bool is_file() const { return problem.empty(); }
  /// No zero bytes in what was looked at.
  [[nodiscard]] bool is_text() const { return is_file() && begin.find('\0') == std::string::npos; }
};
inline constexpr std::size_t kLookedAt = 4096;

/// A kind of program. Each has a file of its own in lib/programs/import, and a line in openers.hpp.
struct Opener {
  std::string_view kind;    // "recording"
  std::string_view origin;  // what it is, or which command writes it, for messages
  /// Nothing: the candidate is no program of this kind. A failure: it is one, and cannot be opened; the text
  /// names the file and the line or the byte. Events are not read before they are asked for; what is wrong
  /// with them is the error of their reader, with line or byte, too.
  Result<std::optional<Program>> (*open)(const Candidate& candidate);
};

/// In the order in which they are asked.
std::span<const Opener* const> openers();

/// An error says what was found under that name, and what could be opened.
Result<Program> open_program(const std::string& name);

/// One whose ranks are graphs, which are read when they run.
Program program_of_graphs(const std::string& name, int ranks, std::function<Result<Graph>(int rank)> graph);

/// Events of all ranks: as many as each reader says that it has, or as there are.
std::uint64_t events_of(const Program& program);

}  // namespace offramp::trace
