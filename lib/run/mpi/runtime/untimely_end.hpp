// Ends the recording of a rank that does not come to MPI_Finalize: a signal that can be caught kills it, it
// calls MPI_Abort, has a fatal MPI error, or exits. Its part, which is a file while the program runs, gets
// what the last second has added and the reason for the end. `offramp replay --partial` reads the parts. A
// rank that SIGKILL ends leaves a part without a reason, a second old at most.
#pragma once

#include <string_view>

namespace offramp {

class Session;

/// Signals are watched only if the run has a recording in files, and only those that the program leaves to
/// the system or to the MPI library.
void watch_for_untimely_end(const Session& session);
/// MPI_Finalize has come, and the outputs are written.
void stop_watching();

/// This rank ends now. Only the first call does anything.
void leave_part(std::string_view reason);

}  // namespace offramp
