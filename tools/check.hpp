// What a program's file tells about its use of MPI.
#pragma once

#include <string>

namespace offramp::tool {

/// What a program's file and its libraries tell about its use of MPI.
struct MpiUse {
  std::string family;     // of the MPI library that it is linked to; empty: none
  std::string other_mpi;  // that it is linked to an MPI library which Offramp does not support; else empty
  bool none = false;      // it neither uses MPI nor can load anything that does; false for scripts
};
MpiUse survey_of(const std::string& path);

}  // namespace offramp::tool
