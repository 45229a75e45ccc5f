// MPI_Wtime with clock = settled. A program runs twice: the first run is recorded with each MPI_Wtime, which
// says the machine's time, and a world computes what it should have said; the second one says that. What the
// program does must not depend on the time; where it does, this finds out.
//
// Needs the session's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/answers/replay/clock_reads.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp {

class SettledClock {
 public:
  /// The second run if the file configuration.times is there, else the first.
  static Result<SettledClock> open(const Configuration& configuration, int rank, int ranks);

  [[nodiscard]] bool is_first_run() const { return first_run_; }
  /// In seconds, what MPI_Wtime returns; `machine` is what the MPI library would. calls: as in ClockRead.
  double read(std::uint64_t calls, double machine);
  /// Where this run is not as the first one was; empty: nowhere so far.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  /// The program asks no more.
  void end();
  /// How often MPI_Wtime said a settled time.
  [[nodiscard]] std::uint64_t settled() const { return next_; }

 private:
  SettledClock(std::vector<ClockRead> reads, bool first_run);

  std::vector<ClockRead> reads_;
  bool first_run_;
  std::size_t next_ = 0;
  double last_ = 0;     // what was said last, in seconds
  double machine_ = 0;  // the machine's time then
  std::string difference_;
};

}  // namespace offramp
