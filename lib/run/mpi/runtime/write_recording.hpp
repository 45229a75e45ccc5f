// The recording of a run: made at MPI_Init, brought together at MPI_Finalize.
#pragma once

#include <memory>
#include <string>

#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/run/mpi/runtime/program_recorder.hpp"
#include "lib/run/mpi/runtime/world_apart.hpp"

namespace offramp {

class Session;

/// This rank's recorder; null when nothing is to be recorded: no file, and no modelled times.
std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads);

/// What a run has recorded, once the program is over.
struct Recorded {
  /// At rank 0. An error at all others, and where there is none: a rank ran out of memory for it, or it is
  /// too long to settle and there is no place for it.
  Result<recording::Recording> recording;
  std::string path = {};       // of the file that it belongs into; empty: none
  std::string unsettled = {};  // not empty: why it is not to be settled
  bool was_copied = false;     // rank 0 has a copy of this rank's part
};

/// Every rank calls it.
Recorded gather_recording(Session& session, const WorldApart& apart);

/// Writes it into its file, if the run has one. The same.
void write_recording(Session& session, const WorldApart& apart, Recorded& recorded);

/// Where a run leaves a recording that is not settled, because it is too long or the program did not come to
/// MPI_Finalize: in its own file, or beside the output that it would have been settled for. Empty: nowhere.
std::string recording_path(const Configuration& configuration);

/// Writes this rank's part of it, where the recorder has no file of its own; the session is of no use any
/// more then. True for the first rank that does.
bool leave_recording(Session& session);

}  // namespace offramp
