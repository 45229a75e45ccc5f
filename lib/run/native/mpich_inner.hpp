// Shared by the files of lib/run/native that are for MPICH. All of it is public MPI: what Offramp needs
// beyond that is done with objects of its own, which the functions here put in place of the library's
// (stand_in_for_natives) know.
#pragma once

#include "lib/run/native/table.hpp"

namespace offramp::mpich {

/// The library's own functions, where others stand in for them.
extern MpiTable library;

// What makes a request or a message of ours: 00 and one of the kinds that MPICH has for its inside.
inline constexpr unsigned kRequestKind = 0xfU << kOfframpHandleBits;
inline constexpr unsigned kMessageKind = 0xeU << kOfframpHandleBits;
inline constexpr auto kCompleted = static_cast<MPI_Request>(kRequestKind);  // the shared complete one

inline unsigned kind_of(int handle) {
  return static_cast<unsigned>(handle) & ~kOfframpHandleMask;
}
/// Ours, the shared complete one among them.
inline bool is_ours(MPI_Request handle) {
  return kind_of(handle) == kRequestKind;
}
inline bool is_own(MPI_Request handle) {
  return is_ours(handle) && handle != kCompleted;
}
inline offramp_mpich_request& at(MPI_Request ours) {
  return *offramp_mpich_request_at(ours);
}
inline bool is_complete(const offramp_mpich_request& request) {
  return __atomic_load_n(&request.complete, __ATOMIC_ACQUIRE) != 0;
}

/// A turn of the progress of both. Where there is nothing to do, another process may have the core.
void turn();
/// Whether Offramp has messages that need turns.
bool has_progress();
/// What Offramp's session does for the files here: `locked` and `serving`.
const offramp_callbacks& session_callbacks();
/// Runs body() by one of them.
template <typename Body>
void run_by(void (*callback)(void (*)(void*), void*), Body body) {
  callback([](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
}
/// One turn of the library's progress engine alone.
void turn_library();

/// What a call that completes a request tells of it. alone: MPI_ERROR stays as it is, but for that of an
/// empty status.
void tell(MPI_Request ours_or_null, MPI_Status* status, bool alone);
/// The same, and lets go of it unless it is persistent: then it is not active any more, and the answer is
/// true.
bool settle(MPI_Request& ours_or_null, MPI_Status* status, bool alone);
/// Lets go of one of our own.
void let_go(MPI_Request& own);
void cancel(MPI_Request own);
int start(MPI_Request own);
/// A communicator is about to be freed: its requests in use get another one that make() gives, if there are
/// any.
void replace_communicator(MPI_Comm old, MPI_Comm (*make)(MPI_Comm old));

// Which functions stand in for the library's.
void stand_in_for_completion(MpiTable& table);
void stand_in_for_handles(MpiTable& table);
void stand_in_for_blocking(MpiTable& table);

}  // namespace offramp::mpich
