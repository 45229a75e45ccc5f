// Determines the MPI library of a traced program if the trace contains that library's ranks and handles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/programs/import/mpi_functions.hpp"

namespace offramp::trace {

class Calls;

/// The values of an MPI library that traces contain.
struct MpiLibrary {
  /// MPI_ANY_SOURCE. All other negative ranks are MPI_PROC_NULL: -2 in Open MPI, -1 in MPICH.
  std::int64_t any_source = -1;
  /// Possible distances between the requests of an array, in bytes: pointers, or the integers of MPICH and of
  /// Fortran. The distance that explains an array is used.
  std::vector<std::uint64_t> request_sizes = {8};
};

/// Collects evidence from the calls of all ranks.
class MpiLibraryEvidence {
 public:
  /// Looks at the current call, which is one of this function.
  void look_at(Calls& calls, const Function& function);
  /// Open MPI without other evidence.
  [[nodiscard]] MpiLibrary library() const;
  /// Remarks for the user, one sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  /// communicator: the handle's value in the trace.
  void look_at_handle(std::uint64_t communicator);
  /// Fixed handles are proof; a send to -1 is only evidence in programs without pointers.
  [[nodiscard]] bool is_mpich() const { return has_mpich_handles_ || (!has_pointers_ && sends_to_minus_1_); }

  /// Some call showed handles as the library has them, rather than numbers of the format.
  bool has_library_values_ = false;
  bool has_mpich_handles_ = false;
  bool has_pointers_ = false;          // as handles: C programs of Open MPI
  bool has_small_handles_ = false;     // Fortran programs of Open MPI
  bool has_integer_requests_ = false;  // at an address that cannot contain a pointer
  bool sends_to_minus_1_ = false;
  bool sends_to_minus_2_ = false;
  bool receives_from_minus_1_ = false;
  bool receives_from_minus_2_ = false;
};

}  // namespace offramp::trace
