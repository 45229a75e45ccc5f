// What becomes of the files that a user has named when a rank does not come to MPI_Finalize: it is killed by
// a signal that can be caught, calls MPI_Abort, has a fatal MPI error, or exits. A child process, which has
// all that the rank knew at that moment and harms nothing, writes it down (lib/answers/report/partial.hpp). A
// rank that SIGKILL ends leaves nothing, and the files say that it is missing.
#pragma once

#include <string>

namespace offramp {

class Session;

/// Collective over MPI_COMM_WORLD. Signals are watched only if the run has an output, and only those that the
/// program leaves to the system or to the MPI library.
void watch_for_untimely_end(const Session& session);
/// MPI_Finalize has come, and the outputs are written.
void stop_watching();

/// This rank ends now. Nothing happens the second time, nor if the run has no output. May be called in a
/// signal handler.
void leave_parts(const char* reason);

}  // namespace offramp
