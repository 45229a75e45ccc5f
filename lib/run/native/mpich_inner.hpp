// Shared by the files of lib/run/native for MPICH. They only use public MPI. The rest is done with objects of
// Offramp's own, which the functions that replace the library's (replace_natives) accept.
#pragma once

#include "lib/run/native/table.hpp"

namespace offramp::mpich {

/// The library's own functions, before replacement.
extern MpiTable library;

// The kinds of Offramp's requests and messages: 00 and an object kind that MPICH only uses internally.
inline constexpr unsigned kRequestKind = 0xfU << kOfframpHandleBits;
inline constexpr unsigned kMessageKind = 0xeU << kOfframpHandleBits;
inline constexpr auto kCompleted = static_cast<MPI_Request>(kRequestKind);  // the shared complete request

/// The bits of a handle above its index.
inline unsigned kind_of(int handle) {
  return static_cast<unsigned>(handle) & ~kOfframpHandleMask;
}
/// Offramp's requests, including the shared complete one.
inline bool is_ours(MPI_Request handle) {
  return kind_of(handle) == kRequestKind;
}
inline bool is_own(MPI_Request handle) {
  return is_ours(handle) && handle != kCompleted;
}
inline offramp_mpich_request& at(MPI_Request ours) {
  return *offramp_mpich_request_at(ours);
}
/// Another thread may complete it: what it wrote before is visible when this returns true.
inline bool is_complete(const offramp_mpich_request& request) {
  return __atomic_load_n(&request.complete, __ATOMIC_ACQUIRE) != 0;
}

/// Drives the progress of Offramp and of the library. Yields the core if there is nothing to do.
void progress_turn();
/// Returns true if Offramp has messages that need progress.
bool has_progress();
/// The session's callbacks `locked` and `serving` for these files.
const offramp_callbacks& session_callbacks();
/// Runs body() through one of them.
template <typename Body>
void run_by(void (*callback)(void (*)(void*), void*), Body body) {
  callback([](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
}
/// Drives the library's progress engine only.
void turn_library();

/// Fills the status of a completed request. alone: does not change MPI_ERROR, except for an empty status.
void fill_status(MPI_Request ours_or_null, MPI_Status* status, bool alone);
/// Fills the status and releases the request; or makes a persistent one inactive and returns true.
bool retire(MPI_Request& ours_or_null, MPI_Status* status, bool alone);
/// Releases one of Offramp's requests.
void release(MPI_Request& own);
/// Pass the call to the session's callbacks.
void cancel(MPI_Request own);
int start(MPI_Request own);
/// Call it before a communicator is freed: its requests and messages, if any, get the one that make()
/// returns. Frees those that it has made earlier and that are no longer used.
void replace_communicator(MPI_Comm old, MPI_Comm (*make)(MPI_Comm old));

// Replace functions of the library.
void replace_completion(MpiTable& table);
void replace_handles(MpiTable& table);
void replace_blocking(MpiTable& table);

}  // namespace offramp::mpich
