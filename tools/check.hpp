// offramp check: what would happen to a program's MPI calls, without running it.
#pragma once

#include <string>

namespace offramp::tool {

struct CheckOptions {
  std::string program;
  std::string backend;  // empty: all
  bool json = false;
};

/// kDone: the program works under Offramp. kDeclined: it does, but something in it is a risk. kUsage: there
/// is nothing to put Offramp in front of, with the reason.
int check(const CheckOptions& options);

/// Whether a compiled program neither uses MPI nor can load something at run time that does. False where that
/// cannot be told: scripts, interpreters.
bool calls_no_mpi(const std::string& path);

/// That a program is linked to an MPI library which Offramp does not support, in words; else empty.
std::string other_mpi_of(const std::string& program);

}  // namespace offramp::tool
