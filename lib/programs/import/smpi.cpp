// Finds the lines of each rank, in one file for all ranks or in a list with a file per rank. SmpiRank reads
// them as events. In a shared file each rank has its own reader, which skips other ranks' lines, so no events
// are kept in memory. Data that the format omits (requests of collectives, tags of sendrecv, sizes of some
// collectives) is completed as in SMPI's own replay. The notes of program_of() list what cannot be.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/import/smpi_rank.hpp"

namespace offramp::trace {
namespace {

/// The rank in the next line that is neither empty nor a comment, if it is a line of a trace.
std::optional<int> next_rank(Lines& lines) {
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    split(line, words);
    if (words.empty() || words[0].starts_with('#')) continue;
    const auto rank = smpi_rank_in(words[0]);
    // A first line of another kind ends the search: then it is no trace.
    if (rank && words.size() > 1 && is_smpi_action(words[1])) return rank;
    return std::nullopt;
  }
  return std::nullopt;
}

/// Finds the lines of each rank in a file, by reading rank and action of all lines.
Result<std::vector<SmpiPart>> find_parts(const std::shared_ptr<const recording::Source>& source) {
  std::vector<SmpiPart> parts;
  // Characters. Rank and action come first, while lists of sizes may be long.
  constexpr std::size_t kLookedAtOfLine = 64;
  Lines lines(source);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    split(line.substr(0, kLookedAtOfLine), words);
    if (words.empty() || words[0].starts_with('#')) continue;
    const std::optional<int> rank = smpi_rank_in(words[0]);
    if (!rank) return failure(lines.at("it does not begin with a rank below 2^20"));
    if (words.size() < 2) return failure(lines.at("it has a rank but no action"));
    const auto index = static_cast<std::size_t>(*rank);
    // The highest rank sets the number of ranks.
    if (index >= parts.size()) parts.resize(index + 1);
    SmpiPart& part = parts[index];
    if (part.source == nullptr) part = {source, lines.offset(), lines.number() - 1, 0};
    part.last = lines.offset();
    note_action(words, lines.number(), part);
  }
  if (!lines.error().empty()) return failure(lines.error());
  return parts;
}

/// One file with the lines of all ranks. Each rank reads from its first line to its last.
Result<std::vector<SmpiPart>> parts_of_shared(const std::shared_ptr<const recording::Source>& source) {
  Result<std::vector<SmpiPart>> parts = find_parts(source);
  // A few bytes must not create a million ranks.
  for (std::size_t rank = 0; parts && rank < parts->size(); ++rank) {
    if ((*parts)[rank].source == nullptr)
      return failure(fmt::format("cannot read {}: it has lines of rank {} but none of rank {}",
                                 printable(source->name()), parts->size() - 1, rank));
  }
  return parts;
}

// Directories and FIFOs in a list are not opened.
bool is_regular_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Finds a name in a list. It is relative to the working directory, as in SMPI, to the folder of the list, or
/// to its parent, as in SimGrid's own examples.
std::string found_file(const std::string& list, const std::string& name) {
  if (is_regular_file(name) || name.starts_with('/')) return name;
  const std::size_t slash = list.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : list.substr(0, slash + 1);
  for (const char* const from : {"", "../"}) {
    std::string file = folder;
    file.append(from).append(name);
    if (is_regular_file(file)) return file;
  }
  // Without a match, the message names the most likely place.
  return folder + name;
}

std::string trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(line.substr(begin, line.find_last_not_of(" \t") + 1 - begin));
}

/// One file per rank. Tracers list them in any order, so the rank is taken from the lines.
Result<std::vector<SmpiPart>> parts_of_list(
    const std::vector<std::shared_ptr<const recording::Source>>& files) {
  std::vector<SmpiPart> parts(files.size());
  for (const auto& file : files) {
    Lines lines(file);
    const std::optional<int> rank = next_rank(lines);
    if (!rank && lines.number() > 0) return failure(lines.at("this line does not begin with RANK ACTION"));
    // It may belong to any rank without a file.
    if (!rank) continue;  // an empty file
    if (static_cast<std::size_t>(*rank) >= parts.size())
      return failure(lines.at(fmt::format("rank {}, but the list has {} files", *rank, files.size())));
    Result<std::vector<SmpiPart>> found = find_parts(file);
    if (!found) return found;
    // A rank's lines in another's file would be lost.
    for (std::size_t other = 0; other < found->size(); ++other) {
      if ((*found)[other].source != nullptr && other != static_cast<std::size_t>(*rank))
        return failure(fmt::format("{}:{}: a line of rank {} in the file of rank {}", file->name(),
                                   (*found)[other].lines_before + 1, other, *rank));
    }
    SmpiPart& part = parts[static_cast<std::size_t>(*rank)];
    if (part.source != nullptr)
      return failure(lines.at(fmt::format("{} also belongs to rank {}", part.source->name(), *rank)));
    part = std::move(found->back());
  }
  return parts;
}

// Ranks that are absent, or that lack the end of MPI.
std::string missing_of(const std::vector<SmpiPart>& parts) {
  std::vector<std::size_t> cut;
  std::vector<std::size_t> absent;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].source == nullptr) absent.push_back(rank);
    if (parts[rank].begins && !parts[rank].ends) cut.push_back(rank);
  }
  return missing_text(cut, "finalize", absent);
}

/// The file and line of a line of the part: "FILE:12".
std::string line_of(const SmpiPart* part, std::uint64_t SmpiPart::*line) {
  return fmt::format("{}:{}", part->source->name(), part->*line);
}

/// Returns false for traces from before SimGrid 3.20. If no line shows it, all lines of messages are PEER A
/// B: A is a tag and B a count, unless each B can be a type and some A can hardly be a tag.
Result<bool> have_tags(const std::vector<SmpiPart>& parts) {
  // The first part with such a line. Null without one.
  const auto first = [&parts](std::uint64_t SmpiPart::*line) {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [line](const auto& part) { return part.*line > 0; });
    return found == parts.end() ? nullptr : &*found;
  };
  const SmpiPart* const tagged = first(&SmpiPart::tagged);
  const SmpiPart* const tagless = first(&SmpiPart::tagless);
  if (tagged != nullptr && tagless != nullptr)
    return failure(fmt::format("{}: too few arguments: {} is written with tags, as from SimGrid 3.20 on",
                               line_of(tagless, &SmpiPart::tagless), line_of(tagged, &SmpiPart::tagged)));
  // One clear line is enough.
  if (tagged != nullptr || tagless != nullptr) return tagged != nullptr;
  return first(&SmpiPart::typeless) != nullptr || first(&SmpiPart::large_tag) == nullptr;
}

Result<std::optional<Program>> program_of(const std::string& name, std::vector<SmpiPart> parts) {
  const Result<bool> has_tags = have_tags(parts);
  if (!has_tags) return failure(has_tags.error());
  Program trace;
  trace.has_arrival = false;
  trace.description.facts = {{"program", name}};
  trace.description.ranks = static_cast<int>(parts.size());
  trace.missing = missing_of(parts);
  trace.notes = {"computing is in flops: each takes 1 ns (--compute FACTOR sets another speed)",
                 "functions of reductions are not in the trace: they are sums",
                 "sizes of MPI_Reduce_scatter_block are not in the trace: they are 0",
                 "all collectives are on the communicator of all ranks",
                 "sizes of derived types are not in the trace: they count as the default type",
                 "the outcome of tests is not recorded: they take no time"};
  if (!*has_tags)
    trace.notes.emplace_back(
        "it is from before SimGrid 3.20: messages have no tag, and a wait is for the last request");
  const auto shared = std::make_shared<const std::vector<SmpiPart>>(std::move(parts));
  trace.read = [shared, tags = *has_tags](int rank) {
    return read_smpi((*shared)[static_cast<std::size_t>(rank)], rank, static_cast<int>(shared->size()), tags);
  };
  return std::optional(std::move(trace));
}

/// Returns true if each line is one word that looks like a path.
bool is_list_of_paths(std::string_view text) {
  constexpr std::string_view kOfPaths =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+~@%=\r";
  const bool is_all = text.size() < kLookedAt;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && !is_all) return true;  // cut within a line
    const std::string name = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
    if (name.find_first_not_of(kOfPaths) != std::string::npos) return false;
    if (!name.empty() && name.find_first_of("/.") == std::string::npos) return false;
  }
  return true;
}

Result<std::optional<Program>> open_smpi(const Candidate& candidate) {
  if (!candidate.is_text()) return std::optional<Program>();
  const std::string& path = candidate.name;
  Result<recording::Source> opened = recording::Source::look(path);
  if (!opened) return failure(opened.error());
  const auto source = std::make_shared<const recording::Source>(std::move(*opened));
  // A trace itself is tried first, then a list of traces.
  Lines first(source);
  if (next_rank(first)) {
    Result<std::vector<SmpiPart>> parts = parts_of_shared(source);
    return parts ? program_of(path, std::move(*parts)) : failure(parts.error());
  }
  std::vector<std::shared_ptr<const recording::Source>> files;
  Lines list(source);
  for (std::string_view line; list.next(line);) {
    const std::string name = trimmed(line);
    if (name.empty()) continue;
    // Bytes, as PATH_MAX of Linux.
    constexpr std::size_t kLongestName = 4096;
    const std::string file = name.size() > kLongestName ? "" : found_file(path, name);
    Result<recording::Source> listed =
        file.empty() ? failure("its name is too long") : recording::Source::look(file);
    // Any text could be a list: only one whose first file exists, or that looks like paths, is taken for it.
    if (!listed && files.empty() && !is_list_of_paths(candidate.begin)) return std::optional<Program>();
    if (!listed && files.empty())
      return failure(
          list.at(fmt::format("{}; a list of SMPI's traces names one file per line", listed.error())));
    if (!listed) return failure(list.at(listed.error()));
    files.push_back(std::make_shared<const recording::Source>(std::move(*listed)));
    Lines lines(files.back());
    if (files.size() == 1 && !next_rank(lines)) return std::optional<Program>();
    if (files.size() > std::size_t{kMostRanks}) return failure(list.at("there are more than 2^20 files"));
  }
  if (files.empty()) return std::optional<Program>();
  Result<std::vector<SmpiPart>> parts =
      // A single file may hold all ranks, as SMPI's tracer writes it.
      files.size() == 1 ? parts_of_shared(files.front()) : parts_of_list(files);
  return parts ? program_of(path, std::move(*parts)) : failure(parts.error());
}

}  // namespace

const Opener kSmpiTraces = {.kind = "SMPI trace", .origin = "smpirun -trace-ti", .open = open_smpi};

}  // namespace offramp::trace
