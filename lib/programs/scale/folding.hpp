// What a rank did, folded into loops. What is alike in all turns of a loop (the kind of a call, its function,
// its communicator) makes its shape; what may differ from turn to turn (peers, sizes, tags, lists, times)
// stands beside it as series in the order of the program.
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

/// Values one behind the other, equal ones that follow each other as one.
class Series {
 public:
  void add(std::int64_t value, std::uint64_t times = 1) {
    if (!runs_.empty() && runs_.back().value == value) {
      runs_.back().times += times;
    } else {
      runs_.push_back({value, times});
    }
  }
  void append(const Series& other) {
    for (const Run& run : other.runs_) add(run.value, run.times);
  }

  struct Run {
    std::int64_t value = 0;
    std::uint64_t times = 0;
  };
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  [[nodiscard]] bool is_constant() const { return runs_.size() <= 1; }
  [[nodiscard]] std::int64_t first() const { return runs_.empty() ? 0 : runs_.front().value; }

 private:
  std::vector<Run> runs_;
};

enum class Field : std::uint8_t { kPeer, kTag, kBytes, kExtra, kList, kSecondList, kTime, kCount };
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kCount);
/// Those that the program decides. CPU time is the machine's.
inline constexpr std::size_t kProgramFields = static_cast<std::size_t>(Field::kTime);
std::string_view to_string(Field field);
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

/// Which numbers stand for which calls, lists and names, the same for all recordings.
class Pool {
 public:
  Pool() { (void)list({}); }
  /// The event with the values of its fields left out, but for a tag that belongs to the shape, and
  /// Event::call as the pool counts names.
  std::uint32_t symbol(recording::Event event, std::string_view call);
  [[nodiscard]] const recording::Event& event(std::uint32_t symbol) const { return events_[symbol]; }
  [[nodiscard]] const std::string& call(std::uint16_t number) const { return calls_[number]; }
  [[nodiscard]] const std::string& call_of(std::uint32_t symbol) const {
    return calls_[events_[symbol].call];
  }
  /// The empty list is 0.
  std::uint32_t list(std::span<const std::uint64_t> values);
  [[nodiscard]] const std::vector<std::uint64_t>& values(std::int64_t list) const {
    return *lists_[static_cast<std::size_t>(list)];
  }

 private:
  std::vector<recording::Event> events_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> symbols_;  // by hash
  std::vector<std::string> calls_;
  std::map<std::string, std::uint16_t, std::less<>> call_numbers_;
  std::vector<const std::vector<std::uint64_t>*> lists_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> list_numbers_;
};

/// What a rank did, and what the order of arrival and the machine decided in it.
struct FoldedRank {
  std::int64_t rank = 0;
  std::vector<Node> body;
  /// The size of each communicator of the rank, in the order of their numbers, and the rank in it.
  std::vector<std::pair<std::int64_t, std::int64_t>> communicators;
  std::uint64_t events = 0;
  std::uint64_t wildcards = 0;  // receives and probes that name no source
  std::uint64_t choices = 0;    // waits for one or some of several
  std::uint64_t questions = 0;  // that found nothing
};

struct FoldedProgram {
  std::string name;
  std::int64_t ranks = 0;
  std::vector<FoldedRank> each;
};

/// Whether calls with different tags are different calls. Then a tag cannot depend on the turn or the rank;
/// else two loops behind each other that only their tags tell apart are one.
enum class Tags : std::uint8_t { kValues, kShape };

/// Why a rank whose calls are of several threads is neither scaled nor compared, and what can be done.
std::string several_threads_text(int rank);

/// An error names the rank.
Result<FoldedProgram> fold(const std::string& name, const trace::Program& program, Pool& pool,
                           Tags tags = Tags::kValues);

}  // namespace offramp::scale
