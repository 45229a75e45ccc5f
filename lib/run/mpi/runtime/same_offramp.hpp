// Checks that all ranks of MPI_COMM_WORLD have this Offramp. Jobs of several programs may preload it for only
// some of them, and hosts may have different versions installed.
#pragma once

namespace offramp {

/// Announces that this rank has Offramp; only the first call has an effect. Call it before MPI_Init.
void announce_offramp();

/// Ends the job with one line that names the ranks if some have another Offramp or none. Also ends it if this
/// process is alone in its world because the launcher of another MPI library started it. Call it after
/// MPI_Init, before the first message. Does nothing if the launcher offers no way to find out.
void end_job_unless_all_have_offramp();

}  // namespace offramp
