// Ends the recording of a rank that does not reach MPI_Finalize: it is killed by a signal that can be caught,
// calls MPI_Abort, has a fatal MPI error, or exits. Its part, a file at run time, gets the events of the last
// second and the reason for the end. `offramp replay --partial` reads the parts. SIGKILL leaves a part
// without a reason, at most one second old.
#pragma once

#include <string_view>

namespace offramp {

class Session;

/// For runs that record to files. Handles the signals that the program leaves to the system or the MPI
/// library.
void watch_for_untimely_end(const Session& session);
/// Call it in MPI_Finalize, after the outputs are written.
void stop_watching();

/// This rank ends now. Only the first call has an effect.
void leave_part(std::string_view reason);

}  // namespace offramp
