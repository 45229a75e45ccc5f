// Programs for the tests of recordings: a rank's calls, recorded and read back.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/programs/recording/event_code.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/programs/recording/recorder.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp::recording {

inline constexpr std::array kCalls = {"MPI_Send", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Isend"};

/// One event with everything recorded beside it.
struct Step {
  Event event;
  std::vector<std::uint64_t> list = {};
  std::vector<std::uint64_t> second = {};
  std::uint64_t computed = 0;
  std::uint64_t polls = 0;
  std::vector<std::uint32_t> choice = {};
  std::optional<Match> match = {};
  std::uint32_t thread = 0;
};

struct ReadStep {
  Step step;
  std::string call;
};

inline Event message(EventKind kind, int peer, std::uint64_t bytes, int tag = 7) {
  Event event;
  event.kind = kind;
  event.peer = peer;
  event.bytes = bytes;
  event.tag = tag;
  event.call = kind == EventKind::kSend ? 4 : 1;
  return event;
}

inline Event wait_all(std::uint64_t extra = 0) {
  Event event;
  event.kind = EventKind::kWait;
  event.call = 2;
  event.extra = extra;
  return event;
}

inline Event allreduce(std::uint64_t bytes) {
  Event event;
  event.kind = EventKind::kCollective;
  event.operation = OperationKind::kAllreduce;
  event.element = ElementType::kFloat64;
  event.function = ReduceFunction::kSum;
  event.flags = kBlocking;
  event.bytes = bytes;
  event.extra = bytes / 8;
  event.call = 3;
  return event;
}

inline void record(Recorder& recorder, const Step& step) {
  recorder.switch_to(step.thread);
  if (step.computed > 0) recorder.passed(step.computed, 0);
  for (std::uint64_t i = 0; i < step.polls; ++i) recorder.polled(0);
  Event event = step.event;
  event.list = recorder.list(step.list);
  event.second_list = recorder.list(step.second);
  recorder.add(event);
  if (!step.choice.empty()) recorder.chosen(step.choice);
  if (step.match) recorder.matched(recorder.wildcards(), *step.match);
}

inline RecorderOptions options_of(int rank = 0, int ranks = 1) {
  RecorderOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.calls = kCalls;
  return options;
}

inline std::string record(const std::vector<Step>& steps, const RecorderOptions& options = options_of()) {
  Recorder recorder(options);
  for (const Step& step : steps) record(recorder, step);
  return recorder.finish();
}

inline std::vector<ReadStep> read_all(Reader& reader) {
  std::vector<ReadStep> steps;
  for (Event event; reader.next(event);) {
    const auto values = [&reader](std::uint32_t number) {
      const auto list = reader.list(number);
      return std::vector<std::uint64_t>(list.begin(), list.end());
    };
    Step step{event,
              values(event.list),
              values(event.second_list),
              reader.times().computing,
              reader.polls(),
              {reader.choice().begin(), reader.choice().end()},
              reader.match(),
              reader.thread()};
    steps.push_back({step, std::string(reader.call(event.call))});
  }
  return steps;
}

/// Compares events with their lists; the numbers of the lists may differ.
inline bool same_event(const Step& written, const ReadStep& read) {
  Event expected = written.event;
  expected.list = read.step.event.list;
  expected.second_list = read.step.event.second_list;
  expected.call = read.step.event.call;
  return expected == read.step.event && read.call == kCalls.at(written.event.call) &&
         written.list == read.step.list && written.second == read.step.second;
}

/// A recording of one rank.
inline Result<Recording> one_rank(std::string part) {
  return Recording::from_parts({}, std::vector<std::string>{std::move(part)});
}

/// A folder for this test only.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "offramp-recording-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t end) { return splitmix(state_) % end; }
  std::uint64_t any() { return splitmix(state_); }

 private:
  std::uint64_t state_;
};

}  // namespace offramp::recording
