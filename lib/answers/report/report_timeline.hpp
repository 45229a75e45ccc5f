// Makes the timeline of a page from the calls of a replay and the stages of their receipts. One thread.
//
//   TimelineBuilder builder(ends);
//   for each rank, in order: builder.call(...) for each of its calls, then builder.end_rank(...)
//   ReportTimeline timeline = builder.release();
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/answers/report/receipt.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

class TimelineBuilder {
 public:
  static constexpr std::size_t kMostRanks = 64;
  static constexpr std::size_t kMostSlices = 20'000;       // of all ranks
  static constexpr std::size_t kMostSlicesOfRank = 2'500;  // keeps its text below kLongestText

  /// ends: the modelled time at which each rank ends.
  explicit TimelineBuilder(std::vector<Time> ends);

  /// Adds a call of the current rank, with its stages in the order of time. bytes: the size of its largest
  /// operation. If calls overlap, as those of threads do, the later one begins at the end of the earlier one.
  void call(const std::string& function, std::uint64_t bytes, const std::vector<ReceiptLine>& stages);
  /// Ends the current rank. is_whole: all of its calls were added. Otherwise its last slice ends early.
  void end_rank(bool is_whole);
  /// Returns the timeline after the last rank. The builder is empty then.
  [[nodiscard]] ReportTimeline release();

 private:
  struct Slice {
    Time length;
    std::size_t kind = 0;      // a TimeKind, or kComputing
    std::size_t function = 0;  // an index into the timeline's functions
    std::uint64_t bytes = 0;
    std::uint64_t joined = 1;  // slices that it joins
  };
  static constexpr std::size_t kComputing = TimeParts::kKinds;

  [[nodiscard]] bool is_drawn() const { return rank_ < timeline_.drawn_ranks; }
  void add(const Slice& slice);
  [[nodiscard]] static std::vector<Slice> joined(const std::vector<Slice>& slices, Time shortest);

  std::vector<Time> ends_;
  ReportTimeline timeline_;
  std::size_t rank_ = 0;
  Time at_;                    // the end of the current rank's last slice
  std::vector<Slice> slices_;  // of the current rank
  std::map<std::string, std::size_t, std::less<>> functions_;
};

/// Keeps the timelines of the baseline and of the fastest other lane, and drops the others. Without a
/// baseline, the first lane takes its place.
void keep_drawn_timelines(RunReport& report);

}  // namespace offramp
