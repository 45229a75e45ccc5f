// Implements the entry points, which generate.py writes, of functions with which the MPI library makes or
// frees communicators, windows, and files. Offramp gives each a group in which its members synchronize their
// clocks.
#pragma once

#include <optional>

#include "lib/run/mpi/runtime/native_calls.hpp"

namespace offramp {

/// Gives a new communicator an id on which its members agree: derived from the parent's id if all members of
/// the parent took part, otherwise sent by the leader. Such a message of the MPI library costs time slices
/// where ranks share cores, because its waits may never yield.
void adopt(InterposedCall& call, MPI_Comm made, std::optional<std::uint64_t> derived);
/// Counted on every member, even if it is not in the new communicator.
std::optional<std::uint64_t> derive_id(Session& session, MPI_Comm parent);

/// Runs a constructor of the MPI library and adopts the new communicator. The members of the parent
/// synchronize, or those of the new one if there is no common parent.
int construct(Function function, MPI_Comm parent, MPI_Comm* made, auto constructor) {
  InterposedCall call(function);
  ScopedSync sync(call, parent != MPI_COMM_NULL ? sync_group_of(call.session, parent) : nullptr);
  const int code = call.unlocked(constructor);
  const bool met = participated(code);
  const std::optional<std::uint64_t> derived = met ? derive_id(call.session, parent) : std::nullopt;
  /// Only members get the new communicator. The others have taken part and count the derived id.
  const bool adopted = code == MPI_SUCCESS && *made != MPI_COMM_NULL;
  if (adopted) adopt(call, *made, derived);
  sync.end(met);
  if (parent == MPI_COMM_NULL && adopted) sync_at_new(call, *made);
  return code;
}

/// Runs a constructor of a window or a file, which has no id of its own, and opens its group beside it.
template <typename Handle, typename Constructor>
int open_beside(Function function, MPI_Comm comm, Handle* made, Constructor constructor) {
  InterposedCall call(function);
  const MpiCommunicator* const parent = call.session.marshal().communicators.find(comm);
  ScopedSync sync(call, parent != nullptr ? parent->collective : nullptr);
  const int code = pass_through(call, function, constructor);
  if (participated(code)) open_sync_group(call, comm, code == MPI_SUCCESS ? *made : Handle());
  sync.end(participated(code));
  return code;
}

/// The members synchronize first: after the call, the handle may belong to another window or file.
int close_beside(Function function, auto* handle, auto destructor) {
  InterposedCall call(function);
  if (handle == nullptr) return pass_through(call, function, destructor);
  ScopedSync sync(call, sync_group_of(call.session, *handle));
  sync.before_call();
  call.session.sync_groups().close(*handle);
  const int code = pass_through(call, function, destructor);
  sync.end();
  return code;
}

}  // namespace offramp
