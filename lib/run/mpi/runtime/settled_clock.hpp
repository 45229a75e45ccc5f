// MPI_Wtime with clock = settled. A program runs twice. The first run records each MPI_Wtime, which returns
// the machine's time; a world then computes the modelled times. The second run returns those. The program
// must not depend on the time otherwise; differences between the runs are detected.
//
// Callers need the session's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/answers/replay/clock_reads.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp {

/// One per rank and run.
class SettledClock {
 public:
  /// Opens the second run if the file configuration.times exists, otherwise the first.
  static Result<SettledClock> open(const Configuration& configuration, int rank, int ranks);

  [[nodiscard]] bool is_first_run() const { return first_run_; }
  /// The time in seconds that MPI_Wtime returns. machine: the MPI library's time. calls: as in ClockRead.
  double read(std::uint64_t calls, double machine);
  /// How this run differs from the first one. Empty if it does not so far.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  /// The program makes no more calls.
  void end();
  /// The number of settled times returned.
  [[nodiscard]] std::uint64_t settled() const { return next_; }

 private:
  SettledClock(std::vector<ClockRead> reads, bool first_run);

  std::vector<ClockRead> reads_;
  bool first_run_;
  std::size_t next_ = 0;
  double last_ = 0;     // the last time returned, in seconds
  double machine_ = 0;  // the machine's time at that call
  std::string difference_;
};

}  // namespace offramp
