// The recording of a run: made at MPI_Init, brought together at MPI_Finalize.
#pragma once

#include <memory>

#include "lib/core/configuration.hpp"
#include "lib/mpi/program_recorder.hpp"

namespace offramp {

class Session;

/// This rank's recorder; null when nothing is to be recorded.
std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads);

/// Every rank calls it, at the end of the program: rank 0 writes the one file.
void write_recording(Session& session);

}  // namespace offramp
