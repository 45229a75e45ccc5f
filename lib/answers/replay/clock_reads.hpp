// What MPI_Wtime says where it says settled times (clock = settled): a world computes them when the program
// has run once, and the program's next run reads them from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// One MPI_Wtime of a rank.
struct ClockRead {
  Time time;                // the rank's clock in the world
  std::uint64_t calls = 0;  // of MPI that the program made since the one before, without those that only ask

  friend bool operator==(const ClockRead&, const ClockRead&) = default;
};

/// By rank, in program order.
using ClockReads = std::vector<std::vector<ClockRead>>;

/// Empty, or why the file could not be written.
std::string write_clock_reads(const std::string& path, const ClockReads& reads);
/// Those of one rank. The file's other parts are not read.
Result<std::vector<ClockRead>> read_clock_reads(const std::string& path, int rank, int ranks);

}  // namespace offramp
