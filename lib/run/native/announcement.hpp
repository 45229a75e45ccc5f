// Determines which ranks of MPI_COMM_WORLD have Offramp before its first message: a rank without Offramp
// would match such a message with the program's receives. Each rank publishes a text through the process
// manager (PMIx or PMI) before MPI_Init. No rank leaves MPI_Init before all have entered it, so a text that
// is missing afterwards will never appear.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// Publishes this rank's text, one word. Call it once, before MPI_Init. No effect with unknown launchers.
void announce(const std::string& text);

/// The texts of all ranks of MPI_COMM_WORLD; empty for a rank that published none. `nullopt` if this rank
/// could not publish its own. Call it once, after MPI_Init.
std::optional<std::vector<std::string>> announced(int ranks);

/// The name of another MPI library if its launcher started this process as one of several. The process's own
/// library then sees a world of one rank. Empty otherwise. Call it before MPI_Init.
std::string foreign_launcher();

}  // namespace offramp
