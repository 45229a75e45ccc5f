// What can be told of a program without running it: of its use of MPI, and whether the calls of a trace fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"

namespace offramp::tool {

struct CheckOptions {
  std::string program;
  std::string backend;  // empty: all
  bool json = false;
  std::vector<Override> overrides;
};

/// Whether the calls of what replay takes, a recording, trace or pattern, fit together. kFoundFailures: not
/// all of them do. kUsage: it cannot be read. Nothing: it is none of them.
std::optional<int> check_program(const CheckOptions& options);

/// What a program's file and its libraries tell about its use of MPI.
struct MpiUse {
  std::string family;     // of the MPI library that it is linked to; empty: none
  std::string other_mpi;  // that it is linked to an MPI library which Offramp does not support; else empty
  std::string sanitizer;  // the library of AddressSanitizer that it needs and nothing preloads; else empty
  bool none = false;      // it neither uses MPI nor can load anything that does; false for scripts
};
MpiUse survey_of(const std::string& path);

}  // namespace offramp::tool
