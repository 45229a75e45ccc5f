// Settled times for MPI_Wtime (clock = settled): a world computes them after the program's first run, and the
// program's next run reads them from a file.
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
  std::uint64_t calls = 0;  // MPI calls of the program since the previous read, without failed polls

  friend bool operator==(const ClockRead&, const ClockRead&) = default;
};

/// By rank, in program order.
using ClockReads = std::vector<std::vector<ClockRead>>;

/// Returns an empty string, or why the file could not be written.
std::string write_clock_reads(const std::string& path, const ClockReads& reads);
/// Reads only the part of the file that belongs to this rank.
Result<std::vector<ClockRead>> read_clock_reads(const std::string& path, int rank, int ranks);

}  // namespace offramp
