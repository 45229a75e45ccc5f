// Opens Offramp's own recordings: one file, or the parts of a run that did not finish.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/recording/format.hpp"

namespace offramp::trace {
namespace {

using recording::Recording;

// What a recording lacks, in words. Empty if it is complete.
std::string gaps_of(const Recording& recording) {
  std::vector<std::string> parts;
  if (!recording.breaks_off().empty()) parts.push_back(recording.breaks_off());
  std::vector<std::size_t> empty;
  std::map<std::string, std::vector<std::size_t>, std::less<>> ended;  // by reason
  for (int rank = 0; rank < recording.description().ranks; ++rank) {
    const auto number = static_cast<std::size_t>(rank);
    // Even a rank without calls has a header.
    if (recording.bytes(rank) == 0) {
      empty.push_back(number);
    } else if (const auto reader = recording.read(rank); !reader->cut().empty()) {
      ended[std::string(reader->cut())].push_back(number);
    }
  }
  // A cut rank has the usual reason; others are named with theirs.
  const auto cut = ended.extract(std::string(recording::kCut));
  for (const auto& [reason, ranks] : ended) parts.push_back(fmt::format("{}: {}", ranks_text(ranks), reason));
  if (std::string gaps =
          missing_text(cut ? cut.mapped() : std::vector<std::size_t>(), "the end of the program", empty);
      !gaps.empty())
    parts.push_back(std::move(gaps));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Result<std::optional<Program>> open_recording(const Candidate& candidate) {
  if (candidate.is_file() && !candidate.begin.starts_with(recording::kFileMagic))
    return std::optional<Program>();
  Result<Recording> opened = Recording::open(candidate.name);
  if (!opened) {
    // Without a file there may be parts; otherwise the name may mean something else.
    if (!candidate.is_file() && opened.error() == candidate.problem) return std::optional<Program>();
    return failure(opened.error());
  }
  const auto recording = std::make_shared<const Recording>(std::move(*opened));
  Program program;
  program.description = recording->description();
  // Readers share the open file, which the last one closes.
  program.read = [recording](int rank) { return recording->read(rank); };
  program.missing = gaps_of(*recording);
  if (recording->beyond() > 0)
    program.notes.push_back(
        fmt::format("{} after the end of {} do not belong to the recording and are ignored",
                    counted(recording->beyond(), "byte"), in_quotes(candidate.name)));
  program.recording = recording;
  program.is_concurrent = true;
  program.has_arrival = std::ranges::none_of(program.description.facts,
                                             [](const auto& fact) { return fact.first == kArrivalFact; });
  return std::optional(std::move(program));
}

}  // namespace

const Opener kRecordings = {
    .kind = "recording", .origin = "offramp record, offramp run --record", .open = open_recording};

}  // namespace offramp::trace
