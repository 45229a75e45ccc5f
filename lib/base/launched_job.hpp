// Rank and size of this process within its job, from the launcher's environment variables, without MPI.
#pragma once

#include <functional>

namespace offramp {

struct LaunchedJob {
  int rank = 0;
  int size = 1;   // number of processes; 0: unknown
  int local = 1;  // number of processes on this host
  [[nodiscard]] bool has_others() const { return size > 1; }
};

/// `variable` returns the value of an environment variable, or nullptr. Implausible values count as not set.
/// Without a launcher's variables the job has one process.
LaunchedJob launched_job(const std::function<const char*(const char*)>& variable);
/// Reads the environment of this process.
LaunchedJob launched_job();

}  // namespace offramp
