// A first pass over a rank's events keeps up to 64 times for each kind of call (reservoir sampling); the
// second pass draws from them. Draws are functions of run, rank, and event, so they are the same for each
// hardware. Time between failed polls stays.
#include "lib/answers/advice/computing_noise.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/programs/recording/forwarding_reader.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

using recording::Event;
using recording::Reader;
using recording::Times;

constexpr std::size_t kKept = 64;         // times of one kind of call
constexpr std::size_t kMostKinds = 4096;  // of one rank; further ones count as not repeated
constexpr std::uint64_t kLeastCalls = 3;

/// Tells kinds of calls apart, thread by thread.
class Kinds {
 public:
  std::uint64_t next(const Reader& reader, const Event& event) {
    std::uint64_t state = event.site;
    for (const std::uint64_t part : {std::uint64_t{event.call}, event.bytes}) state = splitmix(state) + part;
    std::uint64_t& before = before_[reader.thread()];
    std::uint64_t kind = std::exchange(before, std::uint64_t{event.site} << 16U | event.call);
    return splitmix(kind) ^ splitmix(state);
  }

 private:
  std::map<std::uint32_t, std::uint64_t> before_;  // site and call, by thread
};

struct Repetitions {
  std::uint64_t calls = 0;
  double sum = 0;  // nanoseconds
  std::vector<Times> times;
};
using RepetitionsByKind = std::map<std::uint64_t, Repetitions>;

RepetitionsByKind repetitions_of(Reader& reader) {
  RepetitionsByKind all;
  Kinds kinds;
  for (Event event; reader.next(event);) {
    const std::uint64_t kind = kinds.next(reader, event);
    if (all.size() == kMostKinds && !all.contains(kind)) continue;
    Repetitions& one = all[kind];
    const Times times = reader.times();
    one.sum += static_cast<double>(times.computing + times.blocked);
    std::uint64_t state = ++one.calls;
    if (one.times.size() < kKept) {
      one.times.push_back(times);
    } else if (const std::uint64_t place = splitmix(state) % one.calls; place < kKept) {
      one.times[place] = times;
    }
  }
  return all;
}

/// A reader whose times before calls are those of other repetitions.
class AnotherRun final : public recording::ForwardingReader {
 public:
  AnotherRun(const ReplaySource& source, int rank, std::uint64_t run)
      : ForwardingReader(source.read(rank)),
        repetitions_(repetitions_of(*source.read(rank))),
        state_(run << 32U | static_cast<std::uint32_t>(rank)) {}

  bool next(Event& event) override {
    if (!inner_->next(event)) return false;
    times_ = inner_->times();
    const auto found = repetitions_.find(kinds_.next(*inner_, event));
    if (found != repetitions_.end() && found->second.calls >= kLeastCalls) {
      const Times& drawn = found->second.times[splitmix(state_) % found->second.times.size()];
      times_.computing = drawn.computing;
      times_.blocked = drawn.blocked;
    }
    return true;
  }
  [[nodiscard]] Times times() const override { return times_; }

 private:
  RepetitionsByKind repetitions_;
  Kinds kinds_;
  std::uint64_t state_;
  Times times_;
};

}  // namespace

ComputingRepetition computing_repetition(const ReplaySource& source) {
  double all = 0;
  double repeated = 0;
  ComputingRepetition found;
  for (int rank = 0; rank < source.ranks; ++rank) {
    for (const auto& [kind, one] : repetitions_of(*source.read(rank))) {
      all += one.sum;
      if (one.calls < kLeastCalls) continue;
      repeated += one.sum;
      found.varies = found.varies || std::ranges::any_of(one.times, [&](const Times& times) {
                       return times.computing != one.times.front().computing ||
                              times.blocked != one.times.front().blocked;
                     });
    }
  }
  found.repeated = all > 0 ? repeated / all : 1;
  return found;
}

ReplaySource another_run(const ReplaySource& source, std::uint64_t run) {
  ReplaySource other = source;
  other.read = [source, run](int rank) { return std::make_unique<AnotherRun>(source, rank, run); };
  return other;
}

double student_at_nine_tenths(std::size_t values) {
  constexpr std::array kTable = {6.314, 2.920, 2.353, 2.132};
  const std::size_t degrees = std::max<std::size_t>(values, 2) - 1;
  return degrees <= kTable.size() ? kTable.at(degrees - 1) : 1.645 + 1.9 / static_cast<double>(degrees);
}

}  // namespace offramp
