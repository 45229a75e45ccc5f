// The number of other calls since the previous MPI_Wtime shows whether both runs are at the same place. After
// a difference, settled times could belong to another place. The clock then goes on with the machine's time
// from the last settled one.
#include "lib/run/mpi/runtime/settled_clock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace offramp {

Result<SettledClock> SettledClock::open(const Configuration& configuration, int rank, int ranks) {
  if (configuration.times.empty())
    return failure(
        "clock = settled needs a file for the times of MPI_Wtime, times = FILE; offramp run --clock settled "
        "runs the program twice and manages the file");
  if (access(configuration.times.c_str(), F_OK) != 0) return SettledClock({}, true);
  Result<std::vector<ClockRead>> reads = read_clock_reads(configuration.times, rank, ranks);
  if (!reads) return failure("times: " + reads.error());
  return SettledClock(std::move(*reads), false);
}

SettledClock::SettledClock(std::vector<ClockRead> reads, bool first_run)
    : reads_(std::move(reads)), first_run_(first_run) {}

double SettledClock::read(std::uint64_t calls, double machine) {
  if (first_run_) return machine;
  // With as many other calls as in the first run, the program is at the same place.
  if (difference_.empty() && next_ < reads_.size() && reads_[next_].calls == calls) {
    machine_ = machine;
    return last_ = reads_[next_++].time.seconds();
  }
  if (difference_.empty())
    difference_ =
        next_ == reads_.size()
            ? fmt::format("it calls MPI_Wtime more than {} times, but the first run did not", reads_.size())
            : fmt::format(
                  "between its calls {} and {} of MPI_Wtime it makes {} other calls, but made {} in the "
                  "first run",
                  next_, next_ + 1, calls, reads_[next_].calls);
  // Time goes on, so that a program that waits for a moment reaches it.
  return last_ + (machine - machine_);
}

void SettledClock::end() {
  if (difference_.empty() && next_ < reads_.size())
    difference_ = fmt::format("it calls MPI_Wtime {} times, but called it {} times in the first run", next_,
                              reads_.size());
}

}  // namespace offramp
