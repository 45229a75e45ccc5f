// Calls that the MPI library carries while a backend is active, and that affect modelled time.
#pragma once

#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/sync_groups.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {

/// Passes a call to the MPI library.
int pass_through(InterposedCall& call, Function function, auto body) {
  /// The count belongs to the report: such calls are not modelled.
  ++call.session.counter(function).native;
  return call.unlocked(body);
}

/// Ends a call in which the library made a communicator that Offramp does not carry. Returns the code.
inline int made_by_library(int code, const MPI_Comm* made) {
  if (code != MPI_SUCCESS || Session::current == nullptr) return code;
  const Session::Lock guard(*Session::current);
  /// The library may have given the handle of a freed communicator to the new one.
  Session::current->marshal().communicators.forget_freed(*made);
  return code;
}

/// Passes on a call that no member of the handle's group leaves before all have entered.
int pass_and_sync(Function function, auto handle, auto body) {
  InterposedCall call(function);
  ScopedSync sync(call, sync_group_of(call.session, handle));
  const int code = pass_through(call, function, body);
  sync.end(participated(code));
  return code;
}

/// Passes on an access to the memory of another rank. data(): an AccessedData.
int pass_access(Function function, auto data, MPI_Win window, int target, MPI_Request* request, auto body) {
  InterposedCall call(function);
  const int code = pass_through(call, function, body);
  if (code == MPI_SUCCESS) record_access(call, data(), window, target, request);
  return code;
}

/// The sizes of blocks from the arguments of a collective: counts and types are one for all blocks, or an
/// array with one for each.
BlockSizes block_sizes(auto send_count, auto send_type, auto receive_count, auto receive_type,
                       BlockSizes::Flow flow = BlockSizes::Flow::kNeighbours, int root = MPI_PROC_NULL) {
  // Not every argument has one value per block: a null array counts as zeros, since the library reports it.
  const auto at = [](const auto& given, std::size_t place) {
    using Given = std::decay_t<decltype(given)>;
    if constexpr (std::is_pointer_v<Given> && !std::is_same_v<Given, MPI_Datatype>) {
      return given != nullptr ? given[place] : std::remove_cvref_t<decltype(*given)>{};
    } else {
      return given;
    }
  };
  const auto bytes = [at](const auto& counts, const auto& types) {
    return [=](std::size_t place) -> std::uint64_t {
      return Session::current->marshal().bytes_of(at(counts, place), at(types, place));
    };
  };
  return {bytes(send_count, send_type), bytes(receive_count, receive_type), flow, root};
}
/// The sizes of a reduction that scatters its result: all data goes to each rank. counts: one for all ranks
/// of the own group, or an array.
BlockSizes whole_sizes(auto counts, MPI_Datatype type, MPI_Comm comm) {
  const auto whole = [counts, type, comm](std::size_t) {
    int ranks = 0;
    pmpi::Comm_size(comm, &ranks);
    const BlockSizes each = block_sizes(counts, type, counts, type);
    std::uint64_t sum = 0;
    for (int i = 0; i < ranks; ++i) sum += each.sent(static_cast<std::size_t>(i));
    return sum;
  };
  return {whole, whole, BlockSizes::Flow::kAll};
}

/// Passes on a collective of blocks. place: null if the members do not synchronize.
int pass_blocks(InterposedCall& call, Context* place, MPI_Comm comm, const BlockSizes& sizes, auto body) {
  ScopedSync sync = ScopedSync::blocks(call, place, comm, sizes);
  const int code = pass_through(call, call.function(), body);
  sync.end(participated(code));
  if (code == MPI_SUCCESS) note_uncarried(call, comm, sizes);
  return code;
}

/// Passes on a neighbourhood collective.
int pass_and_sync_neighbours(Function function, MPI_Comm comm, const BlockSizes& sizes, auto body) {
  InterposedCall call(function);
  return pass_blocks(call, sync_group_of(call.session, comm), comm, sizes, body);
}

/// Its nonblocking form.
int start_and_sync_neighbours(Function function, MPI_Comm comm, const BlockSizes& sizes, MPI_Request* request,
                              auto body) {
  InterposedCall call(function);
  return start_blocks(call, sync_group_of(call.session, comm), comm, sizes, request,
                      [&] { return pass_through(call, function, body); });
}

}  // namespace offramp
