// Creates the recording of a run at MPI_Init and gathers it at MPI_Finalize.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/run/mpi/runtime/finalize_comm.hpp"
#include "lib/run/mpi/runtime/program_recorder.hpp"

namespace offramp {

class Session;

/// The path of a run's recording: the file that the user named, or one beside the first output. Empty if it
/// is kept in memory. At run time each rank's part is a file of its own (recording::part_path()).
std::string recording_path(const Configuration& configuration);
/// Removes an earlier run's recording at that path, except parts that this run's ranks overwrite. Rank 0
/// calls it before any rank creates a recorder.
void remove_earlier_recording(const Configuration& configuration);

/// This rank's recorder. Null if nothing is recorded: the run has neither such a file nor modelled times.
std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads);

/// The recording of a run after the program has ended.
struct Recorded {
  /// Valid at rank 0 only. An error elsewhere, and if a rank ran out of memory, or if the recording is too
  /// long to settle and has no path.
  Result<recording::Recording> recording;
  std::string path = {};                // see recording_path()
  bool keep_file = false;               // the user named it, or it is not settled
  std::string unsettled = {};           // why it cannot be settled; empty if it can
  std::uint64_t cut_ranks = 0;          // whose part is incomplete
  bool was_copied = false;              // rank 0 has a copy of this rank's part
  std::vector<CreatedFile> parts = {};  // this rank's part, and at rank 0 copies of others
};

/// Collective over all ranks.
Recorded gather_recording(Session& session, const FinalizeComm& finalize_comm);

/// Writes the file of a recording that stays. Collective.
void write_recording(Session& session, const FinalizeComm& finalize_comm, Recorded& recorded);

/// Removes the parts that this rank has created.
void remove_parts(const Recorded& recorded);

}  // namespace offramp
