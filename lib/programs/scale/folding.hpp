// The calls of a rank folded into loops. The shape of a loop contains what is equal in all its turns: kind of
// call, function, communicator. Values that may differ between turns (peers, sizes, tags, lists, times) are
// stored beside it as series in program order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/programs/import/program.hpp"
#include "lib/programs/recording/event.hpp"

namespace offramp::scale {

/// A run-length encoded sequence of values.
class Series {
 public:
  /// Extends the last run if the value is the same.
  void add(std::int64_t value, std::uint64_t times = 1) {
    if (!runs_.empty() && runs_.back().value == value) {
      runs_.back().times += times;
    } else {
      runs_.push_back({value, times});
    }
  }
  /// Adds the other series at the end. Runs may merge.
  void append(const Series& other) {
    for (const Repetition& run : other.runs_) add(run.value, run.times);
  }

  struct Repetition {
    std::int64_t value = 0;
    std::uint64_t times = 0;
  };
  /// Valid until the series changes.
  [[nodiscard]] std::span<const Repetition> runs() const { return runs_; }
  [[nodiscard]] bool is_constant() const { return runs_.size() <= 1; }
  /// The first value; 0 without any.
  [[nodiscard]] std::int64_t first() const { return runs_.empty() ? 0 : runs_.front().value; }

 private:
  std::vector<Repetition> runs_;
};

/// The values of a call that are kept beside the shape.
enum class Field : std::uint8_t {
  kPeer,
  kTag,
  kBytes,
  kExtra,
  kList,
  kSecondList,
  kComputing,
  kBlocked,
  kNative,
  kCount
};
/// Fields of program and times together.
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kCount);
/// The fields that the program determines. The others are times, in the order of recording::Times.
inline constexpr std::size_t kProgramFields = static_cast<std::size_t>(Field::kComputing);
inline constexpr std::size_t kTimeFields = kFields - kProgramFields;
/// In the order of Field, for messages: both lists are "list".
inline constexpr std::string_view kFieldNames[] = {
    "peer", "tag", "size", "number of elements", "list", "list", "time", "time", "time"};
static_assert(std::size(kFieldNames) == kFields);
/// One series per Field.
using AllSeries = std::array<Series, kFields>;

/// A call, or a loop.
struct Node {
  std::uint32_t symbol = 0;  // of a call
  std::uint64_t count = 0;   // turns of a loop; 0: it is a call
  std::uint64_t hash = 0;    // of the shape
  std::vector<Node> body;
  std::unique_ptr<AllSeries> series;  // of a call

  [[nodiscard]] bool is_loop() const { return count > 0; }
};

/// Numbers calls, lists, and names, equally for all recordings.
/// Must outlive the folded programs, which refer to its numbers. Numbers never change.
class Pool {
 public:
  /// The empty list gets number 0.
  Pool() { (void)list({}); }
  /// The number of an event without the values of its fields. Keeps a tag that belongs to the shape.
  /// Event::call is replaced by the pool's number of the name.
  std::uint32_t symbol(recording::Event event, std::string_view call);
  /// Without the values of its fields.
  [[nodiscard]] const recording::Event& event(std::uint32_t symbol) const { return events_[symbol]; }
  [[nodiscard]] const std::string& call(std::uint16_t number) const { return calls_[number]; }
  [[nodiscard]] const std::string& call_of(std::uint32_t symbol) const {
    return calls_[events_[symbol].call];
  }
  /// The empty list is 0.
  std::uint32_t list(std::span<const std::uint64_t> values);
  /// Valid as long as the pool.
  [[nodiscard]] const std::vector<std::uint64_t>& values(std::int64_t list) const {
    return *lists_[static_cast<std::size_t>(list)];
  }

 private:
  std::vector<recording::Event> events_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> symbols_;  // by hash
  std::vector<std::string> calls_;
  std::map<std::string, std::uint16_t, std::less<>> call_numbers_;
  /// Keys of list_numbers_, which stay in place.
  std::vector<const std::vector<std::uint64_t>*> lists_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> list_numbers_;
};

/// The folded calls of a rank, and how often arrival order decided something.
struct FoldedRank {
  std::int64_t rank = 0;
  std::vector<Node> body;
  /// The size of each communicator and the rank in it, in the order of their numbers.
  std::vector<std::pair<std::int64_t, std::int64_t>> communicators;
  std::uint64_t events = 0;
  std::uint64_t wildcards = 0;  // receives and probes without a named source
  std::uint64_t choices = 0;    // waits for one or some of several requests
  std::uint64_t questions = 0;  // failed polls
};

/// A recording, folded. Ranks are in order.
struct FoldedProgram {
  std::string name;
  std::int64_t ranks = 0;
  std::vector<FoldedRank> each;
};

/// kShape: calls with different tags are different calls, and a tag cannot depend on turn or rank. kValues:
/// successive loops that only differ in their tags become one.
enum class Tags : std::uint8_t { kValues, kShape };

/// Explains why a rank with calls of several threads is neither scaled nor compared, with advice.
std::string several_threads_text(int rank);

/// Errors name the rank.
/// Reads all ranks, one after the other.
Result<FoldedProgram> fold(const std::string& name, const trace::Program& program, Pool& pool,
                           Tags tags = Tags::kValues);

}  // namespace offramp::scale
