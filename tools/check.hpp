// offramp check: what would happen to a program's MPI calls, without running it.
#pragma once

#include <optional>
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

/// The same of what replay takes, a recording, trace or pattern: whether its calls fit together.
/// kFoundFailures: not all of them do. Nothing: it is none of them.
std::optional<int> check_program(const CheckOptions& options);

/// What a program's file and its libraries tell about its use of MPI.
struct MpiUse {
  std::string family;     // of the MPI library that it is linked to; empty: none
  std::string other_mpi;  // that it is linked to an MPI library which Offramp does not support; else empty
  bool none = false;      // it neither uses MPI nor can load anything that does; false for scripts
};
MpiUse survey_of(const std::string& path);

}  // namespace offramp::tool
