// Rank and size of this process within its job, from the launcher's environment variables, without MPI.
#pragma once

#include <functional>
#include <string_view>

namespace offramp {

/// The defaults are those of a process without a launcher.
struct LaunchedJob {
  int rank = 0;
  int size = 1;  // number of processes; 0: unknown
};

/// `variable` returns the value of an environment variable, or nullptr. Implausible values count as not set.
/// Without a launcher's variables the job has one process.
LaunchedJob launched_job(const std::function<const char*(const char*)>& variable);
/// Reads the environment of this process.
LaunchedJob launched_job();

/// What offramp run sets for its ranks besides settings: the file in which carried ranks announce themselves,
/// and the last entry of GLIBC_TUNABLES, the memory for libraries beside an audit library.
inline constexpr const char* kCarriedVariable = "OFFRAMP_CARRIED";
inline constexpr std::string_view kStaticTls = "glibc.rtld.optional_static_tls=";

}  // namespace offramp
