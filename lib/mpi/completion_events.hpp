// The events of a call that completes requests: which they are in the recording, collected before the call
// lets go of their handles, and what has become of them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lib/mpi/request.hpp"

namespace offramp {

class CompletionEvents {
 public:
  CompletionEvents(Call& call, int count, const MPI_Request* requests);

  /// Where the library is to tell the statuses: where the program wants them, or here if the recording does.
  MPI_Status* statuses(MPI_Status* wanted);

  // What the program learns.
  void all();
  /// The call has failed: those that it has completed.
  void all_completed(int count, const MPI_Request* requests);
  /// flag: how it was asked. places: indices of the list, with their statuses in this order.
  void some(std::span<const int> places, recording::EventFlag flag);
  void none();

 private:
  void took(std::size_t place, const MPI_Status& status);

  Call& call_;
  ProgramRecorder* recorder_;
  std::span<std::uint32_t> numbers_;
  std::array<std::uint32_t, 16> few_;
  std::vector<std::uint32_t> many_;
  // Where the library carries all. It lets go of a request before the call returns, and another thread may
  // have the same handle by then.
  std::vector<MPI_Request> handles_;
  std::vector<std::uint32_t> wildcards_;
  std::vector<MPI_Status> own_statuses_;
  const MPI_Status* told_ = nullptr;
};

}  // namespace offramp
