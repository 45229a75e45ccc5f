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

/// Where a run keeps its recording: the file that the user named, or a file beside the first output. Empty:
/// in memory. While the program runs, each rank's part lies in a file of its own (recording::part_path()).
std::string recording_path(const Configuration& configuration);
/// Removes what an earlier run has left there, except the parts that this run's ranks replace. Rank 0 calls
/// it before any rank has a recorder.
void remove_earlier_recording(const Configuration& configuration);

/// This rank's recorder. Null if nothing is to be recorded: the run has no such file, and no modelled times.
std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads);

/// What a run has recorded, once the program is over.
struct Recorded {
  /// At rank 0. An error at all others, and if there is none: a rank ran out of memory for it, or it is too
  /// long to settle and has no path.
  Result<recording::Recording> recording;
  std::string path = {};       // see recording_path()
  bool stays = false;          // the user named it, or it is not settled
  std::string unsettled = {};  // not empty: why it is not to be settled
  bool was_copied = false;     // rank 0 has a copy of this rank's part
};

/// Every rank calls it.
Recorded gather_recording(Session& session, const WorldApart& apart);

/// Writes the file of a recording that stays. Every rank calls it.
void write_recording(Session& session, const WorldApart& apart, Recorded& recorded);

/// Removes this rank's part, and rank 0 its copies of others, if the path is not empty. Every rank calls it.
void remove_parts(const WorldApart& apart, const std::string& path, int ranks);

}  // namespace offramp
