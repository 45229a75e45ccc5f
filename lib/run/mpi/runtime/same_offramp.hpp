// Whether all ranks of MPI_COMM_WORLD have this Offramp. Jobs of several programs may give it to some of them
// alone, and hosts may have different ones installed.
#pragma once

namespace offramp {

/// Makes it known that this rank has Offramp, the first time. Call it before the MPI library is up.
void announce_offramp();

/// Ends the job with one line that names the ranks if some have no Offramp or another one, or if this process
/// is alone in its world because the launcher of another MPI library started it. Call it when the MPI library
/// is up, before the first message. Does nothing where the launcher offers no way to find out.
void end_job_unless_all_have_offramp();

}  // namespace offramp
