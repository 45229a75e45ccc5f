// Checks that need no run: how a program uses MPI, and whether the calls of a trace fit together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"

namespace offramp::tool {

/// The user's options of `offramp check`.
struct CheckOptions {
  std::string program;
  std::string backend;  // empty: all
  bool json = false;
  std::vector<Override> overrides;
};

/// Checks whether the calls of a recording, trace, or pattern fit together. Returns kFoundFailures if some do
/// not, and kUsage if it cannot be read. `nullopt` if it is no program to replay.
std::optional<int> check_program(const CheckOptions& options);

/// A program's use of MPI, according to its file and libraries.
struct MpiUse {
  std::string family;     // of the linked MPI library; empty: none
  std::string other_mpi;  // "is linked to ...": the MPI library, if Offramp cannot intercept it
  std::string sanitizer;  // the AddressSanitizer library that it needs and that is not preloaded
  std::string obstacle;   // a sentence: why Offramp may not see its calls; empty: it sees them
  bool none = false;      // it neither uses MPI nor can load a library that does; false for scripts
  bool starts = false;    // it can start other programs
};
MpiUse survey_of(const std::string& path);

}  // namespace offramp::tool
