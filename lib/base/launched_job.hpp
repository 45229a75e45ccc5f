// Which process of a job this one is, as launchers tell it in the environment, without MPI.
#pragma once

#include <functional>

namespace offramp {

struct LaunchedJob {
  int rank = 0;
  int size = 1;   // processes in all; 0: the launcher does not say
  int local = 1;  // of them on this host, this one included
  [[nodiscard]] bool has_others() const { return size > 1; }
};

/// variable: the value of an environment variable, null where it is not set. Values that no launcher would
/// set count as not set: the process is then alone.
LaunchedJob launched_job(const std::function<const char*(const char*)>& variable);
/// By the environment of this process.
LaunchedJob launched_job();

}  // namespace offramp
