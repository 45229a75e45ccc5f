// MPICH's handles are fixed numbers (mpi.h), Open MPI's are addresses in C and small numbers in Fortran.
// Without such evidence, a send to rank -1 is MPICH's: a negative destination is MPI_PROC_NULL, which is -1
// in MPICH and -2 in Open MPI.
#include "lib/programs/import/mpi_library.hpp"

#include "lib/programs/import/mpi_calls.hpp"

namespace offramp::trace {
namespace {

/// The handles of MPI_COMM_WORLD and MPI_COMM_SELF of MPICH (mpi.h) and its derivatives, in C and Fortran.
constexpr std::uint64_t kMpichWorld = 0x44000000;
constexpr std::uint64_t kMpichSelf = 0x44000001;
/// In Fortran, Open MPI numbers communicators from 0, MPI_COMM_WORLD. Predefined handles of the standard's
/// ABI begin at the first value; pointers are larger than the last.
constexpr std::uint64_t kFirstOfAbi = 256;
constexpr std::uint64_t kLastOfAbi = 4095;

}  // namespace

void MpiLibraryEvidence::look_at_handle(std::uint64_t communicator) {
  if (communicator == kMpichWorld || communicator == kMpichSelf) {
    has_mpich_handles_ = true;
  } else if (communicator < kFirstOfAbi) {
    has_small_handles_ = true;
  } else if (communicator > kLastOfAbi) {
    has_pointers_ = true;
  }
}

void MpiLibraryEvidence::look_at(Calls& calls, const Function& function) {
  constexpr std::uint64_t kPointer = 8;  // bytes; addresses of pointers are multiples of this
  if (calls.has_library_values()) {
    has_library_values_ = true;
    // The names of arguments in MPI's C bindings.
    for (const char* const name : {"comm", "oldcomm"}) {
      if (const auto communicator = calls.communicator(name)) look_at_handle(communicator->handle);
    }
    // A request's address that is no multiple of 8 belongs to an array of integers.
    if (const auto request = calls.handle("request"); request && *request % kPointer != 0)
      has_integer_requests_ = true;
  }
  const bool sends =
      function.kind == FunctionKind::kSend || (function.kind == FunctionKind::kPersistent && function.sends);
  const bool does_both =
      function.kind == FunctionKind::kSendrecv || function.kind == FunctionKind::kSendrecvReplace;
  const bool receives = function.kind == FunctionKind::kReceive || function.kind == FunctionKind::kProbe ||
                        function.kind == FunctionKind::kIprobe ||
                        (function.kind == FunctionKind::kPersistent && !function.sends);
  if (sends || does_both) {
    const auto to = calls.integer("dest");
    sends_to_minus_1_ = sends_to_minus_1_ || to == -1;
    sends_to_minus_2_ = sends_to_minus_2_ || to == -2;
  }
  if (receives || does_both) {
    const auto from = calls.integer("source");
    receives_from_minus_1_ = receives_from_minus_1_ || from == -1;
    receives_from_minus_2_ = receives_from_minus_2_ || from == -2;
  }
}

MpiLibrary MpiLibraryEvidence::library() const {
  MpiLibrary library;
  if (!has_library_values_) return library;
  if (is_mpich()) {
    library.any_source = -2;
    library.request_sizes = {4};
  } else if (has_small_handles_ && !has_pointers_) {
    library.request_sizes = {4};
  } else if (has_small_handles_ || has_integer_requests_) {
    // C and Fortran are mixed: an array of either kind may come.
    library.request_sizes = {8, 4};
  }
  return library;
}

std::vector<std::string> MpiLibraryEvidence::notes() const {
  if (!has_library_values_) {
    // Formats with own values for MPI_ANY_SOURCE are not affected.
    if (sends_to_minus_1_ && !sends_to_minus_2_ && receives_from_minus_1_)
      return {
          "the program ran on MPICH or a library based on it, and the format writes both MPI_PROC_NULL and "
          "MPI_ANY_SOURCE as -1: receives from -1 count as receives from any rank"};
    return {};
  }
  if (is_mpich())
    return {
        "the program ran on MPICH or a library based on it, as its handles show: MPI_ANY_SOURCE is -2, "
        "MPI_PROC_NULL -1, and a request has 4 bytes"};
  const bool is_known = has_pointers_ || has_small_handles_ || sends_to_minus_2_;
  if (!is_known && (receives_from_minus_1_ || receives_from_minus_2_))
    return {
        "the MPI library of the program is not known: MPI_ANY_SOURCE counts as -1 and MPI_PROC_NULL as -2, "
        "as in Open MPI"};
  return {};
}

}  // namespace offramp::trace
