// Opens programs: tries each opener, and describes what was found if none accepts the name.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/recording/format.hpp"
#include "lib/programs/recording/source.hpp"

namespace offramp::trace {
namespace {

// Reads the first bytes only once for all openers. A folder or a missing file is no error here: an opener may
// know the name.
Candidate look_at(const std::string& name) {
  Candidate candidate;
  candidate.name = name;
  const Result<recording::Source> source = recording::Source::open(name);
  if (!source) {
    candidate.problem = source.error();
    return candidate;
  }
  std::vector<std::uint8_t> buffer;
  const Result<recording::ByteSpan> begin = source->read(0, kLookedAt, buffer);
  if (begin) candidate.begin = recording::text_of(*begin);
  // Empty if the file could be read.
  candidate.problem = begin.error();
  return candidate;
}

/// The formats, one a line.
std::string supported_formats() {
  std::string text = "supported formats:";
  for (const Opener* opener : openers()) text += fmt::format("\n  {} ({})", opener->kind, opener->origin);
  return text;
}

/// Describes a file that contains no program, from its first bytes.
std::string found_in(const Candidate& candidate) {
  // The first bytes of a known file, and what the user can do with it.
  struct Known {
    std::string_view begin;
    std::string_view text;
  };
  using namespace std::string_view_literals;
  // Magic numbers of binary files. The literals are split where a letter would continue an escape.
  constexpr Known kKnown[] = {
      {recording::kPartMagic, "it is one rank's part of a recording: name the recording, without .rank-N"},
      {"\x1f\x8b"sv, "it is compressed by gzip: unpack it first"},
      {"\x28\xb5\x2f\xfd"sv, "it is compressed by zstd: unpack it first"},
      {"\xfd"
       "7zXZ"sv,
       "it is compressed by xz: unpack it first"},
      {"\xff\xaa\xdd"
       "DUMPI"sv,
       "it is a binary DUMPI trace: convert it to text with dumpi2ascii -f FILE > FILE.txt"},
      {"\x7f"
       "ELF"sv,
       "it is a compiled program: record it first with offramp record"}};
  if (candidate.begin.empty()) return "it is empty";
  for (const Known& known : kKnown) {
    if (candidate.begin.starts_with(known.begin)) return std::string(known.text);
  }
  // Texts: one of their first lines begins with this.
  constexpr Known kKnownLines[] = {
      {"fileprefix=",
       "it lists binary DUMPI traces: convert each to text with dumpi2ascii, and name one of the texts"},
      {"%EventDef Paje",
       "it is a Paje trace, which has times but no calls: run smpirun with -trace-ti instead"},
      {"#Paraver (", "it is a Paraver trace: convert it to OTF2, or record the program with offramp record"},
      {"#DIMEMAS:", "it is a Dimemas trace: record the program with offramp record instead"}};
  // The first word of ASTRA-sim 1.0's workloads names the way of parallelising the model.
  constexpr std::string_view kAstraWorkloads[] = {"MICRO", "DATA", "MODEL", "HYBRID_", "TRANSFORMER", "DLRM"};
  // Characters of an unknown text's first line in the message.
  constexpr std::size_t kShown = 40;
  const std::string_view begin = candidate.begin;
  for (const Known& known : kKnownLines) {
    if (candidate.is_text() && (begin.starts_with(known.begin) ||
                                begin.find("\n" + std::string(known.begin)) != std::string_view::npos))
      return std::string(known.text);
  }
  // A number of layers follows the first line of a workload.
  const std::size_t line = std::min(begin.find('\n'), begin.size() - 1);
  if (begin[line] == '\n' && line + 1 < begin.size() && begin[line + 1] >= '0' && begin[line + 1] <= '9' &&
      std::any_of(std::begin(kAstraWorkloads), std::end(kAstraWorkloads),
                  [&](std::string_view word) { return begin.starts_with(word); }))
    return "it is a text workload of ASTRA-sim 1.0: convert it with chakra_converter Text, and name one of "
           "the .et files";
  if (candidate.is_text())
    return fmt::format("unknown format (text that begins {})\n{}",
                       in_quotes(begin.substr(0, std::min(begin.find('\n'), kShown))), supported_formats());
  std::string bytes;
  for (const char c : begin.substr(0, 8)) bytes += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  return fmt::format("unknown format (begins with the bytes{})\n{}", bytes, supported_formats());
}

}  // namespace

std::span<const Opener* const> openers() {
  return kOpeners;
}

// before: the event that the ranks lack. Both lists are in order of ranks.
std::string missing_text(const std::vector<std::size_t>& cut, std::string_view before,
                         const std::vector<std::size_t>& absent) {
  std::vector<std::string> parts;
  if (!cut.empty())
    parts.push_back(
        fmt::format("{} {} off before {}", ranks_text(cut), cut.size() == 1 ? "is cut" : "are cut", before));
  if (!absent.empty()) parts.push_back(fmt::format("no events of {}", ranks_text(absent)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Result<Program> open_program(const std::string& name) {
  const Candidate candidate = look_at(name);
  for (const Opener* opener : openers()) {
    Result<std::optional<Program>> opened = opener->open(candidate);
    // An opener that recognises a file but cannot read it ends the search: its message is the best.
    if (!opened) return failure(opened.error());
    if (!opened->has_value()) continue;
    (*opened)->kind = opener->kind;
    return std::move(**opened);
  }
  if (!candidate.is_file()) return failure(candidate.problem);
  return failure(fmt::format("cannot read {}: {}", printable(name), found_in(candidate)));
}

Program program_of_graphs(const std::string& name, int ranks, std::function<Result<Graph>(int rank)> graph) {
  Program program;
  // Graphs have no times of their own, so ranks arrive when their dependencies end.
  program.has_arrival = false;
  program.description.facts = {{"program", name}};
  program.description.ranks = ranks;
  program.graph = std::move(graph);
  // Each reader runs its own copy of the graph.
  program.read = [read = program.graph](int rank) {
    Result<Graph> made = read(rank);
    return made ? run_graph(std::move(*made)) : no_graph(made.error());
  };
  return program;
}

std::uint64_t events_of(const Program& program) {
  std::uint64_t events = 0;
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const auto reader = program.read(rank);
    // Some formats store the number. Others are read to the end, which takes as long as a replay.
    if (const auto said = reader->events()) {
      events += *said;
      continue;
    }
    for (recording::Event event; reader->next(event);) ++events;
  }
  return events;
}

}  // namespace offramp::trace
