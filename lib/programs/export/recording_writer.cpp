// A recording has one table of function names for all ranks, but names are known only as ranks are read. The
// recorder therefore gets a table of kMost empty names, which Names fills. One recorder is passed on from
// rank to rank. Without recorded arrival, the replay decides what wildcards match (kArrivalFact).
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/programs/export/writers.hpp"
#include "lib/programs/recording/recorder.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::Reader;
using recording::Recorder;

/// The function names used by the events of all ranks.
class Names {
 public:
  Names() { pointers_.resize(kMost, ""); }
  [[nodiscard]] std::span<const char* const> all() const { return pointers_; }
  /// `nullopt` if there are too many names.
  std::optional<std::uint16_t> number(std::string_view name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    if (names_.size() == kMost) return std::nullopt;
    const auto number = static_cast<std::uint16_t>(names_.size());
    names_.emplace_back(name);
    // A deque keeps its strings in place, so the recorder's pointers stay valid.
    pointers_[number] = names_.back().c_str();
    numbers_.emplace(names_.back(), number);
    return number;
  }

 private:
  static constexpr std::size_t kMost = 1024;  // MPI has about 600
  std::deque<std::string> names_;
  std::vector<const char*> pointers_;
  std::unordered_map<std::string_view, std::uint16_t> numbers_;
};

/// Call sites in the program, numbered as in the recorder of one rank.
class Sites {
 public:
  std::uint32_t number(std::string_view name, Recorder& recorder) {
    if (name.empty()) return 0;
    const auto [place, is_new] = numbers_.try_emplace(std::string(name), 0);
    if (is_new) place->second = recorder.site(name);
    return place->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// Records one rank.
Result<void> record(Reader& reader, Recorder& recorder, Names& names, bool has_arrival) {
  Sites sites;
  for (Event event; reader.next(event);) {
    const auto name = names.number(reader.call(event.call));
    if (!name) return failure("the program calls more functions than a recording can name");
    event.call = *name;
    event.site = sites.number(reader.site(event.site), recorder);
    recorder.switch_to(reader.thread());
    for (std::uint64_t i = reader.polls(); i > 0; --i) recorder.polled(event.call);
    recorder.add_poll_gaps(reader.gaps());
    const recording::Times times = reader.times();
    recorder.passed(times.computing, times.blocked);
    // Lists belong to one event and are numbered anew.
    event.list = recorder.list(reader.list(event.list));
    event.second_list = recorder.list(reader.list(event.second_list));
    const std::uint32_t before = recorder.wildcards();
    recorder.add(event);
    if (times.native > 0) recorder.lasted(recorder.time_event(), times.native);
    if (!has_arrival) continue;
    if (recorder.wildcards() > before) {
      if (const auto match = reader.match()) recorder.matched(recorder.wildcards(), *match);
    }
    if (!reader.choice().empty()) recorder.chosen(reader.choice());
  }
  return success_or(reader.error());
}

}  // namespace

Result<recording::Recording> recording_of(const Program& program) {
  Names names;
  std::vector<std::string> parts;
  std::unique_ptr<Recorder> recorder;
  for (int rank = 0; rank < program.description.ranks; ++rank) {
    const recording::RecorderOptions options{
        .rank = rank, .ranks = program.description.ranks, .calls = names.all(), .file = {}};
    recorder = recorder == nullptr ? std::make_unique<Recorder>(options)
                                   : std::make_unique<Recorder>(options, std::move(*recorder));
    const std::unique_ptr<Reader> reader = program.read(rank);
    if (const Result<void> done = record(*reader, *recorder, names, program.has_arrival); !done)
      return failure(done.error());
    parts.push_back(recorder->finish());
    if (!recorder->complete())
      return failure(
          fmt::format("rank {}: its recording would be larger than {} MiB", rank, options.limit >> 20U));
  }
  recording::Description description = program.description;
  if (!program.has_arrival) description.facts.emplace_back(kArrivalFact, "decided by the replay");
  return recording::Recording::from_parts(std::move(description), std::move(parts));
}

Result<void> write_recording(const Program& program, const std::string& path) {
  const auto recording = recording_of(program);
  return recording ? recording->write(path) : failure(recording.error());
}

}  // namespace offramp::trace
